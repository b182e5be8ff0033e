"""A range of partitions asked of the API and of a dataset's page: a back-fill, its cost and its progress."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.models import AuditEntry, Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.models import Measurement, Run
from execution_engine.planning.planner import hash_of
from tests.factories import DatasetFactory, DataTestFactory, StandingFactory, day
from tests.integration.story import due

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
DAYS = f"{day('2026-03-07').start:%Y-%m-%dT%H:%MZ}/{MONDAY.end:%Y-%m-%dT%H:%MZ}"


@pytest.fixture(autouse=True)
def first() -> DataTest:
    """One of two tests of the partitions of a table that began on 1 March, beside one of the whole table."""
    clock.simulate(due(MONDAY))
    trips = DatasetFactory.create(name="trips", first_partition="2026-03-01")
    DataTestFactory.create(dataset=trips, name="weekly", scope=Scope.TABLE)
    DataTestFactory.create(dataset=trips, name="second")
    row: DataTest = DataTestFactory.create(dataset=trips, name="first")
    return row


def sent(api: APIClient, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
    answer = api.post(f"/api/v1/{path}", body, format="json")
    return answer.status_code, answer.json()


def test_a_range_of_a_bulk_request_is_a_run_for_each_test_and_partition(api: APIClient) -> None:
    code, answer = sent(api, "runs/bulk", {"dataset": "raw.trips", "window": DAYS})
    days = [day(f"2026-03-{number:02d}").text for number in (9, 8, 7)]
    assert (code, [row["window"] for row in answer["runs"]]) == (201, [text for text in days for _ in range(2)])
    assert {row["reason"] for row in answer["runs"]} == {"backfill"}


def test_the_last_partitions_are_asked_for_by_their_number_and_their_cost_before(
    api: APIClient, first: DataTest
) -> None:
    for number, rows in ((8, 10), (9, 14)):
        window = day(f"2026-03-{number:02d}")
        at = {"window_start": window.start, "window_end": window.end, "requested_at": window.end}
        spec: dict[str, Any] = {"spec": ALL_ROWS.to_json(), "spec_hash": hash_of(ALL_ROWS), "spec_text": ALL_ROWS.text}
        Measurement.objects.create(dataset=first.dataset, datacenter="sea", value=rows, **at, **spec)
    answer = api.get("/api/v1/runs/bulk?dataset=raw.trips&last=3")
    whole = Window(start=day("2026-03-07").start, end=MONDAY.end).text
    assert answer.json() == {"window": whole, "partitions": 3, "tests": 2, "runs": 6, "rows": 36}
    assert not Run.objects.exists()
    code, requested = sent(api, "runs/bulk", {"dataset": "raw.trips", "last": 3})
    assert (code, len(requested["runs"])) == (201, 6)


@pytest.mark.parametrize("body", [{}, {"last": 3, "window": DAYS}, {"last": 0}])
def test_a_back_fill_names_a_window_or_a_number_of_partitions(api: APIClient, body: Mapping[str, Any]) -> None:
    code, _ = sent(api, "runs/bulk", {"dataset": "raw.trips", **body})
    query: Any = {"dataset": "raw.trips", **body}
    assert (code, api.get("/api/v1/runs/bulk", query).status_code) == (400, 400)


def test_a_range_is_refused_where_one_run_is_asked_for(api: APIClient, first: DataTest) -> None:
    code, problem = sent(api, "runs", {"data_test": first.pk, "window": DAYS})
    assert (code, problem["where"], "POST /api/v1/runs/bulk" in problem["mend"]) == (400, "window", True)
    assert not Run.objects.exists()
    assert sent(api, "runs", {"data_test": first.pk, "window": "2026-03-09"})[1]["reason"] == "manual"


def test_a_range_that_cuts_through_a_partition_is_refused(api: APIClient, first: DataTest) -> None:
    cut = "2026-03-07T06:00Z/2026-03-09T00:00Z"
    for path, what in (("runs", {"data_test": first.pk}), ("runs/bulk", {"dataset": "raw.trips"})):
        code, problem = sent(api, path, {**what, "window": cut})
        assert (code, "cuts through a partition" in str(problem)) == (400, True)


def test_a_range_of_too_many_runs_is_refused(api: APIClient) -> None:
    Dataset.objects.update(first_partition="2000-01-01")
    code, problem = sent(api, "runs/bulk", {"dataset": "raw.trips", "window": "2023-01-01T00:00Z/2026-01-01T00:00Z"})
    assert (code, "1096 partitions, which makes 2192 runs" in str(problem), Run.objects.exists()) == (400, True, False)


def test_a_dataset_without_a_result_offers_to_test_its_past_and_tells_the_cost_and_the_progress(
    client: Client, admin_user: User, first: DataTest
) -> None:
    client.force_login(admin_user)
    page = client.get("/datasets/raw.trips").content.decode()
    assert "The last 9 partitions, 2 tests each: 18 runs, which page nobody." in page
    assert client.post("/datasets/raw.trips/back-fill").status_code == 302
    assert Run.objects.filter(reason="backfill").count() == 18
    assert AuditEntry.objects.get(action="run.bulk").object_id == "raw.trips"
    Run.objects.filter(data_test=first).update(judged_at=clock.now())
    page = client.get("/datasets/raw.trips").content.decode()
    assert ("9 of 18 runs are judged" in page, "Test the past" in page) == (True, False)


def test_a_dataset_with_results_offers_it_beside_its_tests(client: Client, admin_user: User, first: DataTest) -> None:
    StandingFactory.create(data_test=first)
    client.force_login(admin_user)
    overview, tests = (client.get(f"/datasets/raw.trips{tab}").content.decode() for tab in ("", "?tab=tests"))
    assert ("Test the past" in overview, "Test the past" in tests) == (False, True)
