"""A frame that reads parquet files as they are is measured by the kernels, and any other by Spark."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.engines.spark.scan import measure
from execution_engine.engines.spark.sources import files_behind, frame_source
from tests.integration.engines.trips import metric

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPECS = (
    *(metric(name, "fare") for name in ("min", "max", "mean", "stddev", "completeness")),
    *(metric(name, "city") for name in ("uniqueness", "approx_count_distinct", "max_length")),
    metric("row_count", where="fare > 1 and city rlike '^r'"),
    metric("compliance", arguments=("at < timestamp '2026-03-01 13:00:00'",)),
)


@pytest.fixture
def session(spark_engine: SparkEngine) -> SparkSession:
    return spark_engine.session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for at, cities in enumerate((["rome", "oslo", None], ["rome", "", "riga"])):
        rows = {"city": cities, "fare": [1.5, None, 2.0 + at], "at": [NOON, None, NOON]}
        pq.write_table(pa.table(rows), tmp_path / f"{at}.parquet")
    return tmp_path


def measured(frame: DataFrame, *, native: bool) -> dict[str, Measured]:
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in SPECS]
    return dict(measure(frame_source(frame, "rides"), wanted, native=native).measured)


def test_a_frame_of_files_is_measured_as_spark_measures_it(session: SparkSession, folder: Path) -> None:
    frame = session.read.parquet(str(folder))
    assert (files_behind(frame) is None) == is_connect(session)  # which does not tell what a frame reads
    assert measured(frame, native=True) == measured(frame.where("true"), native=False)


FRAMES: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "filtered": lambda session, path: session.read.parquet(path).where("fare > 1"),
    "with fewer columns": lambda session, path: session.read.parquet(path).select("city", "fare", "at"),
    "with options": lambda session, path: session.read.option("pathGlobFilter", "0*").parquet(path),
    "from memory": lambda session, path: session.createDataFrame(
        [("rome", 1.5, NOON)], "city string, fare double, at timestamp"
    ),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_any_other_frame_is_left_to_spark(
    make: Callable[[SparkSession, str], DataFrame], session: SparkSession, folder: Path
) -> None:
    frame = make(session, str(folder))
    assert files_behind(frame) is None
    assert measured(frame, native=True) == measured(frame, native=False)


def test_a_frame_that_is_cached_is_not_read_anew(session: SparkSession, folder: Path) -> None:
    frame = session.read.parquet(str(folder)).cache()
    try:
        assert frame.count() == 6
        assert files_behind(frame) is None
    finally:
        frame.unpersist()


def test_folders_that_are_columns_are_left_to_spark(session: SparkSession, tmp_path: Path) -> None:
    for city in ("rome", "oslo"):
        (tmp_path / f"city={city}").mkdir()
        pq.write_table(pa.table({"fare": [1.5], "at": [NOON]}), tmp_path / f"city={city}" / "a.parquet")
    frame = session.read.parquet(str(tmp_path))
    assert files_behind(frame) is None
    assert measured(frame, native=True)["completeness(fare)"].value == 1.0


@pytest.fixture
def tokyo(session: SparkSession) -> SparkSession:
    """Another session of the same, whose instants are written in another zone."""
    other = session.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return other


def test_another_time_zone_is_left_to_spark(tokyo: SparkSession, folder: Path) -> None:
    frame = tokyo.read.parquet(str(folder))
    assert files_behind(frame) is None
    text = "compliance(\"at < timestamp '2026-03-01 13:00:00'\")"
    assert measured(frame, native=True)[text].value == 0.0


def test_a_schema_that_the_reader_gave_is_held_to(session: SparkSession, folder: Path) -> None:
    frame = session.read.schema("city string, fare double, at timestamp_ntz").parquet(str(folder))
    specs = [metric("completeness", "city"), metric("mean", "fare")]
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]
    found = [measure(frame_source(frame, "rides"), wanted, native=native).measured for native in (True, False)]
    assert found[0] == found[1]
