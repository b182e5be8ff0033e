"""Databases as providers, by their own catalogs: SQLite, PostgreSQL and MariaDB."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from assay.catalog.profile import Column, LineageProfile
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from execution_engine.providers import KINDS
from tests.servers import MariaDB, PostgreSQL

read = KINDS["sql"]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as rows:
        rows.executescript("""
            create table customers (id integer primary key, name text);
            create table orders (id integer primary key, customer integer references customers (id), amount real);
            create view large as select * from orders where amount > 100;
        """)
    return f"sqlite:///{tmp_path}/shop.db"


def named(told: SourceTelling, name: str) -> TableTelling:
    return next(table for table in told.tables if table.full_name == name)


def test_a_file_of_sqlite_tells_columns_and_keys(shop: str) -> None:
    told = read({"location": shop})
    assert {table.full_name for table in told.tables} == {"shop.customers", "shop.orders"}
    orders = named(told, "shop.orders")
    assert orders.columns == (
        Column(name="id", type="bigint"),
        Column(name="customer", type="bigint"),
        Column(name="amount", type="double"),
    )
    assert orders.primary_key == ("id",)
    assert [(replica.location, replica.options) for replica in orders.replicas or ()] == [(shop, {"table": "orders"})]
    assert told.lineage == ()


def test_views_and_foreign_keys_are_told_where_the_entry_asks(shop: str) -> None:
    told = read({"location": shop, "views": True, "lineage": True})
    assert named(told, "shop.large").primary_key is None
    assert told.lineage == (LineageProfile(upstream="shop.customers", downstream="shop.orders"),)


def test_postgresql_tells_all_schemas_but_its_own_and_no_parts_of_tables(postgresql_server: PostgreSQL) -> None:
    url = make_url(postgresql_server.url).set(drivername="postgresql+psycopg")
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        for statement in (
            "create schema raw",
            "create table raw.trips (day date not null, id bigint, fare numeric(8, 2), primary key (day, id)) "
            "partition by range (day)",
            "create table raw.trips_1 partition of raw.trips for values from ('2026-01-01') to ('2026-02-01')",
            "comment on table raw.trips is 'All trips.'",
        ):
            connection.execute(text(statement))
        try:
            location = str(url.set(drivername="postgresql"))
            told = read({"location": location, "schemas": ["raw"], "dataset": "{database}.{schema}.{table}"})
            every = read({"location": location})
        finally:
            connection.execute(text("drop schema raw cascade"))
    server.dispose()
    (trips,) = told.tables
    assert (trips.full_name, trips.description) == (f"{url.database}.raw.trips", "All trips.")
    assert trips.primary_key == ("day", "id")
    assert [column.type for column in trips.columns or ()] == ["DATE", "BIGINT", "NUMERIC(8, 2)"]
    assert trips.replicas is not None
    assert trips.replicas[0].options == {"table": "trips", "schema": "raw"}
    assert not any(table.namespace.startswith(("pg_", "information_schema")) for table in every.tables)


def test_mariadb_tells_the_tables_of_its_database(mariadb_server: MariaDB) -> None:
    url = make_url(mariadb_server.url)
    server = create_engine(url)
    with server.connect() as connection:
        connection.execute(text("create database of_shop"))
        connection.execute(text("create table of_shop.orders (id bigint primary key, at datetime) comment 'Orders.'"))
        try:
            (orders,) = read({"location": str(url.set(database="of_shop"))}).tables
        finally:
            connection.execute(text("drop database of_shop"))
    server.dispose()
    assert (orders.full_name, orders.primary_key, orders.description) == ("of_shop.orders", ("id",), "Orders.")
    assert orders.replicas is not None
    assert orders.replicas[0].options == {"table": "orders"}


@pytest.mark.parametrize(
    ("location", "sentence"),
    [
        ("sqlite:////none/shop.db", "there is no file /none/shop.db"),
        ("postgresql://reader@127.0.0.1:9/shop", "the database"),
        ("postgresql://reader:secret@127.0.0.1:9/shop", "holds a password"),
        ("env:ASSAY_LOCATION_NONE", "ASSAY_LOCATION_NONE is not set"),
        ("no url", "is no database URL"),
    ],
)
def test_a_database_that_does_not_answer_is_refused(location: str, sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        read({"location": location})


def test_a_database_without_tables_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").execute("vacuum").close()
    with pytest.raises(UnableToReadSource, match="it has no table"):
        read({"location": f"sqlite:///{tmp_path}/empty.db"})
