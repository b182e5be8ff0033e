"""Commits of tables of Spark's catalog, by its log, its files and its partitions."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from execution_engine.engines.protocol import CommitLog, Table
from execution_engine.engines.spark.catalog_commits import commits_of_partitions
from execution_engine.engines.spark.catalog_tables import parameters_of_partitions
from execution_engine.engines.spark.engine import SparkEngine
from tests.integration.engines.test_commits import rows

NOW = datetime.now(UTC) + timedelta(days=1)
pytestmark = pytest.mark.only_on_spark("local", why="a server does not tell where the files of its tables lie")


@pytest.fixture(scope="module")
def catalog(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    session, folder = spark_engine.session, tmp_path_factory.mktemp("pulse")
    iceberg = SqlCatalog("pulse", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    iceberg.create_namespace("pulse")
    iceberg.create_table("pulse.berg", rows(1).schema).append(rows(5))
    metadata = iceberg.load_table("pulse.berg").metadata_location
    for statement in (
        f"create database pulse location 'file:{folder}'",
        "create table pulse.trips (id bigint, day string) using parquet partitioned by (day)",
        "insert into pulse.trips values (1, '2026-11-01'), (2, '2026-11-01'), (3, '2026-11-02')",
        "create table pulse.lines (id bigint) using orc",
        "insert into pulse.lines values (1), (2)",
        f"create table pulse.berg (id bigint) using parquet tblproperties ('metadata_location' = '{metadata}')",
        "create view pulse.large as select * from pulse.trips where id > 1",
    ):
        session.sql(statement)
    yield
    session.sql("drop database pulse cascade")


def commits(engine: SparkEngine, name: str, mark: str = "") -> CommitLog:
    return engine.commits(Table(name=name, storage="table", location=f"pulse.{name}"), mark, NOW)


@pytest.mark.usefixtures("catalog")
def test_files_in_the_folders_of_the_catalog_say_when_a_table_was_written(spark_engine: SparkEngine) -> None:
    log = commits(spark_engine, "trips")
    assert [commit.rows_added for commit in log.commits] == [3]
    assert commits(spark_engine, "trips", log.mark) == CommitLog(mark=log.mark)


@pytest.mark.usefixtures("catalog")
def test_files_of_other_kinds_say_their_bytes(spark_engine: SparkEngine) -> None:
    (commit,) = commits(spark_engine, "lines").commits
    assert commit.rows_added is None
    assert commit.bytes_added


@pytest.mark.usefixtures("catalog")
def test_a_table_with_a_log_is_told_by_it_and_begins_anew_where_it_had_none(spark_engine: SparkEngine) -> None:
    log = commits(spark_engine, "berg", "files 1700000000000000000")
    assert [commit.rows_added for commit in log.commits] == [5]
    assert commits(spark_engine, "berg", log.mark) == CommitLog(mark=log.mark)


@pytest.mark.usefixtures("catalog")
def test_the_catalog_says_when_each_partition_was_added(spark_engine: SparkEngine) -> None:
    table = Table(name="trips", storage="table", location="pulse.trips")
    parameters = parameters_of_partitions(spark_engine.session, table)
    assert len(parameters) == 2
    (commit,) = commits_of_partitions(parameters, "", NOW).commits
    assert abs(commit.at - datetime.now(UTC)) < timedelta(minutes=30)


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize(("name", "fault"), [("large", "it is a view"), ("gone", "does not tell of it")])
def test_what_has_no_commits_says_why(spark_engine: SparkEngine, name: str, fault: str) -> None:
    log = commits(spark_engine, name, "7")
    assert fault in log.fault
    assert log.mark == "7"
