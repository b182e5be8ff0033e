"""Spark asks before each query: a real session, classic and Connect, beside a real server."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from assay.models import Dataset
from assay_client import AssayClient, AssayError, Unavailable
from assay_client.queries import AssayWarning, DataIsBad
from assay_client.spark import watch, watched
from execution_engine.engines.spark.engine import SparkEngine
from incident_manager.models import LookUp

BAD = "select count(*) from raw.trips where datestr = '2026-03-09'"
GOOD = "select count(*) from raw.trips where datestr = '2026-03-08'"


@pytest.fixture
def spark(spark_engine: SparkEngine) -> Iterator[Any]:
    """A session that has a table of the catalog's name."""
    session: Any = spark_engine.session
    session.sql("create schema if not exists raw")
    frame = session.createDataFrame([(1, "2026-03-08"), (2, "2026-03-09")], "id int, datestr string")
    frame.write.mode("overwrite").saveAsTable("raw.trips")
    yield session
    session.sql("drop schema raw cascade")


@pytest.fixture
def away() -> AssayClient:
    return AssayClient("http://127.0.0.1:9", "x", retries=0)


def rows(spark: Any, sql: str) -> int:
    return int(spark.sql(sql).collect()[0][0])


def test_a_query_of_bad_data_warns_and_runs(spark: Any, client: AssayClient, trips: Dataset) -> None:
    with watch(spark, client):
        with pytest.warns(AssayWarning, match=r"raw\.trips is bad: .*incident"):
            assert rows(spark, BAD) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert rows(spark, GOOD) == 1
            spark.range(3).createOrReplaceTempView("mine")
            assert rows(spark, "select count(*) from mine") == 3
            spark.sql("set spark.sql.shuffle.partitions")


def test_a_query_of_bad_data_does_not_run_where_bad_raises(spark: Any, client: AssayClient, trips: Dataset) -> None:
    with watch(spark, client, on_bad="raise"):
        with pytest.raises(DataIsBad, match=r"raw\.trips is bad"):
            spark.sql("create table raw.copy as " + BAD)
        assert rows(spark, GOOD) == 1
    assert not spark.catalog.tableExists("raw.copy")


def test_a_watch_is_undone_by_hand_by_a_block_and_after_a_call(spark: Any, client: AssayClient, trips: Dataset) -> None:
    def asked(sql: str) -> int:
        before = LookUp.objects.count()
        rows(spark, sql)
        return LookUp.objects.count() - before

    watching = watch(spark, client)
    assert asked(GOOD) == 1
    watching.undo()
    watching.undo()
    assert asked(GOOD) == 0

    @watched(spark, client)
    def job() -> int:
        return asked(GOOD)

    assert (job(), job(), asked(GOOD)) == (1, 1, 0)
    with watch(spark, client), watch(spark, client):
        assert asked(GOOD) == 2
    assert "sql" not in vars(spark)


def test_that_assay_is_away_breaks_no_query_unless_it_must(spark: Any, away: AssayClient) -> None:
    with watch(spark, away, on_bad="raise"), pytest.warns(AssayWarning, match="gives no answer"):
        assert rows(spark, BAD) == 1
    with watch(spark, away, fail_closed=True):
        with pytest.raises(Unavailable):
            spark.sql(BAD)
        spark.sql("show schemas")


def test_what_assay_cannot_read_runs_unless_it_fails_closed(spark: Any, client: AssayClient) -> None:
    sql = "select transform(id) using 'cat' from raw.trips (("
    with watch(spark, client, fail_closed=True), pytest.raises(AssayError):
        spark.sql(sql)
    with pytest.raises(ValueError, match="on_bad"):
        watch(spark, client, on_bad="explode")  # type: ignore[arg-type]


def test_sessions_of_connect_are_watched_alike(live_server: LiveServer, token: str, trips: Dataset) -> None:
    script = Path(__file__).with_name("connect_session.py")
    root = script.parents[3]
    paths = [str(root / "deploy" / "client"), str(root / "platform"), str(root)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ASSAY_URL": live_server.url}
    environment |= {"ASSAY_TOKEN": token, "SPARK_TESTING": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["pyspark.sql.connect.session", "warned 1", "raised", "undone 1"], done.stderr
