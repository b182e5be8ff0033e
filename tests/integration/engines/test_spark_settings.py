"""What the operator sets of Spark's own takes effect: a Hive metastore is read, and no secret shows."""

import json
import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from assay.config import config
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions, members
from execution_engine.engines.protocol import NO_FILES, MeasurementRequest, Part, SparkOptions, Table
from execution_engine.engines.spark.session import use_java
from tests.integration.engines.stored import SECRET, settings
from tests.integration.engines.trips import metric

WRITE = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sql("create database mart")
session.sql("create table mart.fares (id bigint, fare double) partitioned by (day string) stored as parquet")
session.sql("insert into mart.fares partition (day='2026-11-01') values (1, 2.5), (2, 4.5)")
"""
URL = "spark.hadoop.javax.jdo.option.ConnectionURL"


@pytest.mark.whole  # two Sparks of its own
@pytest.mark.only_on_spark("local", why="it starts a Spark of its own")
def test_a_table_of_hive_is_read_by_settings_whose_secrets_show_nowhere(tmp_path: Path) -> None:
    metastore = f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true;user=ada;password={SECRET}"
    hive = {"spark.sql.catalogImplementation": "hive", "spark.sql.warehouse.dir": f"file:{tmp_path}/warehouse"}
    use_java()
    command = [sys.executable, "-c", WRITE, json.dumps({**hive, URL: metastore})]
    subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, cwd=tmp_path, check=True, capture_output=True)
    fares = Table(name="fares", storage="table", location="mart.fares", partition_column="day")
    with (
        settings(ASSAY_SPARK_CONF=json.dumps({**hive, URL: "env:METASTORE"}), METASTORE=metastore),
        closing(ChildEngine(ChildOptions(spark=SparkOptions(conf=config().spark_settings)))) as engine,
    ):
        requests = [MeasurementRequest(key="mean", spec=metric("mean", "fare"))]
        of_day, of_none = Part(keys=("2026-11-01",)), Part(keys=("2026-11-02",))
        report = engine.scan(fares, of_day, requests)
        measured = report.measured["mean"]
        assert (measured.value, measured.failure) == (3.5, None)
        prints = engine.fingerprints(fares, [of_day, of_none])
        assert prints == (report.fingerprint, NO_FILES)
        assert engine.partitions(fares) == ("2026-11-01",)
        assert engine.pid is not None
        commands = [command_line(pid) for pid in members(engine.pid)]
    assert any("catalogImplementation=hive" in text for text in commands)
    assert [text for text in commands if SECRET in text] == []


def command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
