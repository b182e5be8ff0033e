"""Results that come late, twice or in another order than they were measured."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest

from alerting.models import Alert, Notice, Standing
from assay import clock
from assay.catalog.profile import SlaProfile
from assay.queue.drain import advance, drain
from assay.time.windows import Granularity
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.e2e.cases.people import open_incident, told
from tests.e2e.scenario import Scenario, at, custom, dataset, incidents, state

pytestmark = pytest.mark.django_db

TRIPS, ENOUGH, MONDAY = "raw.trips", "raw.trips/enough", "2026-03-09"
ASSERTION = custom(TRIPS, "enough", "row_count() >= 100")

Said = dict[tuple[str, str], tuple[object, ...]]


def standings() -> Said:
    """All that is said of every window."""
    rows = Standing.objects.select_related("data_test")
    return {
        (row.data_test.name, row.window_key): (
            row.state,
            row.since,
            row.broken_since,
            row.streak_at,
            row.last_outcome,
            row.value,
            row.last_run_id,
        )
        for row in rows
    }


def forget() -> None:
    """Everything that was ever concluded from results; they are all still to arrive."""
    for model in (Notice, Incident, Alert, Standing):
        model.objects.all().delete()
    Run.objects.update(evaluated_at=None, ready_at=None, judged_at=None)


def arrive(results: Sequence[Run]) -> None:
    """Results come in one by one, whatever they are of and whenever they were measured."""
    for run in results:
        Run.objects.filter(pk=run.pk).update(
            evaluated_at=run.evaluated_at, ready_at=run.ready_at, judged_at=None, lease_until=None
        )
        drain()


def shaky_hours(scenario: Scenario) -> None:
    """Hour after hour comes with too few rows, and is repaired half an hour after it was due; the last is not."""
    hourly = dataset(TRIPS, granularity=Granularity.HOUR, primary_key=(), slas=SlaProfile(freshness=timedelta(hours=1)))
    scenario.catalog(hourly, custom=[ASSERTION])
    for hour in range(9, 15):
        key = f"{MONDAY}-{hour:02}"
        scenario.land(TRIPS, key, 50, on=f"{MONDAY} {hour + 1}:00")
        if hour < 14:
            scenario.land(TRIPS, key, 120, on=f"{MONDAY} {hour + 2}:30")
    scenario.until(f"{MONDAY} 16:50")


def test_doubled_and_reordered_results_give_the_standings_of_the_ordered_ones(scenario: Scenario) -> None:
    shaky_hours(scenario)
    told_in_order = standings()
    assert {said[0] for said in told_in_order.values()} == {"PASS", "FAIL", "LEARNING"}
    results = list(Run.objects.filter(evaluated_at__isnull=False).order_by("pk"))
    for seed in (1, 2):
        forget()
        arrive(Random(seed).sample([*results, *results[::3]], k=len(results) + len(results[::3])))
        assert standings() == told_in_order
        assert [incident.resolution for incident in incidents(TRIPS)][-1] == ""


@pytest.mark.django_db(transaction=True)
def test_a_late_result_that_leaves_no_failure_withdraws_the_incident_and_unsends_nothing(scenario: Scenario) -> None:
    """A worker takes three and a half hours to say that Monday was right at 08:00, before it broke again."""
    scenario.catalog(dataset(TRIPS, primary_key=()), custom=[ASSERTION])
    scenario.land(TRIPS, MONDAY, 50)
    scenario.land(TRIPS, MONDAY, 100, on="2026-03-10 07:59")
    seen: list[tuple[str, list[str]]] = []

    def meanwhile() -> None:
        scenario.lake.write(f"/sea/{TRIPS}", MONDAY, scenario.lake.tables[f"/sea/{TRIPS}"][MONDAY][:50])
        advance(at("2026-03-10 11:30"))
        seen.append((state(ENOUGH, MONDAY), told("opened")))

    scenario.lake.while_reading.append(meanwhile)
    advance(at("2026-03-10 08:00"))
    assert clock.now() == at("2026-03-10 08:00")
    clock.simulate(at("2026-03-10 11:30"))
    scenario.until("2026-03-10 11:30")
    assert seen == [("FAIL", ["trips"])]
    assert (state(ENOUGH, MONDAY), [incident.resolution for incident in incidents()]) == ("WARN", ["withdrawn"])
    assert (told("opened"), told("withdrawn")) == (["trips"], ["trips"])
    scenario.until("2026-03-10 12:30")
    assert open_incident(TRIPS).episodes.count() == 1
