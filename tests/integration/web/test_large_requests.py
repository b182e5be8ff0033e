"""Requests that would make us write without end are refused with what may be asked for."""

from datetime import date, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from assay.models import DataChange, LineageEdge
from incident_manager.models import LookUp
from tests.factories import DatasetFactory

FIFTY_YEARS = "1980-01-01T00:00:00Z/2030-01-01T00:00:00Z"


def event(inputs: int, outputs: int, **run: object) -> dict[str, object]:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-10T00:00:00Z",
        "job": {"namespace": "jobs", "name": "nightly"},
        "run": run,
        "inputs": [{"namespace": "raw", "name": f"table_{n}"} for n in range(inputs)],
        "outputs": [{"namespace": "lake", "name": f"table_{n}"} for n in range(outputs)],
    }


def test_a_completion_of_more_partitions_than_can_be_followed_is_refused(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    body = {"outputs": [{"dataset": "raw.trips", "window": FIFTY_YEARS}]}
    answer = api.post("/api/v1/pipelines/nightly/completed", body, format="json")
    assert (answer.status_code, answer.json().get("where")) == (400, "outputs")
    assert ("complete it in parts" in answer.json()["error"], DataChange.objects.exists()) == (True, False)


def test_an_event_that_completes_more_partitions_than_can_be_followed_is_refused(api: APIClient) -> None:
    DatasetFactory.create(namespace="lake", name="table_0")
    start, end = FIFTY_YEARS.split("/")
    nominal = {"nominalTime": {"nominalStartTime": start, "nominalEndTime": end}}
    answer = api.post("/api/v1/lineage", event(1, 1, facets=nominal), format="json")
    assert (answer.status_code, "complete it in parts" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(("inputs", "outputs"), [(200, 200), (2000, 1), (1, 2000)])
def test_an_event_of_too_many_tables_is_refused(api: APIClient, inputs: int, outputs: int) -> None:
    answer = api.post("/api/v1/lineage", event(inputs, outputs), format="json")
    assert (answer.status_code, f"{inputs} inputs and {outputs} outputs" in answer.json()["error"]) == (400, True)


def test_the_edges_of_an_event_are_written_together(api: APIClient) -> None:
    for number in range(30):
        DatasetFactory.create(namespace="raw", name=f"table_{number}")
        DatasetFactory.create(namespace="lake", name=f"table_{number}")
    with CaptureQueriesContext(connection) as asked:
        answer = api.post("/api/v1/lineage", event(30, 30), format="json")
    assert (answer.status_code, LineageEdge.objects.count()) == (201, 900)
    assert len(asked) < 100


@pytest.mark.parametrize(("step", "last"), [(1, "2015-06-24"), (2, "2020-12-13")])
def test_a_query_over_thousands_of_days_is_answered_over_all_between_them(api: APIClient, step: int, last: str) -> None:
    DatasetFactory.create(name="trips", first_partition="2000-01-01")
    days = ", ".join(f"'{date(2010, 1, 1) + timedelta(days=step * number)}'" for number in range(2000))
    sql = f"select 1 from raw.trips where datestr in ({days})"
    answer = api.post("/api/v1/quality/query", {"sql": sql}, format="json").json()
    (table,) = answer["tables"]
    assert (table["from"], table["to"]) == ("2010-01-01T00:00:00Z", f"{last}T00:00:00Z")
    assert (bool(answer["widened"]), LookUp.objects.count()) == (step > 1, 1)


def test_a_query_over_too_many_tables_is_refused(api: APIClient) -> None:
    for number in range(26):
        DatasetFactory.create(name=f"trips_{number}")
    sql = " union all ".join(f"select 1 from raw.trips_{number}" for number in range(26))
    answer = api.post("/api/v1/quality/query", {"sql": sql}, format="json")
    assert (answer.status_code, answer.json().get("where"), LookUp.objects.count()) == (400, "sql", 0)
