"""OpenLineage run events, as the standard's own client posts them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    lifecycle_state_change_dataset,
    nominal_time_run,
    ownership_dataset,
    schema_dataset,
)
from openlineage.client.serde import Serde

from assay.catalog.openlineage import Completion, UnableToReadEvent, read_event
from assay.catalog.profile import Column, LineageProfile
from assay.windows import Window

DAY = Window.parse("2013-02-01T05:00:00Z/2013-02-02T05:00:00Z")
NOMINAL = nominal_time_run.NominalTimeRunFacet(
    nominalStartTime="2013-02-01T00:00:00-05:00", nominalEndTime="2013-02-02T00:00:00-05:00"
)
SCHEMA = schema_dataset.SchemaDatasetFacet(
    fields=[schema_dataset.SchemaDatasetFacetFields(name="trip_id", type="bigint")]
)
OWNERS = ownership_dataset.OwnershipDatasetFacet(
    owners=[ownership_dataset.Owner(name="bob", type="STEWARD"), ownership_dataset.Owner(name="ann", type="OWNER")]
)
DROP = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
    lifecycleStateChange=lifecycle_state_change_dataset.LifecycleStateChange.DROP
)


def posted(
    state: RunState = RunState.COMPLETE,
    nominal: nominal_time_run.NominalTimeRunFacet | None = NOMINAL,
    **facets: Any,
) -> dict[str, Any]:
    """An event that reads raw.trips and raw.users and writes mart.trips, as JSON."""
    event = RunEvent(
        eventType=state,
        eventTime="2013-02-02T06:00:00Z",
        run=Run(runId="01938b3c-0000-7000-8000-000000000000", facets={"nominalTime": nominal} if nominal else {}),
        job=Job(namespace="etl", name="load_trips"),
        inputs=[InputDataset(namespace="raw", name="trips"), InputDataset(namespace="raw", name="users")],
        outputs=[OutputDataset(namespace="mart", name="trips", facets=facets)],
    )
    body: dict[str, Any] = json.loads(Serde.to_json(event))
    return body


def test_every_input_flows_into_every_output() -> None:
    event = read_event(posted())
    assert (event.job, event.at) == ("etl.load_trips", datetime(2013, 2, 2, 6, tzinfo=UTC))
    assert event.lineage == (
        LineageProfile(upstream="raw.trips", downstream="mart.trips"),
        LineageProfile(upstream="raw.users", downstream="mart.trips"),
    )


def test_a_complete_run_has_completed_its_nominal_window() -> None:
    assert read_event(posted()).completed == (Completion(dataset="mart.trips", window=DAY),)


def test_a_complete_run_without_nominal_times_completes_no_known_window() -> None:
    assert read_event(posted(nominal=None)).completed == (Completion(dataset="mart.trips", window=None),)


def test_a_nominal_time_without_length_is_no_window() -> None:
    at = "2013-02-01T05:00:00Z"
    nominal = nominal_time_run.NominalTimeRunFacet(nominalStartTime=at, nominalEndTime=at)
    assert read_event(posted(nominal=nominal)).completed[0].window is None


@pytest.mark.parametrize("state", [RunState.START, RunState.RUNNING, RunState.FAIL, RunState.ABORT, RunState.OTHER])
def test_a_run_that_is_not_complete_completes_nothing(state: RunState) -> None:
    assert read_event(posted(state)).completed == ()


@pytest.mark.parametrize("state", [RunState.FAIL, RunState.ABORT])
def test_a_failed_run_tells_of_no_lineage(state: RunState) -> None:
    assert read_event(posted(state)).lineage == ()


def test_facets_give_columns_and_the_owner() -> None:
    event = read_event(posted(schema=SCHEMA, ownership=OWNERS))
    assert event.columns == {"mart.trips": (Column(name="trip_id", type="bigint"),)}
    assert event.owners == {"mart.trips": "ann"}


def test_a_dropped_dataset_is_neither_completed_nor_fed() -> None:
    event = read_event(posted(lifecycleStateChange=DROP))
    assert (event.dropped, event.completed, event.lineage) == (("mart.trips",), (), ())


def test_a_dataset_that_feeds_itself_is_no_edge() -> None:
    body = posted()
    body["inputs"] = body["outputs"]
    assert read_event(body).lineage == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"job": None}, "job must be an object"),
        ({"run": []}, "run must be an object"),
        ({"eventTime": "yesterday"}, "eventTime is 'yesterday'"),
        ({"inputs": {"a": 1}}, "inputs must be a list"),
        ({"outputs": [7]}, r"outputs\[0\] must be an object"),
        ({"outputs": [{"namespace": "mart"}]}, r"outputs\[0\] needs a namespace and a name"),
    ],
)
def test_an_event_of_another_shape_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnableToReadEvent, match=sentence):
        read_event({**posted(), **change})


@pytest.mark.parametrize("facets", [None, [], {"schema": 1}, {"schema": {"fields": [None, {"name": 7}]}}])
def test_odd_facets_are_passed_over(facets: object) -> None:
    body = posted()
    body["outputs"][0]["facets"] = facets
    assert read_event(body).columns == {}


def counted(count: object, state: str = "") -> Completion:
    """What is read of an output with this row count and lifecycle state."""
    body = posted()
    body["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": count}}
    body["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": state}} if state else {}
    return read_event(body).completed[0]


@pytest.mark.parametrize("state", ["CREATE", "OVERWRITE", "TRUNCATE"])
def test_a_run_that_replaces_what_was_there_says_so(state: str) -> None:
    assert counted(5000, state) == Completion(dataset="mart.trips", window=DAY, rows=5000, overwrites=True)


@pytest.mark.parametrize("state", ["", "ALTER", "RENAME", "NEWS"])
def test_every_other_run_may_have_added_its_rows(state: str) -> None:
    assert counted(5000, state) == Completion(dataset="mart.trips", window=DAY, rows=5000)


@pytest.mark.parametrize("count", [None, "5000", -1, 1.5, True, 2**63, [], {}])
def test_a_row_count_that_is_no_number_of_rows_is_none(count: object) -> None:
    assert counted(count).rows is None
