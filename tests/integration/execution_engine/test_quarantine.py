"""A metric that ends its scans abnormally is found, quarantined and lifted; its neighbours are not blamed."""

from datetime import timedelta

import pytest

from assay import clock
from assay.models import Dataset, DataTest, Revision
from execution_engine import services
from execution_engine.models import Suspect
from execution_engine.outcome import Failure, Outcome, Reason
from tests.factories import DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
POISON = "row_count(where=\"fare like '%a%a%c'\")"
HANGS = Failure(reason=Reason.TIMEOUT, detail="it passed its deadline")


@pytest.fixture
def poison(loop: Loop, trips: Dataset) -> DataTest:
    """A test whose metric hangs, over a table with rows."""
    for key in ("2026-03-08", "2026-03-09"):
        loop.write(trips, key, rows(120))
    loop.lake.poison[POISON] = HANGS
    return DataTestFactory.create(dataset=trips, assertion=f"{POISON} > 0")


def results(loop: Loop, tests: list[DataTest], occasion: str) -> list[str]:
    """What a run of each test gives, all in one scan at first: the reason of an error, or the outcome."""
    loop.at(clock.now() + timedelta(minutes=5))
    runs = [loop.request(data_test, MONDAY, occasion=occasion) for data_test in tests]
    loop.drain()
    for run in runs:
        run.refresh_from_db()
    return [run.error_reason or run.outcome for run in runs]


def test_the_poison_is_found_by_itself_and_its_neighbours_hold_from_the_second_time_on(
    loop: Loop, trips: Dataset, poison: DataTest
) -> None:
    tests = [poison, DataTestFactory.create(dataset=trips)]
    assert results(loop, tests, "1") == ["timeout", "timeout"]
    assert results(loop, tests, "2") == ["timeout", "held"]
    assert results(loop, tests, "3") == ["quarantined", "held"]
    before = len(loop.lake.scans)
    assert results(loop, tests, "4") == ["quarantined", "held"]
    assert not any(POISON in texts for _, _, texts in loop.lake.scans[before:])


def quarantine(loop: Loop, poison: DataTest) -> Suspect:
    for time in range(3):
        results(loop, [poison], str(time))
    return Suspect.objects.get(quarantined_at__isnull=False)


def test_a_metric_that_nowhere_gave_a_value_is_quarantined_over_every_window(loop: Loop, poison: DataTest) -> None:
    quarantine(loop, poison)
    assert loop.run(poison, SUNDAY).error_reason == "quarantined"


def test_a_metric_that_gives_values_elsewhere_is_quarantined_over_its_window_alone(
    loop: Loop, poison: DataTest
) -> None:
    results(loop, [poison], "first")
    loop.lake.poison.clear()
    loop.at(clock.now() + timedelta(minutes=1))
    loop.run(poison, SUNDAY)
    loop.lake.poison[POISON] = HANGS
    results(loop, [poison], "second")
    results(loop, [poison], "third")
    assert Suspect.objects.get().quarantined_at
    loop.lake.poison.clear()
    assert loop.run(poison, SUNDAY, occasion="2").outcome == Outcome.HELD
    assert loop.run(poison, MONDAY, occasion="2").error_reason == "quarantined"


def test_a_new_revision_is_tried_again(loop: Loop, poison: DataTest) -> None:
    quarantine(loop, poison)
    loop.lake.poison.clear()
    old = poison.revision
    assert old
    poison.revision = Revision.objects.create(
        data_test=poison,
        number=2,
        assertion=old.assertion,
        tree=old.tree,
        severity=old.severity,
        schedule=old.schedule,
        sustain=old.sustain,
        created_at=clock.now() + timedelta(minutes=1),
    )
    poison.save()
    assert results(loop, [poison], "revised") == ["held"]
    assert not Suspect.objects.exists()


def test_a_lifted_one_that_ends_so_again_is_quarantined_at_once(loop: Loop, poison: DataTest) -> None:
    services.lift_quarantine(quarantine(loop, poison), now=clock.now())
    loop.drain()
    assert Suspect.objects.get().quarantined_at == clock.now()
