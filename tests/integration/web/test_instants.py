"""Times far from ours are refused wherever they can be named, and rows that hold them break no page."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay.models import Dataset
from assay.queue.drain import drain
from assay.time.windows import Window
from execution_engine import storage
from execution_engine.models import Run
from tests.factories import NOW, DatasetFactory, DataTestFactory, ReportFactory, RunFactory, SpoiltWindowFactory
from tests.fakes import FakeEngine

FIRST = "0001-01-01T00:00:00+14:00/0001-01-02T00:00:00+14:00"
LAST = "9999-12-30T00:00:00-12:00/9999-12-31T23:59:59-12:00"
OLD = "0800-01-01T00:00:00Z/0800-01-02T00:00:00Z"
ANCIENT = Window(start=datetime(1, 1, 1, tzinfo=UTC), end=datetime(1, 1, 2, tzinfo=UTC))
FINAL = Window(start=datetime(9999, 12, 30, tzinfo=UTC), end=datetime(9999, 12, 31, tzinfo=UTC))


@pytest.fixture
def trips(db: None) -> Dataset:
    """``raw.trips``, whose days are those of a zone west of Greenwich, where the first instant has no local time."""
    dataset = DatasetFactory.create(name="trips", time_zone="America/Los_Angeles")
    DataTestFactory.create(dataset=dataset, name="own")
    return dataset


@pytest.mark.parametrize("window", [FIRST, LAST, OLD])
@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("gate", {"datasets": ["raw.trips"]}),
        ("runs", {"data_test": 1}),
        ("reports", {"dataset": "raw.trips", "description": "wrong"}),
    ],
)
def test_a_window_far_from_our_years_is_refused(
    api: APIClient, trips: Dataset, address: str, body: dict[str, object], window: str
) -> None:
    if "data_test" in body:
        body = {"data_test": trips.data_tests.get().pk}
    answer = api.post(f"/api/v1/{address}", {**body, "window": window}, format="json")
    assert (answer.status_code, answer.json().get("where")) == (400, "window")


@pytest.mark.parametrize("window", [FIRST, LAST, OLD, "0001-01-01", "9999-12-31"])
def test_a_completion_far_from_our_years_is_refused(api: APIClient, trips: Dataset, window: str) -> None:
    body = {"outputs": [{"dataset": "raw.trips", "window": window}]}
    answer = api.post("/api/v1/pipelines/nightly/completed", body, format="json")
    assert (answer.status_code, answer.json().get("where")) == (400, "outputs")


@pytest.mark.parametrize("address", ["quality?dataset=raw.trips&", "scores?", "audit?"])
@pytest.mark.parametrize("window", [FIRST, LAST, OLD])
def test_a_range_far_from_our_years_is_refused(api: APIClient, trips: Dataset, address: str, window: str) -> None:
    start, end = window.replace("+", "%2B").split("/")
    answer = api.get(f"/api/v1/{address}from={start}&to={end}")
    assert (answer.status_code, "from" in answer.json()["where"]) == (400, True)


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0800-01-01T00:00:00Z"])
@pytest.mark.parametrize("place", ["eventTime", "nominalStartTime"])
def test_an_event_far_from_our_years_is_refused(api: APIClient, trips: Dataset, instant: str, place: str) -> None:
    times = {"eventTime": "2026-03-10T00:00:00Z", "nominalStartTime": "2026-03-09T00:00:00Z"} | {place: instant}
    event = {
        "eventType": "COMPLETE",
        "eventTime": times["eventTime"],
        "job": {"namespace": "jobs", "name": "nightly"},
        "run": {
            "facets": {
                "nominalTime": {"nominalStartTime": times["nominalStartTime"], "nominalEndTime": "2026-03-10T00:00:00Z"}
            }
        },
        "outputs": [{"namespace": "raw", "name": "trips"}],
    }
    answer = api.post("/api/v1/lineage", event, format="json")
    assert (answer.status_code, place in answer.json()["error"]) == (400, True)


def test_a_form_with_a_time_far_from_our_years_is_refused(pages: Client, trips: Dataset) -> None:
    form = {"start": "0800-01-01T00:00", "end": "0800-01-02T00:00", "description": "wrong"}
    answer = pages.post("/datasets/raw.trips/report", form, follow=True)
    assert ("outside of the years 1900 to 2199" in answer.content.decode(), trips.reports.exists()) == (True, False)


@pytest.mark.parametrize("first", ["0001-01-01", "9998-01-01"])
def test_a_first_partition_far_from_our_years_is_refused(api: APIClient, first: str) -> None:
    body = {
        "owner": "ada",
        "tier": 2,
        "partition": {"column": "datestr", "granularity": "day", "first": first},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/raw/trips"}],
    }
    answer = api.put("/api/v1/datasets/raw.trips", body, format="json")
    assert (answer.status_code, answer.json()["where"]) == (400, "partition")


@pytest.mark.parametrize("window", [ANCIENT, FINAL])
def test_a_report_from_before_that_rule_breaks_no_page(pages: Client, trips: Dataset, window: Window) -> None:
    incident = SpoiltWindowFactory.create(incident__dataset=trips, window=window).incident
    ReportFactory.create(dataset=trips, window=window, incident=incident)
    for address in (f"/incidents/{incident.pk}", "/incidents", "/datasets/raw.trips", "/"):
        assert pages.get(address).status_code == 200


@pytest.mark.logs_a_failure
@pytest.mark.parametrize("window", [ANCIENT, FINAL])
def test_a_run_from_before_that_rule_ends_with_its_reason_and_holds_nobody_up(trips: Dataset, window: Window) -> None:
    untouched = dict.fromkeys(("planned_at", "ready_at", "evaluated_at", "judged_at", "measured_at"))
    asked = {"reason": "manual", "requested_at": NOW, "outcome": "", "sentence": "", **untouched}
    run = RunFactory.create(data_test=trips.data_tests.get(), window=window, **asked)
    with storage.using(FakeEngine()):
        drain()
    run = Run.objects.get(pk=run.pk)
    assert (run.outcome, bool(run.error_reason)) == ("error", True), run.sentence
