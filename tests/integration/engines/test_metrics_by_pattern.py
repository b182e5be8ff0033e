"""The named patterns in Spark, over every example that is known to fit or not to fit."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.definitions.patterns import NAMED
from execution_engine.metrics.spec import MetricSpec
from tests.integration.storages import stored
from tests.unit.execution_engine.metrics.test_pattern_match import LINES


def test_spark_tells_the_examples_apart(spark_engine: SparkEngine, tmp_path: Path) -> None:
    names, signs, texts = zip(*LINES, strict=True)
    pq.write_table(pa.table({"name": names, "sign": signs, "text": texts}), tmp_path / "examples.parquet")
    expected = {(name, sign): float(sign == "+") for name in NAMED for sign in "+-"}
    wanted = [MeasurementRequest(key=f"{name}{sign}", spec=_spec(name, sign)) for name, sign in expected]
    table = stored(Table(name="raw.examples", storage="parquet", location=str(tmp_path)))
    report = spark_engine.scan(table, WHOLE, wanted)
    assert {key: report.measured["".join(key)].value for key in expected} == expected


def _spec(name: str, sign: str) -> MetricSpec:
    where = f"name = '{name}' and sign = '{sign}'"
    return MetricSpec(name="pattern_match", columns=("text",), arguments=(name,), where=where)
