"""What storages tell of the commits of a table, without a look at its data."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import Engine, create_engine, text

from execution_engine.engines.files.commits import read_commits
from execution_engine.engines.protocol import CommitLog, Table
from execution_engine.engines.sql.engine import SqlEngine
from tests.servers import MariaDB, PostgreSQL

NOW = datetime.now(UTC) + timedelta(days=1)  # behind all that a test writes, however long others took before it


def rows(count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64())})


def figures(log: CommitLog) -> list[tuple[int | None, int | None]]:
    assert not log.fault
    return [(commit.rows_added, commit.rows_removed) for commit in log.commits]


def test_iceberg_tells_all_its_snapshots_and_then_those_that_are_new(tmp_path: Path) -> None:
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("raw")
    iceberg = catalog.create_table("raw.trips", rows(1).schema)
    table = Table(name="raw.trips", storage="iceberg", location=iceberg.location().removeprefix("file://"))
    for count in (5, 7):
        iceberg.append(rows(count))
    log = read_commits(table, "", NOW)
    assert figures(log) == [(5, 0), (7, 0)]
    assert log.commits[0].files_added == 1
    assert abs(log.commits[0].at - datetime.now(UTC)) < timedelta(minutes=1)
    assert read_commits(table, log.mark, NOW) == CommitLog(mark=log.mark)
    iceberg.overwrite(rows(3))
    assert sum(added or 0 for added, _ in figures(read_commits(table, log.mark, NOW))) == 3


def test_delta_tells_its_versions_without_those_that_only_write_anew(tmp_path: Path) -> None:
    table = Table(name="raw.trips", storage="delta", location=str(tmp_path))
    for count in (5, 7):
        write_deltalake(tmp_path, rows(count), mode="append")
    log = read_commits(table, "", NOW)
    assert figures(log) == [(5, 0), (7, 0)]
    DeltaTable(tmp_path).optimize.compact()
    DeltaTable(tmp_path).delete("id < 2")
    write_deltalake(tmp_path, rows(4), mode="append")
    assert figures(read_commits(table, log.mark, NOW)) == [(0, 4), (4, 0)]


def test_delta_that_was_made_anew_begins_anew(tmp_path: Path) -> None:
    table = Table(name="raw.trips", storage="delta", location=str(tmp_path))
    write_deltalake(tmp_path, rows(5))
    assert figures(read_commits(table, "41", NOW)) == [(5, 0)]


def test_a_folder_tells_what_was_written_together(tmp_path: Path) -> None:
    table = Table(name="raw.trips", storage="parquet", location=str(tmp_path))
    for name, count, minutes in (("a", 5, 60), ("b", 7, 60), ("c", 2, 30)):
        pq.write_table(rows(count), tmp_path / f"{name}.parquet")
        os.utime(tmp_path / f"{name}.parquet", ns=(0, int((NOW.timestamp() - minutes * 60) * 1e9)))
    log = read_commits(table, "", NOW)
    assert figures(log) == [(12, None), (2, None)]
    assert [commit.files_added for commit in log.commits] == [2, 1]
    assert read_commits(table, log.mark, NOW) == CommitLog(mark=log.mark)


def test_what_is_still_being_written_is_left_for_the_next_look(tmp_path: Path) -> None:
    table = Table(name="raw.trips", storage="parquet", location=str(tmp_path))
    pq.write_table(rows(5), tmp_path / "a.parquet")
    assert read_commits(table, "", datetime.now(UTC)) == CommitLog()
    assert figures(read_commits(table, "", NOW)) == [(5, None)]


@pytest.mark.parametrize(
    ("storage", "fault"),
    [
        ("iceberg", "its log, or a part of it, is not there"),
        ("parquet", "cannot be listed"),
        ("table", "only Spark's catalog knows"),
    ],
)
def test_a_storage_without_a_log_says_why(tmp_path: Path, storage: str, fault: str) -> None:
    log = read_commits(Table(name="raw.trips", storage=storage, location=str(tmp_path / "gone")), "7", NOW)
    assert fault in log.fault
    assert log.mark == "7"


def on_server(url: str, *statements: str) -> None:
    database: Engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with database.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    database.dispose()


def test_postgresql_counts_the_rows_since_the_last_look(postgresql_server: PostgreSQL) -> None:
    url = postgresql_server.url
    table = Table(name="shop.orders", storage="sql", location=url, options={"table": "vital_orders"})
    engine = SqlEngine()
    flush = "select pg_stat_force_next_flush()"
    on_server(url, "create table vital_orders (id int)", flush, "select 1")
    first = engine.commits(table, "", NOW)
    assert figures(first) == []
    on_server(
        url,
        "insert into vital_orders select * from generate_series(1, 9)",
        "delete from vital_orders where id < 3",
        flush,
        "select 1",
    )
    assert figures(engine.commits(table, first.mark, NOW)) == [(9, 2)]
    missing = engine.commits(Table(name="shop.x", storage="sql", location=url, options={"table": "x"}), "", NOW)
    assert "no rows of a table of this name" in missing.fault
    engine.close()


def test_postgresql_counts_the_rows_of_all_partitions(postgresql_server: PostgreSQL) -> None:
    url = postgresql_server.url
    table = Table(name="shop.days", storage="sql", location=url, options={"table": "vital_days"})
    engine = SqlEngine()
    create = ["create table vital_days (day int) partition by list (day)"]
    create += [f"create table vital_days_{day} partition of vital_days for values in ({day})" for day in (1, 2)]
    on_server(url, *create)
    first = engine.commits(table, "", NOW)
    flush = "select pg_stat_force_next_flush()"
    on_server(url, "insert into vital_days values (1), (1), (2)", flush, "select 1")
    assert figures(engine.commits(table, first.mark, NOW)) == [(3, 0)]
    engine.close()


def test_mariadb_says_when_a_table_was_written_last(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url
    on_server(url, "create table vital_orders (id int)", "insert into vital_orders values (1)")
    engine = SqlEngine()
    table = Table(name="shop.orders", storage="sql", location=url, options={"table": "vital_orders"})
    log = engine.commits(table, "", NOW)
    assert [abs(commit.at - datetime.now(UTC)) < timedelta(minutes=1) for commit in log.commits] == [True]
    assert engine.commits(table, log.mark, NOW) == CommitLog(mark=log.mark)
    engine.close()


def test_sqlite_says_that_it_keeps_no_times(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    on_server(url, "create table orders (id int)")
    log = SqlEngine().commits(Table(name="o", storage="sql", location=url, options={"table": "orders"}), "", NOW)
    assert "keeps no times of commits" in log.fault
