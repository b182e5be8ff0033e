"""Catalogs of other systems, onboarded with no edit by hand: tests are written and run, and catch what breaks."""

import json
import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from django.contrib.auth.models import User
from django.core.management import call_command
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, RunEvent, RunState
from openlineage.client.event_v2 import Run as JobRun
from openlineage.client.facet_v2 import ownership_dataset
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport
from openlineage.client.uuid import generate_new_uuid
from pyarrow.parquet import write_table
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from assay.access import Role
from assay.models import AccessToken, Dataset, LineageEdge, Member
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.integration.engines.stored import settings
from tests.integration.providers.test_rest import Server, server
from tests.unit.assay.providers.test_elasticsearch import COMPONENTS, TEMPLATES

__all__ = ["server"]
pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("db")]
DEFAULTS = {"owner": "data-team", "tier": 0}
TABLES = 1000


@pytest.fixture(autouse=True)
def engine(spark_engine: SparkEngine) -> Iterator[None]:
    with storage.using(spark_engine):
        yield


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        call_command(*words)
    return int(ended.value.code or 0)


def outcome(name: str, test: str, *words: str) -> str:
    """What a run of a table's tests now says by the test whose name begins so."""
    command("run", name, *words)
    runs = Run.objects.filter(data_test__dataset__full_name=name, data_test__name__startswith=test)
    return str(runs.filter(evaluated_at__isnull=False).latest("pk").outcome)


def onboard(entry: dict[str, Any], **more: str) -> Any:
    """The settings of one provider, which is read by command."""
    return settings(ASSAY_PROVIDERS=json.dumps([{"name": "it", "defaults": DEFAULTS, **entry}]), **more)


def incidents() -> int:
    """How many incidents are open."""
    return Incident.objects.filter(resolved_at__isnull=True).count()


def test_a_catalog_of_iceberg_with_a_thousand_tables(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = SqlCatalog("prod", uri=uri, warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("raw")
    schema = Schema(NestedField(1, "id", LongType(), required=True), identifier_field_ids=[1])
    rows = pa.table({"id": [1, 2, 3]}, schema=pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    table, model = (catalog.create_table(f"raw.{name}", schema) for name in ("orders", "t"))
    table.append(rows)
    model.append(rows)
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        database.executemany(
            "insert into iceberg_tables select catalog_name, table_namespace, ?, metadata_location, "
            "previous_metadata_location, iceberg_type from iceberg_tables where table_name = 't'",
            [(f"t{number}",) for number in range(TABLES - 2)],
        )
    lake = {"name": "lake", "type": "sql", "uri": uri, "catalog": "prod"}
    with onboard({"kind": "iceberg", "catalog": "lake"}, ASSAY_CATALOGS=json.dumps([lake])):
        assert command("sync", "--provider", "it") == 0
        assert Dataset.objects.count() == TABLES
        assert outcome("raw.orders", "duplicates") == "held"
        table.append(rows)
        assert (outcome("raw.orders", "duplicates"), incidents()) == ("broken", 1)
        table.overwrite(rows)
        assert (outcome("raw.orders", "duplicates"), incidents()) == ("held", 0)


def test_a_catalog_of_spark_as_hive_keeps_one(spark_engine: SparkEngine, tmp_path: Path) -> None:
    sql = spark_engine.session.sql
    sql(f"create database hive1 location '{tmp_path}'")
    sql(
        "create table hive1.orders (id bigint, day string) using parquet partitioned by (day) "
        "tblproperties ('assay.unique' = 'id', 'assay.owner' = 'ann')"
    )
    load = "insert {} table hive1.orders partition (day = '2026-01-01') select id from range(5)"
    try:
        sql(load.format("overwrite"))  # the partition is known by the keys that are there
        with onboard({"kind": "spark", "names": "hive1.*"}):
            assert command("sync", "--provider", "it") == 0
            (dataset,) = Dataset.objects.all()
            assert (dataset.owner, dataset.partition_column) == ("ann", "day")
            for how, expected in (("overwrite", "held"), ("into", "broken"), ("overwrite", "held")):
                sql(load.format(how))
                assert outcome("hive1.orders", "duplicates", "--window", "2026-01-01") == expected
    finally:
        sql("drop database hive1 cascade")


def test_tables_of_delta_that_unity_catalog_names_as_its_api_answers_them(server: Server, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "day": pa.array([date(2026, 3, 9)] * 2)})
    write_deltalake(str(tmp_path / "trips"), rows, partition_by="day")
    columns = [
        {"name": "id", "type_text": "bigint", "type_name": "LONG", "position": 0, "nullable": False},
        {"name": "day", "type_text": "date", "type_name": "DATE", "position": 1, "partition_index": 0},
    ]
    common = {"catalog_name": "prod", "schema_name": "raw", "table_type": "EXTERNAL", "data_source_format": "DELTA"}
    trips = {
        **{**common, "name": "trips", "columns": columns, "owner": "ann", "table_id": "11b8ed8d"},
        "storage_location": f"file://{tmp_path}/trips",
        "properties": {"assay.primary_key": "id", "assay.tier": "0"},
    }
    api = "/api/2.1/unity-catalog"
    server.answers = {
        f"{api}/catalogs": {"catalogs": [{"name": "prod"}, {"name": "system"}], "next_page_token": None},
        f"{api}/schemas?catalog_name=prod": {"schemas": [{"name": "raw"}, {"name": "information_schema"}]},
        f"{api}/schemas?catalog_name=system": {},
        f"{api}/tables?schema_name=raw": {"tables": [], "next_page_token": "a"},
        f"{api}/tables?schema_name=raw&page_token=a": {"tables": [trips], "next_page_token": "trips"},
        f"{api}/tables?schema_name=raw&page_token=trips": {"tables": [{**common, "name": "nowhere"}]},
    }
    with onboard({"kind": "unity", "url": server.url, "token": "env:CATALOG_TOKEN"}):
        assert command("sync", "--provider", "it") == 0
        (dataset,) = Dataset.objects.all()
        assert {dataset.origins[name][0] for name in ("owner", "tier", "columns", "primary_key", "replicas")} == {"it"}
        for table, expected in ((rows, "held"), (pa.concat_tables([rows, rows]), "broken"), (rows, "held")):
            write_deltalake(str(tmp_path / "trips"), table, mode="overwrite")
            assert outcome("raw.trips", "duplicates", "--window", "2026-03-09") == expected


def test_index_templates_of_elasticsearch_as_its_api_answers_them(server: Server, tmp_path: Path) -> None:
    server.answers |= {"/_index_template": TEMPLATES, "/_component_template": COMPONENTS}
    entry = {"kind": "elasticsearch", "url": server.url, "location": f"{tmp_path}/{{table}}", "names": "*.trips"}
    columns = {"id": [1, 2], "fare": [1.0, 2.0], "city": ["rome", "oslo"], "place": [{"lat": 1.0, "lon": 2.0}] * 2}
    at = pa.array([0, 1], pa.timestamp("us"))
    rows = pa.table({"id": columns["id"], "fare": columns["fare"], "at": at, **columns})
    (tmp_path / "trips").mkdir()
    part = tmp_path / "trips" / "part-0.parquet"
    write_table(rows, part)
    with onboard(entry):
        assert command("sync", "--provider", "it") == 0
        (dataset,) = Dataset.objects.all()
        assert (dataset.owner, dataset.tier, dataset.origins["tier"][0]) == ("ann", 1, "it")
        assert outcome("elasticsearch.trips", "schema") == "held"
        write_table(rows.drop_columns("fare"), part)
        assert outcome("elasticsearch.trips", "schema") == "broken"
        write_table(rows, part)
        assert outcome("elasticsearch.trips", "schema") == "held"


def test_a_folder_of_delta_whose_owner_and_lineage_openlineages_own_client_tells(
    live_server: Any, tmp_path: Path
) -> None:
    user = User.objects.create_user("grace", password="hopper")
    Member.objects.create(user=user, role=Role.ADMIN)
    auth = ApiKeyTokenProvider({"apiKey": AccessToken.objects.create(user)[1]})
    owners = ownership_dataset.OwnershipDatasetFacet(owners=[ownership_dataset.Owner(name="ann", type="OWNER")])
    OpenLineageClient(transport=HttpTransport(HttpConfig(url=live_server.url, auth=auth))).emit(
        RunEvent(
            eventType=RunState.COMPLETE,
            eventTime="2026-03-10T02:00:00+00:00",
            run=JobRun(runId=str(generate_new_uuid())),
            job=Job(namespace="airflow", name="sums"),
            producer="https://example.com/sums",
            inputs=[InputDataset(namespace="shop", name="orders", facets={"ownership": owners})],
            outputs=[OutputDataset(namespace="shop", name="sums", facets={"ownership": owners})],
        )
    )
    rows = pa.table({"id": [1, 2], "amount": [1.0, 2.0]})
    for name in ("orders", "sums"):
        write_deltalake(str(tmp_path / "shop" / name), rows)
    with onboard({"kind": "delta", "folder": str(tmp_path), "defaults": {"tier": 0}}):
        assert command("sync", "--provider", "it") == 0
        dataset, edge = Dataset.objects.get(name="orders"), LineageEdge.objects.get()
        assert (dataset.owner, dataset.origins["owner"][0], edge.downstream.name) == ("ann", "openlineage", "sums")
        for table, expected in ((rows, "held"), (rows.drop_columns("amount"), "broken"), (rows, "held")):
            write_deltalake(str(tmp_path / "shop" / "orders"), table, mode="overwrite", schema_mode="overwrite")
            assert outcome("shop.orders", "schema", "--data-test", "schema:whole") == expected
