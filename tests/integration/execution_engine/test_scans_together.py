"""One process that does everything takes scans together: with few statements, and as if one came after another."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.models import DataTest
from assay.queue.claims import LEASE, rounds
from execution_engine import tasks
from execution_engine.engines.protocol import Part, Table
from execution_engine.models import Measurement, Run, Scan
from execution_engine.outcome import Failure, Reason
from execution_engine.scans import run_scan
from execution_engine.watch import note_fingerprints
from tests.factories import DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine, rows
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
TOGETHER = 37  # statements of scans that read something, however many they are
HUNG = Failure(reason=Reason.TIMEOUT, detail="it passed its deadline")


@pytest.fixture
def _alone() -> Iterator[None]:
    """This process works all stages, one round after another."""
    with rounds():
        yield


pytestmark = pytest.mark.usefixtures("_alone")


def order(loop: Loop, *tests: DataTest) -> None:
    """Their scans of Monday."""
    for data_test in tests:
        loop.request(data_test, MONDAY)
    tasks.plan()


def some(loop: Loop, number: int) -> list[DataTest]:
    """Tests of so many tables, each with its rows of Monday."""
    found = []
    for _ in range(number):
        dataset = DatasetFactory.create()
        loop.write(dataset, "2026-03-09", rows(120))
        found.append(DataTestFactory.create(dataset=dataset))
    return found


def state(tests: list[DataTest]) -> list[tuple[float | None, str]]:
    """What was measured of each test's table, and of what it failed."""
    found = Measurement.objects.filter(dataset__in=[each.dataset for each in tests]).order_by("dataset")
    return list(found.values_list("value", "failure_reason"))


def test_many_scans_take_as_many_statements_as_few(loop: Loop) -> None:
    taken = []
    for number in (1, 2, 9):
        order(loop, *some(loop, number))
        with CaptureQueriesContext(connection) as asked:
            assert tasks.scan() == number
        taken.append(len(asked))
    _, *of_many = taken  # the first one makes the counters too
    assert of_many[0] == of_many[1] <= TOGETHER
    assert not Run.objects.filter(ready_at=None).exists()


def test_many_scans_of_what_is_still_true_take_as_many_statements_as_few(loop: Loop) -> None:
    taken = []
    for number in (2, 9):
        tests = some(loop, number)
        order(loop, *tests)
        tasks.scan()
        for each in tests:
            loop.request(each, MONDAY, occasion="again")
        tasks.plan()
        with CaptureQueriesContext(connection) as asked:
            assert tasks.scan() == number
        taken.append(len(asked))
    assert taken[0] == taken[1] <= TOGETHER
    assert set(Scan.objects.order_by("-pk")[:9].values_list("taken", "reused")) == {(0, 1)}


def test_all_of_them_are_held_while_one_is_read(loop: Loop) -> None:
    order(loop, *some(loop, 3))
    held: list[int] = []
    loop.lake.while_reading.append(lambda: held.append(Scan.objects.filter(lease_until__isnull=False).count()))
    tasks.scan()
    assert held == [3]
    assert set(Scan.objects.values_list("lease_until", "attempts", "epoch", "open_key")) == {(None, 0, 1, None)}


@pytest.mark.logs_a_failure
def test_a_table_that_cannot_be_read_fails_its_own_scan_alone(loop: Loop) -> None:
    first, away, last = tests = some(loop, 3)
    order(loop, *tests)
    loop.lake.crashes.add(f"/lake/sea/{away.dataset.name}")
    assert tasks.scan() == 3
    assert state(tests) == [(120, ""), (None, "engine unreachable"), (120, "")]
    assert {scan.dataset_id: bool(scan.error) for scan in Scan.objects.all()} == {
        first.dataset_id: False,
        away.dataset_id: True,
        last.dataset_id: False,
    }


@pytest.mark.logs_a_failure
def test_a_table_that_cannot_be_looked_at_fails_its_own_scan_alone(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    _, away, _ = tests = some(loop, 3)
    order(loop, *tests)
    plain = FakeEngine.fingerprint

    def fingerprint(self: FakeEngine, table: Table, part: Part) -> str | None:
        if table.name == away.dataset.full_name:
            raise ConnectionError(table.name)
        return plain(self, table, part)

    monkeypatch.setattr(FakeEngine, "fingerprint", fingerprint)
    tasks.scan()
    assert state(tests) == [(120, ""), (None, "engine unreachable"), (120, "")]


@pytest.mark.logs_a_failure
def test_a_scan_that_cannot_be_written_keeps_no_other_from_ending(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    _, poison, _ = tests = some(loop, 3)
    order(loop, *tests)

    def note(seen: Any, now: Any) -> None:
        if poison.dataset in [each.dataset for each in seen]:
            raise ValueError("not this one")
        note_fingerprints(seen, now)

    monkeypatch.setattr(run_scan, "note_fingerprints", note)
    tasks.scan()
    assert state(tests) == [(120, ""), (None, ""), (120, "")]
    (left,) = Scan.objects.filter(ended_at=None)
    assert (left.dataset, left.attempts, left.lease_until is None) == (poison.dataset, 1, False)
    assert len(loop.lake.scans) == 3  # nothing was read again for it


def test_what_another_worker_has_taken_over_is_left_to_it(loop: Loop) -> None:
    _, lost, _ = tests = some(loop, 3)
    order(loop, *tests)
    loop.lake.while_reading.append(lambda: Scan.objects.filter(dataset=lost.dataset).update(epoch=7))
    tasks.scan()
    assert state(tests) == [(120, ""), (None, ""), (120, "")]
    assert Scan.objects.get(ended_at=None).epoch == 7


def test_after_a_worker_has_died_each_scan_is_taken_alone(loop: Loop) -> None:
    tests = some(loop, 3)
    order(loop, *tests)

    def die() -> None:
        raise KeyboardInterrupt

    loop.lake.while_reading.append(die)
    with pytest.raises(KeyboardInterrupt):
        tasks.scan()
    assert set(Scan.objects.values_list("attempts", "ended_at")) == {(1, None)}
    Scan.objects.update(lease_until=clock.database_now() - LEASE)
    held: list[int] = []
    for _ in tests:
        loop.lake.while_reading.append(
            lambda: held.append(Scan.objects.filter(lease_until__gt=clock.database_now()).count())
        )
    while tasks.scan():
        pass
    assert state(tests) == [(120, "")] * 3
    assert held == [1, 1, 1]


def test_what_was_found_does_not_wait_for_a_long_reading(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_scan, "MOST_UNWRITTEN_SECONDS", 0.0)
    tests = some(loop, 3)
    order(loop, *tests)
    written: list[int] = []
    for _ in tests:
        loop.lake.while_reading.append(lambda: written.append(Scan.objects.filter(ended_at__isnull=False).count()))
    assert tasks.scan() == 3
    assert written == [0, 1, 2]


def test_data_that_is_written_while_other_data_is_read_is_looked_at_again(loop: Loop) -> None:
    first, other = tests = some(loop, 2)
    order(loop, *tests)
    tasks.scan()
    loop.write(first.dataset, "2026-03-09", rows(130))
    for each in tests:
        loop.request(each, MONDAY, occasion="again")
    third = DataTestFactory.create(dataset=other.dataset, assertion="mean(fare) > 0")
    loop.request(third, MONDAY)
    tasks.plan()
    loop.lake.while_reading.append(lambda: loop.write(other.dataset, "2026-03-09", rows(140)))
    tasks.scan()
    newest = Scan.objects.get(dataset=other.dataset, reused=0, taken=2)
    values = {row.spec_text: (row.value, row.fingerprint) for row in newest.measurements.all()}
    assert values["row_count()"][0] == 140
    seen = Measurement.objects.filter(dataset=other.dataset, spec_text="row_count()").order_by("pk")
    assert seen[0].fingerprint != values["row_count()"][1]


def test_what_ended_abnormally_is_known_before_the_next_is_read(loop: Loop) -> None:
    dataset = DatasetFactory.create()
    poison = "mean(fare, where='fare > 0')"
    tests = [DataTestFactory.create(dataset=dataset, assertion=f"{each} > 0") for each in ("row_count()", poison)]
    for window in (SUNDAY, MONDAY):
        loop.write(dataset, f"{window.start:%Y-%m-%d}", rows(120))
        for each in tests:
            loop.request(each, window)
    tasks.plan()
    loop.lake.poison[poison] = HUNG
    assert tasks.scan() == 2
    assert [texts for _, _, texts in loop.lake.scans] == [(poison, "row_count()"), ("row_count()",), (poison,)]
