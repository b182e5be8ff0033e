"""What a pipeline tells of its rows, as its clients post it, and what a window is held to."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    lifecycle_state_change_dataset,
    nominal_time_run,
    output_statistics_output_dataset,
)
from openlineage.client.serde import Serde
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.models import AccessToken, Member
from tests.e2e.scenario import Scenario, dataset, runs, state

pytestmark = pytest.mark.django_db

MONDAY = "2026-03-09"
FRESHNESS = "raw.trips/freshness"
FIRST, SECOND = "01938b3c-0000-7000-8000-000000000001", "01938b3c-0000-7000-8000-000000000002"
OVERWRITE = {
    "lifecycleStateChange": lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=lifecycle_state_change_dataset.LifecycleStateChange.OVERWRITE
    )
}


@pytest.fixture
def api(scenario: Scenario) -> APIClient:
    """The client of a pipeline."""
    user = User.objects.create_user("pipeline")
    Member.objects.create(user=user, role=Role.ADMIN)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(user)[1]}")
    scenario.catalog(dataset("raw.trips"))
    return client


def event(rows: int, *, run: str = FIRST, facets: dict[str, Any] | None = None) -> dict[str, Any]:
    """What OpenLineage's own client posts when a run that has written so many rows of Monday ends."""
    nominal = nominal_time_run.NominalTimeRunFacet(
        nominalStartTime="2026-03-09T00:00:00Z", nominalEndTime="2026-03-10T00:00:00Z"
    )
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
    output = OutputDataset(
        namespace="raw", name="trips", facets=facets or {}, outputFacets={"outputStatistics": statistics}
    )
    told = RunEvent(
        eventType=RunState.COMPLETE,
        eventTime="2026-03-10T03:00:00Z",
        run=Run(runId=run, facets={"nominalTime": nominal}),
        job=Job(namespace="etl", name="load_trips"),
        outputs=[output],
    )
    body: dict[str, Any] = json.loads(Serde.to_json(told))
    return body


def post(scenario: Scenario, api: APIClient, path: str, body: dict[str, Any]) -> None:
    """A pipeline posts, and all that follows from it at once is done."""
    answer = api.post(f"/api/v1/{path}", body, format="json")
    assert answer.status_code in (200, 201, 202), answer.content
    scenario.until(clock.now())


def said() -> str:
    """The sentence of the scheduled run."""
    (run,) = runs(FRESHNESS, MONDAY, "schedule")
    return run.sentence


def test_fewer_rows_than_the_pipeline_told_of_are_not_complete(scenario: Scenario, api: APIClient) -> None:
    scenario.land("raw.trips", MONDAY, 40, on="2026-03-10 03:00")
    post(scenario, api, "lineage", event(100))
    scenario.until("2026-03-10 07:00")
    assert state(FRESHNESS, MONDAY) == "WARN"
    assert "incomplete: 40 of 100 rows that the pipeline told of" in said()
    scenario.land("raw.trips", MONDAY, 100)
    scenario.until("2026-03-10 08:00")
    assert state(FRESHNESS, MONDAY) == "PASS"
    held = api.get("/api/v1/runs", {"dataset": "raw.trips", "outcome": "held"}).json()["results"]
    assert any("; complete: 100 of 100 rows that the pipeline told of" in run["sentence"] for run in held)


def test_the_rows_of_appending_runs_add_up_and_an_event_that_comes_twice_counts_once(
    scenario: Scenario, api: APIClient
) -> None:
    scenario.land("raw.trips", MONDAY, 99, on="2026-03-10 03:00")
    for told in (event(60), event(40, run=SECOND), event(60)):
        post(scenario, api, "lineage", told)
    scenario.until("2026-03-10 07:00")
    assert state(FRESHNESS, MONDAY) == "WARN"
    assert "incomplete: 99 of 100 rows that the pipeline told of" in said()


def test_a_run_that_overwrites_replaces_what_was_told_before(scenario: Scenario, api: APIClient) -> None:
    scenario.land("raw.trips", MONDAY, 90, on="2026-03-10 03:00")
    post(scenario, api, "lineage", event(100))
    post(scenario, api, "lineage", event(90, run=SECOND, facets=OVERWRITE))
    scenario.until("2026-03-10 07:00")
    assert state(FRESHNESS, MONDAY) == "PASS"
    assert "complete: 90 of 90 rows that the pipeline told of" in said()


def test_a_pipeline_that_posts_its_outputs_may_tell_their_rows(scenario: Scenario, api: APIClient) -> None:
    scenario.land("raw.trips", MONDAY, 40, on="2026-03-10 03:00")
    output = {"dataset": "raw.trips", "window": MONDAY, "rows": 30, "mode": "append"}
    for run in ("1", "2", "2"):
        post(scenario, api, "pipelines/load/completed", {"outputs": [output], "run": run})
    scenario.until("2026-03-10 07:00")
    assert state(FRESHNESS, MONDAY) == "WARN"
    assert "incomplete: 40 of 60 rows that the pipeline told of" in said()
    wrong = {"outputs": [{**output, "rows": -1}]}
    assert api.post("/api/v1/pipelines/load/completed", wrong, format="json").status_code == 400


def test_without_history_any_row_completes_a_window_and_the_run_says_so(scenario: Scenario, api: APIClient) -> None:
    scenario.land("raw.trips", MONDAY, 1, on="2026-03-10 03:00")
    scenario.until("2026-03-10 07:00")
    assert state(FRESHNESS, MONDAY) == "PASS"
    assert "complete: 1 rows; whether these are all cannot be known" in said()
