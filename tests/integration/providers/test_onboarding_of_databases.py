"""Databases, and catalogs that name tables of databases, onboarded with no edit by hand."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from sqlalchemy import create_engine, text

from assay.models import Dataset
from execution_engine.models import Run
from tests.integration.providers.test_onboarding import command, incidents, onboard, outcome
from tests.servers import MariaDB, PostgreSQL

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


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Tables with odd names, and one that the reader may not read, by the reader's URL; and who changes them."""
    rights, gone = tuple[str, ...](), tuple[str, ...]()
    match request.param:
        case "sqlite":
            url, reader = f"sqlite:///{tmp_path}/shop.db", f"sqlite:///{tmp_path}/shop.db"
        case "postgresql":
            server: PostgreSQL = request.getfixturevalue("postgresql_server")
            url, reader = server.url, f"postgresql://reader@127.0.0.1:{server.port}/lake"
            rights = (
                *("create schema shop", "set search_path to shop", "create role reader login"),
                *("grant usage on schema shop to reader", "create schema hidden"),
                *("create table hidden.salaries (id int)", "create table secrets (id int)"),
                "alter default privileges in schema shop grant select on tables to reader",
            )
            gone = ("drop schema shop, hidden cascade", "drop owned by reader", "drop role reader")
        case _:
            maria: MariaDB = request.getfixturevalue("mariadb_server")
            url, reader = maria.url, f"mysql://reader@127.0.0.1:{maria.port}/shop"
            rights = (
                *("set sql_mode = 'ANSI_QUOTES'", "create database shop", "use shop"),
                *("create user reader@'127.0.0.1'", "grant select, show view on shop.* to reader@'127.0.0.1'"),
                *("create database hidden", "create table hidden.salaries (id int)"),
            )
            gone = ("drop database shop", "drop database hidden", "drop user reader@'127.0.0.1'")
    database = create_engine(url, isolation_level="AUTOCOMMIT")
    with closing(database.connect()) as connection:

        def change(statement: str) -> Any:
            return connection.execute(text(statement))

        try:
            for statement in (*rights, *TABLES):
                change(statement)
            yield reader, change
        finally:
            for statement in gone:
                change(statement)
    database.dispose()


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


def test_a_view_that_can_be_read_no_more_is_named_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as rows:
        rows.executescript("create table a (id int); create table b (id int); create view of_b as select * from b")
        with onboard({"kind": "sql", "location": f"sqlite:///{tmp_path}/shop.db", "views": True}):
            assert command("sync", "--provider", "it") == 0
            rows.execute("drop table b")
            assert command("sync", "--provider", "it") == 0
    assert "left out: of shop, of_b: no such table: main.b" in capsys.readouterr().out
    assert set(Dataset.objects.filter(missing_since=None).values_list("name", flat=True)) == {"a", "of_b"}
