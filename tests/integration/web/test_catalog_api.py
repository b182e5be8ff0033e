"""Datasets and lineage over REST."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import nominal_time_run, ownership_dataset, schema_dataset
from openlineage.client.serde import Serde
from openlineage.client.uuid import generate_new_uuid
from rest_framework.test import APIClient

from assay.access import Role
from assay.catalog.profile import Column
from assay.catalog.tellings import fields_from_json
from assay.database.name_keys import name_key
from assay.models import AccessToken, AuditEntry, DataChange, Dataset, EdgeTelling, LineageEdge, Source, Telling
from execution_engine.models import BlastRadius
from tests.factories import NOW, DatasetFactory, LineageEdgeFactory, OfferFactory, day
from tests.integration.web.people import client

TRIPS: dict[str, Any] = {
    "owner": "ada",
    "tier": 1,
    "columns": {"id": "bigint", "datestr": "string"},
    "primary_key": ["id"],
    "partition": {"column": "datestr", "granularity": "day"},
    "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/trips"}],
    "slas": {"freshness": "4h"},
}


def test_a_pushed_dataset_is_created_then_kept(api: APIClient) -> None:
    first = api.put("/api/v1/datasets/raw.trips", TRIPS, format="json")
    again = api.put("/api/v1/datasets/raw.trips", {**TRIPS, "tier": 2}, format="json")
    assert (first.status_code, again.status_code, again.json()["freshness_sla"]) == (201, 200, "4h")
    assert Dataset.objects.get().tier == 2
    assert Dataset.objects.get().reconcile_at is not None


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"tier": 9}, "tier"),
        ({"tier": "one"}, "tier"),
        ({"ownr": "ada"}, "ownr"),
        ({"primary_key": ["nope"]}, "primary_key"),
        ({"name": "raw.other"}, "name"),
        ({"replicas": [{"datacenter": "sea", "storage": "parquet", "location": "trips"}]}, "replicas"),
        ({"partition": {"column": "datestr", "granularity": "day", "time_zone": "Mars/Olympus"}}, "partition"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_place(api: APIClient, change: dict[str, Any], where: str) -> None:
    answer = api.put("/api/v1/datasets/raw.trips", {**TRIPS, **change}, format="json")
    assert (answer.status_code, where in answer.json()["where"], Dataset.objects.exists()) == (400, True, False)


def test_a_correction_is_kept_against_later_pushes_and_stands_in_the_audit(api: APIClient) -> None:
    api.put("/api/v1/datasets/raw.trips", TRIPS, format="json")
    corrected = api.patch("/api/v1/datasets/raw.trips", {"tier": 0, "slas": {"freshness": "2h"}}, format="json")
    assert (corrected.status_code, corrected.json()["freshness_sla"]) == (200, "2h")
    body = api.put("/api/v1/datasets/raw.trips", {**TRIPS, "description": "Rides."}, format="json").json()
    assert (body["tier"], body["description"]) == (0, "Rides.")
    origins = {row["field"]: row for row in api.get("/api/v1/datasets/raw.trips").json()["origins"]}
    assert (origins["tier"]["source"], origins["tier"]["value"]) == ("correction", 0)
    assert [(row["source"], row["value"]) for row in origins["tier"]["others"]] == [("push", 1)]
    entry = AuditEntry.objects.get(action="dataset.correct")
    assert entry.before
    assert entry.after
    assert (entry.before["tier"], entry.after["tier"]) == (1, 0)


def test_what_nobody_gives_is_proposed_and_a_patch_accepts_it(api: APIClient) -> None:
    row = DatasetFactory.create(name="trips", primary_key=[])
    OfferFactory.create(dataset=row, rule="UniqueIfApproximatelyUnique", columns=["id"], assertion="uniqueness(id) = 1")
    (proposed,) = api.get("/api/v1/datasets/raw.trips").json()["proposed"]
    body = api.patch("/api/v1/datasets/raw.trips", {proposed["field"]: proposed["value"]}, format="json").json()
    assert (body["primary_key"], body["proposed"]) == (["id"], [])


def test_a_wrong_correction_is_refused_with_its_place(api: APIClient) -> None:
    api.put("/api/v1/datasets/raw.trips", TRIPS, format="json")
    bodies: list[tuple[Any, str]] = [({"tier": 9}, "tier"), ({"slas": {"freshnes": "2h"}}, "slas.freshnes"), ([], "")]
    for body, where in bodies:
        answer = api.patch("/api/v1/datasets/raw.trips", body, format="json")
        assert (answer.status_code, where in answer.json()["where"]) == (400, True), body
    assert api.patch("/api/v1/datasets/raw.nothing", {"tier": 1}, format="json").status_code == 404


def test_an_owner_corrects_neither_where_the_data_lies_nor_who_may_read_it(db: None) -> None:
    row, ada = DatasetFactory.create(name="trips", owner="ada"), client("ada", Role.OWNER)
    assert ada.patch(f"/api/v1/datasets/{row}", {"description": "Rides."}, format="json").status_code == 200
    for patch in ({"readers": ["user:ada"]}, {"replicas": TRIPS["replicas"]}):
        answer = ada.patch(f"/api/v1/datasets/{row}", patch, format="json")
        assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (403, *patch)


def test_datasets_are_filtered_and_an_unknown_filter_is_an_error(api: APIClient) -> None:
    DatasetFactory.create(name="trips", tier=0)
    DatasetFactory.create(name="fares", tier=3)
    assert [row["name"] for row in api.get("/api/v1/datasets", {"tier": 0}).json()["results"]] == ["raw.trips"]
    wrong = api.get("/api/v1/datasets", {"colour": "red"})
    assert (wrong.status_code, wrong.json()["where"]) == (400, "colour")
    assert api.get("/api/v1/datasets", {"tier": "critical"}).status_code == 400
    assert api.get("/api/v1/datasets/raw.nothing").status_code == 404


def test_the_graph_of_a_dataset_counts_hops(api: APIClient) -> None:
    edge = LineageEdgeFactory.create(keys={"id": "order_id"})
    body = api.get("/api/v1/lineage", {"dataset": edge.downstream.full_name}).json()
    assert {row["name"]: row["hops"] for row in body["datasets"]} == {
        edge.upstream.full_name: -1,
        edge.downstream.full_name: 0,
    }
    assert (body["edges"][0]["one_to_one"], body["edges"][0]["keys"]) == (True, {"id": "order_id"})
    assert body["blast_radius"] is None
    reach = {"downstreams": 1, "by_tier": [0, 1], "roots": 0, "depth": 0}
    BlastRadius.objects.create(dataset=edge.upstream, **reach)
    assert api.get("/api/v1/lineage", {"dataset": edge.upstream.full_name}).json()["blast_radius"] == reach


@pytest.fixture
def edge(db: None) -> LineageEdge:
    """One that dbt tells of, and events do no longer."""
    columns = {"": ["id"], "total": ["fare", "tip"]}
    edge: LineageEdge = LineageEdgeFactory.create(
        upstream__name="trips", downstream__name="fares", keys={"id": "trip"}, columns=columns
    )
    names = {"upstream": "raw.trips", "downstream": "raw.fares"}
    keys = {f"{end}_key": name_key(name) for end, name in names.items()}
    Source.objects.create(name="dbt", kind="dbt")
    for source, missed_since in (("openlineage", NOW), ("dbt", None)):
        EdgeTelling.objects.create(source=source, **names, **keys, seen_at=NOW, missed_since=missed_since)
    return edge


SHOWN = {
    "keys": {"id": "trip"},
    "columns": {"total": ["fare", "tip"]},
    "all_columns": ["id"],
    "sources": [
        {"source": "dbt", "seen_at": "2026-03-10T12:00:00Z", "missed_since": None},
        {"source": "openlineage", "seen_at": "2026-03-10T12:00:00Z", "missed_since": "2026-03-10T12:00:00Z"},
    ],
}


def test_an_edge_says_its_columns_and_who_tells_of_it_in_the_api_and_on_the_page(
    api: APIClient, pages: Client, edge: LineageEdge
) -> None:
    (shown,) = api.get("/api/v1/lineage", {"dataset": "raw.trips"}).json()["edges"]
    assert {name: shown[name] for name in SHOWN} == SHOWN
    LineageEdgeFactory.create(downstream=edge.upstream)  # two steps from what the page shows
    page = pages.get("/datasets/raw.fares?tab=lineage")
    text = page.content.decode()
    assert [(row.upstream, row.downstream) for row in page.context["edges"]] == [("raw.trips", "raw.fares")]
    for words in ("1 column<", "<code>total</code> ← <code>fare, tip</code>", "all columns ← <code>id</code>"):
        assert words in text
    assert text.index("<li>dbt</li>") < text.index("<li>openlineage <span")


def test_columns_of_an_edge_are_not_shown_to_who_may_not_see_both_of_its_ends(edge: LineageEdge) -> None:
    Dataset.objects.filter(name="trips").update(readers="team:hr")
    hidden: dict[str, Any] = {"keys": {}, "columns": {}, "all_columns": []}
    (shown,) = client("vera", Role.VIEWER).get("/api/v1/lineage", {"dataset": "raw.fares"}).json()["edges"]
    assert {name: shown[name] for name in SHOWN} == SHOWN | hidden


def _event() -> RunEvent:
    nominal = nominal_time_run.NominalTimeRunFacet(
        nominalStartTime="2026-03-09T00:00:00Z", nominalEndTime="2026-03-10T00:00:00Z"
    )
    return RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=datetime.fromisoformat("2026-03-10T02:00:00+00:00").isoformat(),
        run=Run(runId=str(generate_new_uuid()), facets={"nominalTime": nominal}),
        job=Job(namespace="airflow", name="fares"),
        producer="https://example.com/fares",
        inputs=[InputDataset(namespace="raw", name="trips"), InputDataset(namespace="raw", name="unheard")],
        outputs=[OutputDataset(namespace="raw", name="fares")],
    )


def test_an_openlineage_event_draws_edges_and_completes_windows(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    DatasetFactory.create(name="fares")
    answer = api.post("/api/v1/lineage", Serde.to_json(_event()), content_type="application/json")
    assert (answer.status_code, answer.json()) == (201, {"edges": 1, "completions": 1, "unknown": ["raw.unheard"]})
    assert LineageEdge.objects.get().upstream.name == "trips"
    assert DataChange.objects.get().window == day("2026-03-09")


def test_what_is_no_event_is_refused(api: APIClient) -> None:
    bodies: list[Any] = [{}, [], {"run": {}, "job": 1}, {"eventTime": "soon"}]
    for body in bodies:
        answer = api.post("/api/v1/lineage", body, format="json")
        assert (answer.status_code, "OpenLineage" in answer.json()["mend"]) == (400, True)
    assert api.post("/api/v1/lineage", "{nonsense", content_type="application/json").status_code == 400


def test_openlineages_own_client_is_understood(api: APIClient, live_server: Any, user: Any) -> None:
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

    DatasetFactory.create(name="fares")
    provider = ApiKeyTokenProvider({"apiKey": AccessToken.objects.create(user)[1]})
    OpenLineageClient(transport=HttpTransport(HttpConfig(url=live_server.url, auth=provider))).emit(_event())
    assert DataChange.objects.get().pipeline == "airflow.fares"


def test_what_openlineages_client_tells_of_a_table_that_nobody_else_knows_is_a_proposal(
    live_server: Any, user: Any
) -> None:
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

    provider = ApiKeyTokenProvider({"apiKey": AccessToken.objects.create(user)[1]})
    client = OpenLineageClient(transport=HttpTransport(HttpConfig(url=live_server.url, auth=provider)))
    event = _event()
    fields = [schema_dataset.SchemaDatasetFacetFields(name="id", type="bigint")]
    owners = [ownership_dataset.Owner(name="ann", type="OWNER")]
    event.outputs = [
        OutputDataset(
            namespace="mart",
            name="fares",
            facets={
                "schema": schema_dataset.SchemaDatasetFacet(fields=fields),
                "ownership": ownership_dataset.OwnershipDatasetFacet(owners=owners),
            },
        )
    ]
    client.emit(event)
    assert not Dataset.objects.exists()
    assert {str(row) for row in Telling.objects.all()} == {
        "'openlineage' of mart.fares",
        "'openlineage' of raw.trips",
        "'openlineage' of raw.unheard",
    }
    told = fields_from_json("mart", "fares", Telling.objects.get(name="fares").fields)
    assert (told.owner, told.columns) == ("ann", (Column(name="id", type="bigint"),))


def test_names_that_differ_by_case_only_are_one_dataset(api: APIClient) -> None:
    first = api.put("/api/v1/datasets/raw.trips", TRIPS, format="json")
    again = api.put("/api/v1/datasets/RAW.Trips", {**TRIPS, "tier": 2}, format="json")
    assert [row.full_name for row in Dataset.objects.all()] == ["raw.trips"]
    assert (first.status_code, again.status_code, again.json()["name"]) == (201, 200, "raw.trips")
    assert Dataset.objects.get().tier == 2


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/datasets/RAW.trips",
        "/api/v1/lineage?dataset=Raw.Trips",
        "/api/v1/quality?dataset=RAW.TRIPS&from=2026-03-09T00:00:00Z&to=2026-03-10T00:00:00Z",
        "/datasets/RAW.TRIPS",
    ],
)
def test_a_dataset_is_found_in_whatever_case_its_name_is_written(pages: Client, path: str) -> None:
    DatasetFactory.create(name="trips", first_partition="2026-01-01")
    answer = pages.get(path)
    assert (answer.status_code, "raw.trips" in answer.content.decode()) == (200, True)


def test_a_query_answers_for_the_dataset_that_it_names_and_for_no_other(api: APIClient) -> None:
    api.put("/api/v1/datasets/raw.trips", TRIPS, format="json")
    api.put("/api/v1/datasets/RAW.TRIPS", TRIPS, format="json")
    for name in ("raw.trips", "RAW.TRIPS", "Raw.Trips"):
        body = api.post("/api/v1/quality/query", {"sql": f"select * from {name}"}, format="json").json()
        assert {row["dataset"] for row in body["tables"]} == {"raw.trips"}


def test_an_event_means_the_known_dataset_in_whatever_case_it_names_it(api: APIClient) -> None:
    DatasetFactory.create(namespace="RAW", name="Trips")
    DatasetFactory.create(name="fares")
    answer = api.post("/api/v1/lineage", Serde.to_json(_event()), content_type="application/json")
    assert (answer.json()["unknown"], LineageEdge.objects.get().upstream.full_name) == (["raw.unheard"], "RAW.Trips")


def test_a_dataset_that_a_file_tells_of_is_not_pushed_over(api: APIClient) -> None:
    DatasetFactory.create(name="trips", source="rides")
    answer = api.put("/api/v1/datasets/raw.Trips", TRIPS, format="json")
    assert (answer.status_code, "raw.trips belongs to the source 'rides'" in answer.json()["error"]) == (409, True)
    assert Dataset.objects.get().tier == DatasetFactory.tier
