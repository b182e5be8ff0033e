"""OpenLineage run events, as the standard's own client posts them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    lifecycle_state_change_dataset,
    nominal_time_run,
    ownership_dataset,
    schema_dataset,
)
from openlineage.client.serde import Serde

from assay.catalog.openlineage import (
    JobCompletion,
    LineageEvent,
    UnableToReadEvent,
    read_event,
    with_columns_of_sql,
)
from assay.catalog.profile import Column, LineageProfile
from assay.time.windows import Window

DAY = Window.parse("2013-02-01T05:00:00Z/2013-02-02T05:00:00Z")
NOMINAL = nominal_time_run.NominalTimeRunFacet(
    nominalStartTime="2013-02-01T00:00:00-05:00", nominalEndTime="2013-02-02T00:00:00-05:00"
)
AT_ONCE = nominal_time_run.NominalTimeRunFacet(
    nominalStartTime="2013-02-01T05:00:00Z", nominalEndTime="2013-02-01T05:00:00Z"
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
    state: RunState = RunState.COMPLETE, nominal: nominal_time_run.NominalTimeRunFacet | None = NOMINAL, **facets: Any
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
    assert (event.job, event.run) == ("etl.load_trips", "01938b3c-0000-7000-8000-000000000000")
    assert event.at == datetime(2013, 2, 2, 6, tzinfo=UTC)
    assert event.lineage == (
        LineageProfile(upstream="raw.trips", downstream="mart.trips"),
        LineageProfile(upstream="raw.users", downstream="mart.trips"),
    )


def test_the_columns_of_an_edge_are_those_that_are_read_and_what_is_only_renamed_maps_its_keys() -> None:
    def field(*sources: tuple[str, str], step: str = "IDENTITY") -> column_lineage_dataset.Fields:
        steps = [column_lineage_dataset.Transformation(type="DIRECT", subtype=step)]
        return column_lineage_dataset.Fields(
            inputFields=[
                column_lineage_dataset.InputField(namespace="raw", name=name, field=column, transformations=steps)
                for name, column in sources
            ]
        )

    facet = column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            "trip_id": field(("trips", "id")),
            "city": field(("trips", "city")),
            "day": field(("trips", "at"), step="TRANSFORMATION"),
            "name": field(("users", "first"), ("users", "last")),
        },
        dataset=[column_lineage_dataset.InputField(namespace="raw", name="trips", field="status")],
    )
    of_trips, of_users = read_event(posted(columnLineage=facet)).lineage
    assert (of_trips.keys, of_users.keys) == ({"trip_id": "id"}, {})
    assert of_trips.columns == {"trip_id": ("id",), "city": ("city",), "day": ("at",), "": ("status",)}
    assert of_users.columns == {"name": ("first", "last")}


def edges_by_sql(body: dict[str, Any], query: object) -> dict[str, Any]:
    """The columns of each edge of an event whose job has this SQL, where the catalog has columns of one input."""
    body["job"]["facets"] = {"sql": {"query": query, "dialect": "postgres"}}
    event = with_columns_of_sql(read_event(body), {"raw.users": ("id", "name")})
    return {edge.upstream: edge.columns for edge in event.lineage}


def test_the_sql_of_a_job_says_the_columns_of_edges_where_no_facet_says_any() -> None:
    sql = "select trip_id, name, t.city from raw.trips t join raw.users u on u.id = t.user_id"
    body = posted()
    body["inputs"][0]["facets"] = {"schema": {"fields": [{"name": n} for n in ("trip_id", "user_id", "city")]}}
    of_trips = {"trip_id": ("trip_id",), "city": ("city",), "": ("user_id",)}
    assert edges_by_sql(body, sql) == {"raw.trips": of_trips, "raw.users": {"name": ("name",), "": ("id",)}}
    body["outputs"][0]["facets"] = {
        "columnLineage": {
            "fields": {"city": {"inputFields": [{"namespace": "raw", "name": "trips", "field": "town"}]}},
        }
    }
    assert edges_by_sql(body, sql) == {"raw.trips": {"city": ("town",)}, "raw.users": {}}


def test_an_event_without_sql_and_without_the_facet_says_nothing_of_columns() -> None:
    body = posted()
    assert read_event(body).without_columns == {"mart.trips"}
    body["outputs"][0]["facets"] = {"columnLineage": {"fields": {}}}
    assert read_event(body).without_columns == set()
    body = posted()
    body["job"]["facets"] = {"sql": {"query": "select 1"}}
    assert read_event(body).without_columns == set()


@pytest.mark.parametrize("query", [None, 7, [], "", "select (((", "select x.y from elsewhere x"])
def test_sql_that_says_nothing_leaves_the_columns_of_edges_unknown(query: object) -> None:
    assert edges_by_sql(posted(), query) == {"raw.trips": {}, "raw.users": {}}


@pytest.mark.parametrize(
    ("nominal", "window"), [(NOMINAL, DAY), (None, None), (AT_ONCE, None)], ids=["a day", "none", "without length"]
)
def test_a_complete_run_has_completed_its_nominal_window(nominal: Any, window: Window | None) -> None:
    assert read_event(posted(nominal=nominal)).completed == (JobCompletion(dataset="mart.trips", window=window),)


@pytest.mark.parametrize("state", [RunState.START, RunState.RUNNING, RunState.FAIL, RunState.ABORT, RunState.OTHER])
def test_a_run_that_is_not_complete_completes_nothing_and_a_failed_one_feeds_nothing(state: RunState) -> None:
    event = read_event(posted(state))
    assert (event.completed, event.lineage == ()) == ((), state in (RunState.FAIL, RunState.ABORT))
    assert read_event(posted(state, lifecycleStateChange=DROP)).dropped == ()


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


MART, RAW = {"namespace": "mart", "name": "trips"}, {"namespace": "raw", "name": "trips"}
NAMELESS = "needs a namespace and a name, both of them text."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"job": None}, "job must be an object: post an OpenLineage RunEvent."),
        ({"run": []}, "run must be an object: post an OpenLineage RunEvent."),
        ({"job": {"namespace": "etl"}}, "job needs a namespace and a name, both of them text."),
        ({"eventTime": "yesterday"}, "eventTime is 'yesterday': write an ISO 8601 instant, 2013-02-01T05:00:00Z."),
        ({"eventTime": None}, "eventTime is None: write an ISO 8601 instant, 2013-02-01T05:00:00Z."),
        (
            {"eventTime": "1013-02-01T05:00:00Z"},
            "eventTime: 1013-02-01T05:00:00+00:00 lies outside of the years 1900 to 2199: name one in them.",
        ),
        ({"inputs": {"a": 1}}, "inputs must be a list of datasets."),
        ({"outputs": "mart"}, "outputs must be a list of datasets."),
        ({"outputs": [MART, 7]}, "outputs[1] must be an object: post an OpenLineage RunEvent."),
        ({"inputs": [RAW, {"namespace": "raw"}]}, f"inputs[1] {NAMELESS}"),
        *(
            ({"outputs": [nameless]}, f"outputs[0] {NAMELESS}")
            for nameless in (
                MART | {"name": ""},
                MART | {"namespace": ""},
                MART | {"namespace": 1},
                MART | {"name": [1]},
            )
        ),
    ],
)
def test_an_event_of_another_shape_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnableToReadEvent) as refused:
        read_event({**posted(), **change})
    assert str(refused.value) == sentence


def test_what_is_no_object_is_no_event() -> None:
    with pytest.raises(UnableToReadEvent) as refused:
        read_event([posted()])
    assert str(refused.value) == "the event must be an object: post an OpenLineage RunEvent."


@pytest.mark.parametrize("side", ["nominalStartTime", "nominalEndTime"])
def test_a_nominal_time_that_is_none_is_refused_and_told_by_its_name(side: str) -> None:
    body = posted()
    body["run"]["facets"]["nominalTime"][side] = "at noon"
    with pytest.raises(UnableToReadEvent, match=f"^{side} is 'at noon': write an ISO 8601 instant"):
        read_event(body)


@pytest.mark.parametrize("side", ["nominalStartTime", "nominalEndTime"])
def test_half_of_a_nominal_time_is_no_window(side: str) -> None:
    body = posted()
    body["run"]["facets"]["nominalTime"][side] = None
    assert read_event(body).completed == (JobCompletion(dataset="mart.trips", window=None),)


def named(count: int, side: str) -> list[dict[str, str]]:
    return [{"namespace": side, "name": f"t{number}"} for number in range(count)]


@pytest.mark.parametrize(
    ("inputs", "outputs", "is_taken"),
    [(999, 1, True), (1000, 1, False), (1, 999, True), (100, 100, True), (101, 100, False), (0, 1000, True)],
)
def test_an_event_names_at_most_a_thousand_datasets_and_ten_thousand_pairs(
    inputs: int, outputs: int, is_taken: bool
) -> None:
    body = {**posted(), "inputs": named(inputs, "raw"), "outputs": named(outputs, "mart")}
    if is_taken:
        assert len(read_event(body).lineage) == inputs * outputs
        return
    with pytest.raises(UnableToReadEvent) as refused:
        read_event(body)
    assert str(refused.value) == (
        f"The event names {inputs} inputs and {outputs} outputs: at most 1000 datasets and 10000 "
        "pairs of an input and an output may be in one. Send an event for each part of the job."
    )


def test_an_event_with_nothing_but_its_job_and_its_time_tells_of_nothing_else() -> None:
    least = {"job": {"namespace": "etl", "name": "x"}, "run": {}, "eventTime": "2013-02-02T07:00:00+01:00"}
    event = read_event(least)
    assert event == LineageEvent(job="etl.x", at=datetime(2013, 2, 2, 6, tzinfo=UTC))
    assert event.at.tzinfo is UTC
    assert event == LineageEvent(
        job="etl.x", at=event.at, run="", lineage=(), columns={}, owners={}, dropped=(), completed=()
    )


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert read_event({**posted(), "eventTime": "2013-02-02T06:00:00"}).at == datetime(2013, 2, 2, 6, tzinfo=UTC)


@pytest.mark.parametrize(("kind", "completes"), [("complete", 1), (None, 0), ("fail", 0)])
def test_the_kind_of_an_event_is_read_without_regard_to_case_and_may_be_missing(
    kind: str | None, completes: int
) -> None:
    body = {key: value for key, value in posted().items() if key != "eventType"}
    event = read_event(body if kind is None else {**body, "eventType": kind})
    assert len(event.completed) == completes
    assert bool(event.lineage) is (kind != "fail")


def test_of_several_outputs_the_dropped_one_alone_is_neither_completed_nor_fed() -> None:
    body = posted(lifecycleStateChange=DROP)
    body["outputs"].append({"namespace": "mart", "name": "rides"})
    event = read_event(body)
    assert event.dropped == ("mart.trips",)
    assert event.completed == (JobCompletion(dataset="mart.rides", window=DAY),)
    assert {edge.downstream for edge in event.lineage} == {"mart.rides"}


def test_inputs_and_outputs_tell_of_their_columns_and_owners() -> None:
    facets = {
        "schema": {
            "fields": [{"name": "a", "type": "int"}, {"name": "b"}, {"name": "c", "type": None}, {"type": "x"}, 7]
        },
        "ownership": {"owners": [{"name": "eve", "type": "owner"}]},
    }
    body = posted()
    body["inputs"][1]["facets"] = facets
    event = read_event(body)
    columns = (Column(name="a", type="int"), Column(name="b", type=""), Column(name="c", type=""))
    assert event.columns == {"raw.users": columns}
    assert event.owners == {"raw.users": "eve"}


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (
            [{"name": "bob", "type": "STEWARD"}, {"name": "ann", "type": "Owner"}, {"name": "eve", "type": "OWNER"}],
            "ann",
        ),
        ([{"name": "bob"}, {"name": "ann", "type": "STEWARD"}], "bob"),
        (["bob", {"name": "ann"}], "ann"),
        ([{"type": "OWNER"}], None),
        ([], None),
        (None, None),
    ],
)
def test_the_owner_is_the_first_of_type_owner_or_the_first(owners: object, owner: str | None) -> None:
    body = posted()
    body["outputs"][0]["facets"] = {"ownership": {"owners": owners}}
    assert read_event(body).owners.get("mart.trips") == owner


@pytest.mark.parametrize("facets", [None, [], {"schema": 1}, {"schema": {"fields": [None, {"name": 7}]}}])
def test_odd_facets_are_passed_over(facets: object) -> None:
    body = posted()
    body["outputs"][0]["facets"] = facets
    assert read_event(body).columns == {}


def counted(count: object, state: str = "") -> JobCompletion:
    """What is read of an output with this row count and lifecycle state."""
    body = posted()
    body["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": count}}
    body["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": state}} if state else {}
    return read_event(body).completed[0]


@pytest.mark.parametrize("state", ["CREATE", "OVERWRITE", "TRUNCATE"])
def test_a_run_that_replaces_what_was_there_says_so(state: str) -> None:
    assert counted(5000, state) == JobCompletion(dataset="mart.trips", window=DAY, rows=5000, overwrites=True)


@pytest.mark.parametrize("state", ["", "ALTER", "RENAME", "NEWS"])
def test_every_other_run_may_have_added_its_rows(state: str) -> None:
    assert counted(5000, state) == JobCompletion(dataset="mart.trips", window=DAY, rows=5000)


@pytest.mark.parametrize("count", [0, 2**63 - 1])
def test_a_run_may_have_written_no_row_or_very_many(count: int) -> None:
    assert counted(count).rows == count


def test_each_output_has_its_own_count() -> None:
    body = posted()
    body["outputs"] = [
        {**item, "outputFacets": {"outputStatistics": {"rowCount": count}}}
        for count, item in enumerate(named(3, "mart"))
    ]
    assert [(each.dataset, each.rows) for each in read_event(body).completed] == [
        *(("mart.t0", 0), ("mart.t1", 1), ("mart.t2", 2))
    ]


@pytest.mark.parametrize("count", [None, "5000", -1, 1.5, True, 2**63, [], {}])
def test_a_row_count_that_is_no_number_of_rows_is_none(count: object) -> None:
    assert counted(count).rows is None
