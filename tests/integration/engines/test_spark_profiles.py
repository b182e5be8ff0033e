"""``profile()`` of rows of many types: by Spark's tasks and by Arrow alone it is the same, and what pandas counts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Part, Table, Unit
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.measures import profile as profiles
from execution_engine.engines.spark.measures.profile import SAMPLED_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind
from execution_engine.profiles.stored import from_bytes
from tests.integration.engines.many_types import SCHEMA, random_rows
from tests.integration.storages import stored

ROWS = random_rows(3000)
FRAME = pd.DataFrame(ROWS)
START = 1_709_121_600  # of 28 February 2024


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder: Path = tmp_path_factory.mktemp("many")
    for part in range(3):
        rows = pa.Table.from_pylist(ROWS[part * 1000 : (part + 1) * 1000], schema=SCHEMA)
        pq.write_table(rows, folder / f"{part}.parquet")
    return stored(Table(name="raw.many", storage="parquet", location=str(folder)))


def measured(engine: SparkEngine, table: Table, spec: MetricSpec) -> tuple[Measured, int]:
    """What was measured, and in how many Spark jobs."""
    report = engine.scan(table, WHOLE, [MeasurementRequest(key="profile", spec=spec)])
    return report.measured["profile"], report.spark_jobs


def profile(engine: SparkEngine, table: Table, **more: object) -> TableProfile:
    spec = MetricSpec(name="profile", options=(("start", START),), **more)  # type: ignore[arg-type]
    found, _ = measured(engine, table, spec)
    assert found.failure is None, found.failure
    assert found.state is not None
    return from_bytes(found.state)


def told(column: ColumnProfile) -> dict[str, object]:
    """What must be alike, however the parts of a column were merged."""
    numbers, texts = column.numbers, column.texts
    return {
        "kind": column.kind,
        "nulls": column.nulls,
        "values": dict(zip(column.values.keys.tolist(), column.values.counts.tolist(), strict=True)),
        "distinct": column.distinct,
        "numbers": numbers and str((numbers.finite, numbers.low, numbers.high, numbers.nans, numbers.zeros)),
        "moments": numbers and (f"{numbers.mean:.9g}", f"{numbers.deviation:.9g}"),
        "quantiles": numbers and numbers.points.quantiles(np.array([0.1, 0.5, 0.9])).astype(str).tolist(),
        "shapes": texts and dict(zip(texts.shapes.keys.tolist(), texts.shapes.counts.tolist(), strict=True)),
        "pairs": texts and texts.pairs.tolist(),
    }


def test_spark_and_arrow_profile_alike(spark_engine: SparkEngine, table: Table) -> None:
    by_arrow, by_spark = profile(spark_engine, table), profile(spark_engine, table, where="id >= 0")
    assert list(by_arrow.columns) == list(by_spark.columns) == SCHEMA.names
    assert {name: told(column) for name, column in by_spark.columns.items()} == {
        name: told(column) for name, column in by_arrow.columns.items()
    }
    assert by_spark.sample.keys.tolist() == by_arrow.sample.keys.tolist()


def test_a_profile_has_what_pandas_counts(spark_engine: SparkEngine, table: Table) -> None:
    found = profile(spark_engine, table, where="id >= 0")
    for name, column in found.columns.items():
        assert (column.rows, column.nulls) == (3000, int(FRAME[name].isna().sum() - _nans(name)))
    for name in ("key", "name", "flag", "day", "price"):
        assert found.columns[name].distinct == FRAME[name].nunique()
    numbers = found.columns["x"].numbers
    assert numbers is not None
    assert numbers.mean == pytest.approx(FRAME["x"].mean())
    assert numbers.deviation == pytest.approx(FRAME["x"].std(ddof=0))
    assert [found.columns[name].kind for name in ("address", "tags")] == [ValueKind.NESTED] * 2


def test_small_files_need_no_job_and_others_one(spark_engine: SparkEngine, table: Table) -> None:
    spec = MetricSpec(name="profile")
    assert measured(spark_engine, table, spec)[1] == 0
    _, jobs = measured(spark_engine, table, MetricSpec(name="profile", where="id >= 0"))
    assert jobs in (0, 1)  # Connect does not tell


def test_a_profile_is_of_the_columns_that_are_asked_for(spark_engine: SparkEngine, table: Table) -> None:
    named = profile(spark_engine, table, columns=("x", "address.city"))
    assert list(named.columns) == ["x", "address.city"]
    assert told(named.columns["x"]) == told(profile(spark_engine, table).columns["x"])
    spec = MetricSpec(name="profile", options=(("without", "X, `name`"),))
    for item in (spec, MetricSpec(name="profile", options=spec.options, where="id >= 0")):
        found, _ = measured(spark_engine, table, item)
        assert found.state is not None
        assert {"x", "name"}.isdisjoint(from_bytes(found.state).columns)


def test_profiles_and_other_metrics_come_of_the_same_files(spark_engine: SparkEngine, table: Table) -> None:
    wanted = (
        MeasurementRequest(key="profile", spec=MetricSpec(name="profile")),
        MeasurementRequest(key="rows", spec=MetricSpec(name="row_count")),
        MeasurementRequest(key="mean", spec=MetricSpec(name="mean", columns=("x",))),
    )
    first, second = spark_engine.scan_all([Unit(table=table, part=WHOLE, requests=wanted)] * 2)
    for report in (first, second):
        assert report.fingerprint == spark_engine.fingerprint(table, WHOLE)
        assert [report.measured[name].value for name in ("profile", "rows")] == [3000, 3000]
        assert report.measured["mean"].value == pytest.approx(FRAME["x"].mean())


def test_of_a_large_table_a_sample_is_profiled_that_is_the_same_each_time(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    rows = 1_500_000
    turns = np.arange(rows) % 24
    late = np.where(np.arange(rows) < 0.1 * rows, -1, turns)  # rows in order
    for part in range(2):
        half = slice(part * rows // 2, (part + 1) * rows // 2)
        columns = {"hour": turns[half], "late": late[half], "id": np.arange(rows)[half]}
        pq.write_table(pa.table(columns), tmp_path / f"{part}.parquet")
    table = stored(Table(name="raw.large", storage="parquet", location=str(tmp_path)))
    found, jobs = measured(spark_engine, table, MetricSpec(name="profile"))
    assert (found.failure, found.value) == (None, rows)
    assert jobs in (0, 1)  # Connect does not tell
    assert found.state is not None
    sample = from_bytes(found.state)
    assert (sample.drawn_from, sample.all_rows) == (rows, rows)
    assert sample.rows == pytest.approx(SAMPLED_ROWS, abs=5 * (SAMPLED_ROWS * (1 - SAMPLED_ROWS / rows)) ** 0.5)
    deviation = (sample.rows * 1 / 24 * 23 / 24) ** 0.5
    hours = sample.columns["hour"].values
    assert len(hours.keys) == 24
    assert hours.counts == pytest.approx(np.full(24, sample.rows / 24), abs=5 * deviation)
    assert sample.columns["late"].values.most == pytest.approx(0.1 * sample.rows, abs=5 * (0.09 * sample.rows) ** 0.5)
    assert sample.columns["id"].distinct == sample.rows
    again, _ = measured(spark_engine, table, MetricSpec(name="profile"))
    assert again.state == found.state


def test_no_rows_have_a_profile_too_and_no_files_are_no_rows(spark_engine: SparkEngine, tmp_path: Path) -> None:
    day = tmp_path / "day=2026-01-01"
    day.mkdir()
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), day / "none.parquet")
    table = stored(Table(name="raw.none", storage="parquet", location=str(tmp_path), partition_column="day"))
    for key in ("2026-01-01", "2026-01-02"):
        report = spark_engine.scan(
            table, Part(keys=(key,)), [MeasurementRequest(key="p", spec=MetricSpec(name="profile"))]
        )
        assert (report.measured["p"].value, report.measured["p"].failure) == (0.0, None)


def test_a_file_that_is_cut_off_is_told_by_its_name(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(10_000)}), tmp_path / "rows.parquet")
    (tmp_path / "rows.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:2000])
    table = stored(Table(name="raw.cut", storage="parquet", location=str(tmp_path)))
    found, _ = measured(spark_engine, table, MetricSpec(name="profile"))
    assert found.failure is not None
    assert found.failure.reason is Reason.UNREADABLE
    assert "rows.parquet" in found.failure.detail


ELSEWHERE = """
import pickle, sys

class Blocked:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("execution_engine", "assay", "sqlglot", "datasketches", "pandas"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
import pyarrow as pa
task = pickle.load(open(sys.argv[1], "rb"))
(batch,) = task(iter([pa.RecordBatch.from_pydict({"c0": ["rome", None], "c1": [1.5, 2.0]})]))
sys.stdout.buffer.write(batch.column(0)[0].as_py())
"""


def test_a_task_needs_nothing_but_numpy_pyarrow_and_xxhash_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "task").write_bytes(cloudpickle.dumps(profiles._task(["city", "fare"], START)))
    command = [sys.executable, "-I", "-c", ELSEWHERE, str(tmp_path / "task")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = from_bytes(done.stdout)
    assert (found.rows, found.columns["city"].nulls) == (2, 1)


def _nans(name: str) -> int:
    """Of values that are NaN, which pandas takes for missing."""
    return sum(isinstance(row[name], float) and np.isnan(row[name]) for row in ROWS)
