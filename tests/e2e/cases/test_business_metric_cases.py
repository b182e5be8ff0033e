"""A business metric, the table that it is computed from, and the experiment that names it."""

from typing import Any

import pytest

from assay import clock
from assay.catalog.profile import BusinessMetricDefinition, CatalogProfile, CustomProfile, DatasetProfile
from assay.models import Dataset
from execution_engine.models import Measurement
from execution_engine.runs.shown_results import Veil
from incident_manager.services import look_up
from test_generator.services import sync
from tests.e2e.cases.people import cause_of, open_incident, said, told
from tests.e2e.scenario import Scenario, custom, data_test, dataset, incidents, state, window

pytestmark = pytest.mark.django_db

TRIPS, HIGHEST, MONDAY = "raw.trips", "business.highest fare".replace(" ", "_"), "2026-03-09"
LEARNING = "learning: not enough history yet"  # the band of its past
COMPUTED = f"{HIGHEST} is computed from {TRIPS}"


def metric(expression: str = "max(fare)", *sources: str, name: str = HIGHEST, **more: Any) -> DatasetProfile:
    """A business metric of tier 2 that fails after four hours, as it is told."""
    namespace, _, short = name.rpartition(".")
    definition = BusinessMetricDefinition(expression=expression, canonical="", sources=sources or (TRIPS,))
    told: dict[str, Any] = {"owner": "mia", "tier": 2, "replicas": (), **more}
    return DatasetProfile(namespace=namespace, name=short, business_metric=definition, **told)


def company(scenario: Scenario, *tests: CustomProfile, of: DatasetProfile | None = None, **metadata: Any) -> None:
    """Trips and their highest fare."""
    catalog = CatalogProfile(datasets=(dataset(TRIPS, **metadata),), custom=tests, business_metrics=(of or metric(),))
    sync(catalog, source="yaml", now=clock.now())
    scenario.until(clock.now())


def test_an_experiment_that_names_a_metric_is_blocked_by_its_source_and_let_in_once_that_is_mended(
    scenario: Scenario,
) -> None:
    company(scenario, custom(TRIPS, "enough", "row_count() >= 100"))
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until("2026-03-10 12:00")
    assert state(f"{HIGHEST}/value", MONDAY) == "PASS"
    incident = open_incident(TRIPS)
    answer = scenario.ask(HIGHEST, MONDAY)
    wrong = {f"custom is broken (FAIL); {COMPUTED}", f"custom incident {incident.pk} is open; {COMPUTED}"}
    assert said(answer) == ("block", {*wrong, LEARNING})
    assert {reason.dataset for reason in answer.reasons if reason.decision == "block"} == {TRIPS}
    scenario.land(TRIPS, MONDAY, 200)
    scenario.until("2026-03-10 14:00")
    assert said(scenario.ask(HIGHEST, MONDAY))[0] == "allow"


def test_a_late_source_is_the_one_cause_and_the_metric_is_released_with_it(scenario: Scenario) -> None:
    company(scenario)
    scenario.until("2026-03-10 12:00")
    assert [state(f"{HIGHEST}/{name}", MONDAY) for name in ("value", "freshness")] == ["FAIL", "FAIL"]
    assert cause_of(open_incident(HIGHEST)) == open_incident(TRIPS, "freshness")
    assert "mia" not in told("opened")
    scenario.land(TRIPS, MONDAY, 100)
    scenario.until("2026-03-10 15:00")
    assert [state(f"{HIGHEST}/{name}", MONDAY) for name in ("value", "freshness")] == ["PASS", "PASS"]
    assert all(each.resolved_at for each in incidents())
    assert told("unknown") == []


def test_a_value_outside_the_band_of_its_past_warns_and_blocks_nobody(scenario: Scenario) -> None:
    company(scenario, of=metric("row_count()"), novelty=False)
    for number in range(10):
        day = f"2026-03-{9 + number:02}"
        scenario.land(TRIPS, day, 100 + number, on=f"2026-03-{9 + number:02} 23:00")
    scenario.land(TRIPS, "2026-03-19", 5, on="2026-03-19 23:00")
    scenario.until("2026-03-20 12:00")
    assert state(f"{HIGHEST}/band", "2026-03-18") == "PASS"
    assert state(f"{HIGHEST}/band", "2026-03-19") == "FAIL"
    assert scenario.ask(HIGHEST, "2026-03-19").decision == "warn"


def test_a_metric_of_a_table_with_few_readers_tells_others_no_more_than_that_it_is_wrong(scenario: Scenario) -> None:
    company(
        scenario,
        custom(TRIPS, "enough", "row_count() >= 100"),
        of=metric("row_count()"),
        readers=("team:payroll",),
    )
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until("2026-03-10 12:00")
    answer = scenario.ask(HIGHEST, MONDAY)
    assert said(answer) == ("block", {f"what is wrong is told to its readers; {COMPUTED}", LEARNING})
    assert {(each.test, each.incident_id) for each in answer.reasons if each.decision == "block"} == {(None, None)}


def test_a_source_that_a_metric_may_not_show_any_more_leaves_it_untested(scenario: Scenario) -> None:
    company(scenario)
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until("2026-03-10 12:00")
    limited = CatalogProfile(datasets=(dataset(TRIPS, readers=("team:payroll",)),))
    sync(limited, source="yaml", full=False, now=clock.now())
    scenario.until(clock.now())
    gap = Dataset.objects.get(full_name=HIGHEST).gaps.get(closed_at=None)
    assert "raw.trips is shown to its readers only" in gap.reason
    assert data_test(f"{HIGHEST}/value").retired_at
    values = Measurement.objects.filter(dataset__full_name=HIGHEST, spec__name="value").select_related("dataset")
    assert values
    assert all(Veil(clock.now()).hides_measurement(row) for row in values)
    assert Veil(clock.now()).hides_value_of(values[0].dataset)


def test_a_metric_follows_the_home_and_the_partitions_of_its_source(scenario: Scenario) -> None:
    company(scenario)
    row = Dataset.objects.get(full_name=HIGHEST)
    assert (row.granularity, row.replicas.get().datacenter) == ("day", "sea")
    moved = dataset(TRIPS, "phx")
    catalog = CatalogProfile(datasets=(moved,), business_metrics=())
    sync(catalog, source="yaml", full=False, now=clock.now())
    scenario.until(clock.now())
    row.refresh_from_db()
    assert row.replicas.get().datacenter == "phx"
    assert data_test(f"{HIGHEST}/value").datacenter == "phx"


def test_another_expression_is_another_series(scenario: Scenario) -> None:
    company(scenario)
    scenario.land(TRIPS, MONDAY, 50)
    scenario.until("2026-03-10 12:00")
    company(scenario, of=metric("2 * max(fare)"))
    scenario.land(TRIPS, "2026-03-10", 50)
    scenario.until("2026-03-11 12:00")
    rows = Measurement.objects.filter(dataset__full_name=HIGHEST, spec__name="value").order_by("pk")
    assert list(dict.fromkeys(rows.values_list("window_start__day", "value"))) == [(9, 14.0), (10, 28.0)]
    answer = look_up(
        dataset=Dataset.objects.get(full_name=HIGHEST), window=window(HIGHEST, MONDAY), now=clock.now(), record=False
    )
    assert answer.quality.status == "good"
