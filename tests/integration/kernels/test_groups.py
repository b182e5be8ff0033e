"""A slice of metrics by columns: in each group, the kernels measure what Spark measures."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native import measure
from execution_engine.engines.protocol import Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupValues, too_many_groups
from tests.integration.engines.trips import metric
from tests.integration.storages import stored

from .grouped import Judged, difference, judged, scanned

SEEDS, OF_A_TABLE = (1, 2, 10, 12), 20
NAMES = ("mean", "min", "max", "sum", "stddev", "completeness", "uniqueness", "distinct_count", "entropy")


def by(spec: MetricSpec, *columns: str) -> MetricSpec:
    return replace(spec, by=columns)


@pytest.mark.timeout(900)
def test_kernels_measure_each_group_as_spark_does(spark_engine: SparkEngine) -> None:
    total = Judged()
    for seed in SEEDS:
        with TemporaryDirectory() as folder:
            total.add(judged(spark_engine, seed, Path(folder), OF_A_TABLE))
    assert total.differing == []
    assert total.kernels > total.spark
    assert total.groups > 500


def rides(folder: Path, files: int = 3, rows: int = 2000) -> Table:
    """Rides of forty cities in files of several row groups; some cities are in one file alone."""
    for at in range(files):
        number = range(at * rows, (at + 1) * rows)
        table = pa.table(
            {
                "id": pa.array(number),
                "city": pa.array([None if n % 41 == 0 else f"city {n % 37 + at}" for n in number]),
                "day": pa.array([n % 3 for n in number], pa.int32()).cast(pa.date32()),
                "fare": pa.array([None if n % 7 == 0 else (n * 37 % 1000) / 8 for n in number]),
                "price": pa.array([n % 97 for n in number], pa.int32()).cast(pa.decimal128(12, 2)),
            }
        )
        pq.write_table(table, folder / f"{at}.parquet", row_group_size=300)
    return stored(Table(name="rides", storage="parquet", location=str(folder)))


def test_all_metrics_of_the_same_groups_share_one_job_with_those_of_all_rows(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    table = rides(tmp_path)
    specs = [
        *(by(metric(name, "fare", where=where), "city", "day") for name in NAMES for where in (None, "id > 3000")),
        by(metric("correlation", "fare", "price"), "city"),
        metric("uniqueness", "id"),
    ]
    ours, theirs = (scanned(spark_engine, table, specs, native=native) for native in (True, False))
    assert (ours.read_by.kernels, ours.read_by.spark) == (len(specs), 0)
    assert is_connect(spark_engine.session) or (ours.spark_jobs == 1 and theirs.spark_jobs > 5)
    assert [
        why for spec in specs if (why := difference(ours.measured[spec.text], theirs.measured[spec.text], 1e6))
    ] == []
    state = ours.measured[specs[0].text].state
    assert state is not None
    assert len(GroupValues.from_bytes(state).groups) == 120  # of 39 cities and none, on three days


def test_states_are_the_same_bytes_where_no_floats_are_added_up(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = rides(tmp_path)
    specs = [
        by(metric(name, "price"), "city")
        for name in ("sum", "min", "max", "completeness", "uniqueness", "distinct_count")
    ]
    ours, theirs = (scanned(spark_engine, table, specs, native=native).measured for native in (True, False))
    assert all(ours[spec.text].state for spec in specs)
    assert ours == theirs


def test_groups_above_the_limit_fail_alike(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(MAX_GROUPS + 1), "n": [1] * (MAX_GROUPS + 1)}), tmp_path / "a.parquet")
    table = stored(Table(name="rides", storage="parquet", location=str(tmp_path)))
    specs = [by(metric("sum", "n"), "id"), by(metric("uniqueness", "n"), "id")]
    for native in (True, False):
        report = scanned(spark_engine, table, specs, native=native)
        assert [report.measured[spec.text].failure for spec in specs] == [too_many_groups(("id",))] * 2
        assert report.read_by.kernels == (2 if native else 0)


def test_as_many_groups_as_the_limit_allows_are_measured(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "MAX_GROUPS", 6000)
    (spec,) = specs = [by(metric("sum", "id"), "id")]
    assert scanned(spark_engine, rides(tmp_path), specs, native=True).measured[spec.text].value == 6000
    monkeypatch.setattr(measure, "MAX_GROUPS", 5999)
    assert scanned(spark_engine, rides(tmp_path), specs, native=True).measured[spec.text].failure is not None
