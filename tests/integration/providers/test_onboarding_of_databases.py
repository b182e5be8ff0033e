"""Databases, and catalogs that name tables of databases, onboarded with no edit by hand."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from sqlalchemy import create_engine, text

from assay.models import Dataset, LineageEdge
from execution_engine.models import Run
from test_generator import tasks
from tests.integration.providers.test_onboarding import command, incidents, onboard, outcome
from tests.integration.providers.test_rest import Server, server
from tests.servers import MariaDB, PostgreSQL

__all__ = ["server"]
pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("db")]
LONG = "t" * 60
TABLES = (
    'create table "Order Items" ("order id" bigint, line int, "Unit Price" numeric(10, 2), '
    'primary key ("order id", line))',
    'create table "select" (id int primary key, "group" varchar(20), created_at timestamp)',
    'create table "Größen" ("größe" int primary key)',
    f"create table {LONG} (id int primary key)",
    "create table empty (id int primary key)",
    'create view large as select * from "Order Items" where "Unit Price" > 100',
    'insert into "Order Items" values (1, 1, 9.5), (1, 2, 120)',
    "insert into \"select\" values (1, 'a', '2026-03-09 12:00:00'), (2, 'b', '2026-03-10 12:00:00')",
    'insert into "Größen" values (1), (2)',
    f"insert into {LONG} values (1)",
)
ORIGINS = re.compile(r'<tr><th scope="row"><code>([^<]+)</code></th>.*?<td data-label="From">([^<]+)</td>', re.S)
NAMES = {"Order_Items", "select", "Größen", LONG, "empty", "large"}


@contextmanager
def database(url: str, begin: Sequence[str], end: Sequence[str]) -> Iterator[Callable[[str], Any]]:
    """Who runs statements there, after the first and before the last ones."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with closing(engine.connect()) as connection:

        def change(statement: str) -> Any:
            return connection.execute(text(statement))

        try:
            for statement in begin:
                change(statement)
            yield change
        finally:
            for statement in end:
                change(statement)
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Tables with odd names, and one that the reader may not read, by the reader's URL; and who changes them."""
    begin, end = tuple[str, ...](), tuple[str, ...]()
    match request.param:
        case "sqlite":
            url = reader = f"sqlite:///{tmp_path}/shop.db"
        case "postgresql":
            server: PostgreSQL = request.getfixturevalue("postgresql_server")
            url, reader = server.url, f"postgresql://clerk@127.0.0.1:{server.port}/lake"
            begin = (
                *("create schema shop", "set search_path to shop", "create role clerk login"),
                *("grant usage on schema shop to clerk", "create schema hidden"),
                *("create table hidden.salaries (id int)", "create table secrets (id int)"),
                "alter default privileges in schema shop grant select on tables to clerk",
            )
            end = ("drop schema shop, hidden cascade", "drop owned by clerk", "drop role clerk")
        case _:
            maria: MariaDB = request.getfixturevalue("mariadb_server")
            url, reader = maria.url, f"mysql://clerk@127.0.0.1:{maria.port}/shop"
            begin = (
                *("set sql_mode = 'ANSI_QUOTES'", "create database shop", "use shop"),
                *("create user clerk@'127.0.0.1'", "grant select, show view on shop.* to clerk@'127.0.0.1'"),
                *("create database hidden", "create table hidden.salaries (id int)"),
            )
            end = ("drop database shop", "drop database hidden", "drop user clerk@'127.0.0.1'")
    with database(url, (*begin, *TABLES), end) as change:
        yield reader, change


def origins_of(client: Client, name: str) -> dict[str, str]:
    """The source of each field by the API, which the page of the dataset names too."""
    origins = client.get(f"/api/v1/datasets/{name}").json()["origins"]
    sources = {origin["field"]: origin["source"] for origin in origins if origin["source"]}
    page = client.get(f"/datasets/{name}?tab=settings").content.decode()
    assert dict(ORIGINS.findall(page)) == sources
    return sources


def test_a_database_with_odd_names_is_tested_whole(
    shop: tuple[str, Callable[[str], Any]], admin_client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    location, change = shop
    with onboard({"kind": "sql", "location": location, "views": True}):
        assert (command("plan", "--provider", "it"), Dataset.objects.exists()) == (0, False)
        assert command("sync", "--provider", "it") == 0
        assert set(Dataset.objects.values_list("name", flat=True)) == NAMES
        assert ("secrets: the user may not read the table" in capsys.readouterr().out) == ("postgresql" in location)
        for name in NAMES:
            command("run", f"shop.{name}")
        outcomes = set(Run.objects.values_list("data_test__dataset__name", "outcome"))
        assert outcomes == {*((name, "held") for name in NAMES), ("empty", "error")}
        origins = origins_of(admin_client, "shop.Order_Items")
        assert {origins[field] for field in ("columns", "primary_key", "replicas")} == {"it"}
        assert {origins[field] for field in ("owner", "tier")} == {"default"}
        for statement, expected in (
            ('alter table "select" drop column "group"', ("broken", 1)),
            ('alter table "select" add column "group" varchar(20)', ("held", 0)),
        ):
            change(statement)
            assert (outcome("shop.select", "schema:"), incidents()) == expected
        partition = {"column": "created_at", "granularity": "day", "holds": "time"}
        address = "/api/v1/datasets/shop.select"
        assert admin_client.patch(address, {"partition": partition}, "application/json").status_code == 200
        while tasks.reconcile():
            pass
        assert command("sync", "--provider", "it") == 0
        assert outcome("shop.select", "duplicates", "--window", "2026-03-09") == "held"
        assert outcome("shop.select", "freshness", "--window", "2026-03-11") == "broken"


def test_a_view_that_can_be_read_no_more_is_named_and_stays_and_so_is_a_file_that_is_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as rows:
        rows.executescript("create table a (id int); create table b (id int); create view of_b as select * from b")
        with onboard({"kind": "sql", "location": f"sqlite:///{tmp_path}/shop.db", "views": True}):
            assert command("sync", "--provider", "it") == 0
            rows.execute("drop table b")
            assert command("sync", "--provider", "it") == 0
            (tmp_path / "shop.db").rename(tmp_path / "away.db")
            assert command("sync", "--provider", "it") == 3
    assert "left out: of shop, of_b: no such table: main.b" in capsys.readouterr().out
    assert set(Dataset.objects.filter(missing_since=None).values_list("name", flat=True)) == {"a", "of_b"}


# Catalogs that name tables of a database: documented answers of their servers, and the tables themselves.


def table_of_openmetadata(name: str, *columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A table as the server lists it, with references to what it lies in."""
    inside = {"service": "pg", "database": "pg.lake", "databaseSchema": "pg.lake.shop"}
    references = {
        key: {"id": whole, "type": key, "name": whole.rpartition(".")[2], "fullyQualifiedName": whole}
        for key, whole in inside.items()
    }
    whole = {"id": name, "name": name, "fullyQualifiedName": f"pg.lake.shop.{name}", "tableType": "Regular"}
    return {**whole, **references, "columns": list(columns), "tags": [], "deleted": False, **more}


def answers_of_openmetadata() -> dict[str, Any]:
    column = {"name": "id", "dataType": "BIGINT", "dataTypeDisplay": "bigint", "constraint": "PRIMARY_KEY", "tags": []}
    email = {"name": "email", "dataType": "TEXT", "tags": [{"tagFQN": "PII.Sensitive", "labelType": "Manual"}]}
    orders = table_of_openmetadata(
        *("orders", column, email),
        owners=[{"id": "7", "type": "team", "name": "sales"}, {"id": "8", "type": "user", "name": "ann"}],
        tags=[{"tagFQN": "Tier.Tier1", "source": "Classification"}, {"tagFQN": "Finance.Revenue"}],
    )
    sums = table_of_openmetadata("sums", column)
    nodes = [{key: orders[key] for key in ("id", "name", "fullyQualifiedName")} | {"type": "table"}]
    lineage = {"entity": sums, "nodes": nodes, "upstreamEdges": [{"fromEntity": "orders", "toEntity": "sums"}]}
    return {
        "/api/v1/tables": {"data": [orders], "paging": {"after": "b3JkZXJz", "total": 2}},
        "/api/v1/tables?after=b3JkZXJz": {"data": [sums], "paging": {"before": "b3JkZXJz", "total": 2}},
        "/api/v1/lineage/table/name/pg.lake.shop.sums": lineage,
        "/api/v1/lineage/table/name/pg.lake.shop.orders": {"entity": orders, "nodes": [], "upstreamEdges": []},
    }


def answers_of_datahub() -> dict[str, Any]:
    def entity(name: str, **aspects: Any) -> dict[str, Any]:
        values = {aspect: {"value": value} for aspect, value in aspects.items()}
        return {"urn": f"urn:li:dataset:(urn:li:dataPlatform:postgres,lake.shop.{name},PROD)", **values}

    key = {"fieldPath": "id", "nativeDataType": "BIGINT", "type": {"type": {"NumberType": {}}}, "nullable": False}
    email = {"fieldPath": "email", "nativeDataType": "TEXT", "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}
    owners = [
        {"owner": "urn:li:corpGroup:sales", "type": "DATAOWNER"},
        {"owner": "urn:li:corpuser:ann", "type": "TECHNICAL_OWNER"},
    ]
    orders = entity(
        "orders",
        schemaMetadata={"schemaName": "orders", "primaryKeys": ["id"], "fields": [key, email]},
        datasetProperties={"name": "orders", "customProperties": {"assay.tier": "1"}},
        ownership={"owners": owners},
        globalTags={"tags": [{"tag": "urn:li:tag:Finance.Revenue"}]},
    )
    sums = entity(
        "sums",
        schemaMetadata={"schemaName": "sums", "primaryKeys": ["id"], "fields": [key]},
        upstreamLineage={"upstreams": [{"dataset": orders["urn"], "type": "TRANSFORMED"}]},
    )
    place = "/openapi/v3/entity/dataset"
    return {
        f"{place}?aspects=ownership": {"scrollId": "eyJzb3J0", "entities": [orders]},
        f"{place}?aspects=ownership&scrollId=eyJzb3J0": {"entities": [sums]},
    }


@pytest.mark.parametrize(
    ("kind", "answers", "keys"),
    [
        ("openmetadata", answers_of_openmetadata, {"service": "pg", "lineage": True}),
        ("datahub", answers_of_datahub, {"platform": "postgres"}),
    ],
)
def test_a_catalog_of_tables_of_a_database(
    server: Server, postgresql_server: PostgreSQL, admin_client: Client, kind: str, answers: Any, keys: dict[str, Any]
) -> None:
    begin = (
        *("create schema shop", "create table shop.orders (id bigint, email text)"),
        *("insert into shop.orders values (1, 'a')", "create table shop.sums (id bigint)"),
        "insert into shop.sums values (1)",
    )
    server.answers = answers()
    location = f"postgresql://assay@127.0.0.1:{postgresql_server.port}/{{database}}"
    entry = {"kind": kind, "url": server.url, "token": "env:CATALOG_TOKEN", "location": location, **keys}
    with database(postgresql_server.url, begin, ["drop schema shop cascade"]) as change, onboard(entry):
        assert (command("plan", "--provider", "it"), Dataset.objects.exists()) == (0, False)
        assert (command("sync", "--provider", "it"), server.tokens) == (0, {"Bearer secret"})
        orders, edge = Dataset.objects.get(name="orders"), LineageEdge.objects.get()
        assert (orders.owner, orders.team, orders.tier, orders.tags) == ("ann", "sales", 1, "finance.revenue")
        assert (edge.upstream.name, edge.downstream.name) == ("orders", "sums")
        origins = origins_of(admin_client, "shop.orders")
        assert {origins[name] for name in ("owner", "team", "tier", "tags", "columns", "replicas")} == {"it"}
        assert origins_of(admin_client, "shop.sums")["owner"] == "default"
        for statement, expected in (
            ("select 1", "held"),
            ("insert into shop.orders values (1, 'b')", "broken"),
            ("delete from shop.orders where email = 'b'", "held"),
        ):
            change(statement)
            assert outcome("shop.orders", "duplicates") == expected
