"""Spark's catalog and a Hive metastore as providers: what their tables say, and what is refused."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assay.catalog.profile import Column, PartitionProfile, ReplicaProfile
from assay.catalog.tellings import TableTelling, UnableToReadSource
from assay.time.windows import Granularity
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.session import use_java
from execution_engine.providers import KINDS
from execution_engine.storage import using

read = KINDS["spark"]
TRIPS = """create table told.trips (id bigint comment 'Of the trip.', fare decimal(8, 2), land string, day string)
    using parquet partitioned by (land, day) comment 'All trips.'
    tblproperties ('assay.tier' = '1', 'assay.unique' = 'id', 'assay.owner' = 'ann')"""


@pytest.fixture(scope="module")
def catalog(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A database with a table of partitions, one of dates, and a view."""
    session, folder = spark_engine.session, tmp_path_factory.mktemp("told")
    for statement in (
        f"create database told location '{folder}'",
        TRIPS,
        "alter table told.trips add partition (land = 'it', day = '20260101')",
        "alter table told.trips add partition (land = 'it', day = '20260102')",
        "create table told.rides (id bigint, day date) using parquet partitioned by (day) "
        "tblproperties ('assay.primary_key' = 'id')",
        "create view told.large as select * from told.trips where fare > 100",
    ):
        session.sql(statement)
    yield
    session.sql("drop database told cascade")


def tables(engine: SparkEngine, **keys: object) -> dict[str, TableTelling]:
    with using(engine):
        return {table.full_name: table for table in read({"names": "told.*", **keys}).tables}


@pytest.mark.usefixtures("catalog")
def test_a_table_says_its_columns_its_partition_and_its_properties(spark_engine: SparkEngine) -> None:
    trips = tables(spark_engine)["told.trips"]
    assert trips.columns == (
        Column(name="id", type="bigint"),
        Column(name="fare", type="decimal(8,2)"),
        Column(name="land", type="string"),
        Column(name="day", type="string"),
    )
    assert (trips.owner, trips.tier, trips.primary_key, trips.description) == ("ann", 1, ("id",), "All trips.")
    assert trips.partition == PartitionProfile(column="day", granularity=Granularity.DAY, key_format="%Y%m%d")
    assert trips.replicas == (ReplicaProfile(datacenter="local", storage="table", location="told.trips"),)


@pytest.mark.usefixtures("catalog")
def test_dates_are_days_and_views_are_told_where_the_entry_asks(spark_engine: SparkEngine) -> None:
    rides = tables(spark_engine)["told.rides"]
    assert rides.partition == PartitionProfile(column="day", granularity=Granularity.DAY)
    assert tables(spark_engine).keys() == {"told.trips", "told.rides"}
    assert tables(spark_engine, views=True).keys() == {"told.trips", "told.rides", "told.large"}


@pytest.mark.usefixtures("catalog")
def test_a_property_that_spark_hides_is_said(spark_engine: SparkEngine) -> None:
    assert tables(spark_engine)["told.rides"].primary_key is None
    with using(spark_engine):
        assert read({"names": "told.*"}).notes == (
            "told.rides: Spark hides assay.primary_key (spark.redaction.regex): write assay.unique",
        )


def test_a_catalog_that_spark_does_not_know_is_refused(spark_engine: SparkEngine) -> None:
    with using(spark_engine), pytest.raises(UnableToReadSource, match="Spark cannot tell of its catalog"):
        read({"catalog": "nowhere"})


WRITE = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sql("create database mart")
session.sql(
    "create table mart.fares (id bigint, fare double) partitioned by (hour string) stored as parquet "
    "tblproperties ('assay.tier' = '2')"
)
session.sql("alter table mart.fares add partition (hour = '2026-11-01-07')")
"""


@pytest.mark.whole  # two Sparks of its own
@pytest.mark.only_on_spark("local", why="it starts a Spark of its own")
def test_a_hive_metastore_is_read_by_a_spark_in_a_child(tmp_path: Path) -> None:
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"file:{tmp_path}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
    }
    use_java()
    command = [sys.executable, "-c", WRITE, json.dumps(conf)]
    subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, cwd=tmp_path, check=True, capture_output=True)
    with closing(ChildEngine(ChildOptions(spark=SparkOptions(conf=conf)))) as engine, using(engine):
        (fares,) = read({"defaults": {"time_zone": "Europe/Berlin"}}).tables
    assert (fares.full_name, fares.tier) == ("mart.fares", 2)
    assert fares.owner  # whoever made it
    assert fares.partition == PartitionProfile(column="hour", granularity=Granularity.HOUR, time_zone="Europe/Berlin")
