"""Growing tables measured by their parts, over real files: what is read, and what comes out."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.engine.state_folder import StateFolder
from execution_engine.engines.files.listing import read_fingerprints_by_key
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Part, ScanReport, Table, Unit
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.exact import Number
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states import states
from execution_engine.parts.incremental import scan_merged
from tests.integration.engines.reads import read_so_far
from tests.integration.engines.trips import metric, parquet, write

DAYS = ("2013-01-01", "2013-01-02", "2013-01-03")
EXACT = (
    metric("row_count"),
    metric("completeness", "city"),
    metric("compliance", arguments=("fare > 10",)),
    metric("min", "fare"),
    metric("max", "fare"),
    metric("mean", "fare", where="city = 'rome'"),
    metric("sum", "fare"),
    metric("stddev", "fare"),
    metric("correlation", "fare", "riders"),
    metric("distinct_count", "city"),
    metric("count_distinct", "trip_id"),
    metric("uniqueness", "trip_id"),
    metric("distinctness", "city", "riders"),
    metric("unique_value_ratio", "riders"),
    metric("entropy", "city"),
    metric("most_frequent_share", "city"),
    metric("mutual_information", "city", "riders"),
)


class Watched:
    """An engine that remembers which partitions it read."""

    def __init__(self, engine: SparkEngine) -> None:
        self.engine = engine
        self.read: list[str] = []

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        self.read += [key for unit in units for key in unit.part.keys or ()]
        return self.engine.scan_all(units)


def rows(seed: int, size: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    fare, city = rng.normal(12, 4, size), np.array(["rome", "oslo", "lima"])[rng.integers(0, 3, size)]
    return pa.table(
        {
            "trip_id": rng.integers(0, 900, size),
            "city": pa.array(city, mask=rng.random(size) < 0.1),
            "fare": pa.array(fare, mask=rng.random(size) < 0.2),
            "riders": pa.array(rng.integers(1, 6, size), mask=rng.random(size) < 0.1),
        }
    )


@pytest.fixture
def trips(tmp_path: Path) -> Table:
    for at, day in enumerate(DAYS):
        write(tmp_path / "trips" / f"datestr={day}", rows(at))
    return parquet(tmp_path / "trips")


def merged(engine: Watched, table: Table, folder: Path, specs: Sequence[MetricSpec] = EXACT) -> dict[str, Measured]:
    prints = read_fingerprints_by_key(table, WHOLE)
    assert prints is not None
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]
    return dict(scan_merged(engine, table, prints, wanted, StateFolder(folder=folder)).measured)  # type: ignore[arg-type]


def scanned(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec] = EXACT) -> dict[str, Number]:
    report = engine.scan(table, WHOLE, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs])
    return {key: found.value for key, found in report.measured.items() if found.value is not None}


def values(measured: dict[str, Measured]) -> dict[str, Number]:
    return {key: found.value for key, found in measured.items() if found.value is not None}


def test_the_whole_table_is_the_merge_of_its_partitions(
    spark_engine: SparkEngine, trips: Table, tmp_path: Path
) -> None:
    found = values(merged(Watched(spark_engine), trips, tmp_path / "states"))
    assert len(found) == len(EXACT)
    assert found == pytest.approx(scanned(spark_engine, trips))


def test_a_new_partition_is_all_that_is_read(spark_engine: SparkEngine, trips: Table, tmp_path: Path) -> None:
    merged(Watched(spark_engine), trips, tmp_path / "states")
    write(Path(trips.location) / "datestr=2013-01-04", rows(7))
    engine = Watched(spark_engine)
    found = values(merged(engine, trips, tmp_path / "states"))
    assert engine.read == ["2013-01-04"]
    assert found == pytest.approx(scanned(spark_engine, trips))


@pytest.mark.parametrize("native", [True, False], ids=["by kernels", "by Spark"])
def test_no_byte_of_the_history_is_read_for_a_new_partition(
    spark_engine: SparkEngine, trips: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    monkeypatch.setattr(spark_engine, "_options", replace(spark_engine._options, native=native))
    merged(Watched(spark_engine), trips, tmp_path / "states")
    for path in Path(trips.location).rglob("*.parquet"):
        make_unreadable(path)
    new = write(Path(trips.location) / "datestr=2013-01-04", rows(7))
    before = None if is_connect(spark_engine.session) else read_so_far(spark_engine.session)
    found = merged(Watched(spark_engine), trips, tmp_path / "states")
    assert not [each.failure for each in found.values() if each.failure]
    if before is not None:
        after = read_so_far(spark_engine.session)
        least = 0 if native else 1  # kernels read for themselves
        assert 400 * least <= after.rows - before.rows <= 800  # one pass for aggregates, one for keys
        assert least <= after.bytes - before.bytes <= 2 * new.stat().st_size


def make_unreadable(path: Path) -> None:
    """Other bytes of the same length and time, so that the fingerprint stays."""
    told = path.stat()
    path.write_bytes(bytes(told.st_size))
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))


def test_keys_come_to_a_union_only_when_they_are_many(spark_engine: SparkEngine, tmp_path: Path) -> None:
    trips = parquet(tmp_path / "trips")
    for at, day in enumerate(DAYS):
        write(Path(trips.location) / f"datestr={day}", distinct_trips(range(at * 3_000, at * 3_000 + 3_000)))
    specs = [metric("uniqueness", "trip_id"), metric("distinctness", "trip_id"), metric("count_distinct", "trip_id")]
    merged(Watched(spark_engine), trips, tmp_path / "states", specs)
    unions = {path: path.stat().st_size for path in tmp_path.rglob("unions/*")}
    assert 8 * 9_000 < sum(unions.values()) < 8.5 * 9_000  # one for all three
    write(Path(trips.location) / "datestr=2013-01-05", distinct_trips(range(8_900, 9_500)))
    found = values(merged(Watched(spark_engine), trips, tmp_path / "states", specs))
    assert set(tmp_path.rglob("unions/*")) == set(unions)
    assert found == pytest.approx(scanned(spark_engine, trips, specs))
    write(Path(trips.location) / "datestr=2013-01-06", distinct_trips(range(9_500, 11_000)))
    again = values(merged(Watched(spark_engine), trips, tmp_path / "states", specs))
    assert set(tmp_path.rglob("unions/*")) > set(unions)
    assert again == pytest.approx(scanned(spark_engine, trips, specs))


def distinct_trips(keys: range) -> pa.Table:
    return pa.table({"trip_id": np.array(keys), "city": ["rome"] * len(keys)})


def test_a_partition_without_values_does_not_spoil_the_whole(
    spark_engine: SparkEngine, trips: Table, tmp_path: Path
) -> None:
    nothing = pa.nulls(3, pa.float64())
    write(Path(trips.location) / "datestr=2013-01-04", rows(7, 3).set_column(2, "fare", nothing))
    specs = [metric(name, "fare") for name in ("mean", "min", "stddev", "approx_count_distinct", "entropy")]
    found = values(merged(Watched(spark_engine), trips, tmp_path / "states", specs))
    assert len(found) == len(specs)
    assert found == pytest.approx(scanned(spark_engine, trips, specs), rel=0.05)  # one of them is a sketch


def test_nothing_is_read_twice(spark_engine: SparkEngine, trips: Table, tmp_path: Path) -> None:
    first = values(merged(Watched(spark_engine), trips, tmp_path / "states"))
    engine = Watched(spark_engine)
    assert values(merged(engine, trips, tmp_path / "states")) == first
    assert engine.read == []


def test_a_rewritten_partition_costs_that_partition(spark_engine: SparkEngine, trips: Table, tmp_path: Path) -> None:
    merged(Watched(spark_engine), trips, tmp_path / "states")
    write(Path(trips.location) / f"datestr={DAYS[0]}", rows(8, 500))
    engine = Watched(spark_engine)
    found = values(merged(engine, trips, tmp_path / "states"))
    assert engine.read == [DAYS[0]]
    assert found == pytest.approx(scanned(spark_engine, trips))


def test_states_of_an_older_version_and_damaged_ones_are_measured_again(
    spark_engine: SparkEngine, trips: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(states, "VERSION", states.VERSION - 1)
        merged(Watched(spark_engine), trips, tmp_path / "states")
    engine = Watched(spark_engine)
    found = values(merged(engine, trips, tmp_path / "states"))
    assert engine.read == list(DAYS)
    assert found == pytest.approx(scanned(spark_engine, trips))
    for path in (tmp_path / "states").rglob("*.states"):
        path.write_bytes(b"?" + path.read_bytes()[1:])  # of the first state in it
    again = Watched(spark_engine)
    assert (values(merged(again, trips, tmp_path / "states")), again.read) == (found, list(DAYS))


def test_any_window_is_a_merge(spark_engine: SparkEngine, trips: Table, tmp_path: Path) -> None:
    merged(Watched(spark_engine), trips, tmp_path / "states")
    prints = read_fingerprints_by_key(trips, Part(keys=DAYS[1:]))
    assert prints is not None
    engine, wanted = Watched(spark_engine), [MeasurementRequest(key=spec.text, spec=spec) for spec in EXACT]
    report = scan_merged(engine, trips, prints, wanted, StateFolder(folder=tmp_path / "states"))  # type: ignore[arg-type]
    direct = spark_engine.scan(trips, Part(keys=DAYS[1:]), wanted)
    assert engine.read == []
    assert values(dict(report.measured)) == pytest.approx(values(dict(direct.measured)))


def test_partitions_of_one_shape_share_their_spark_job(spark_engine: SparkEngine, trips: Table) -> None:
    wanted = tuple(MeasurementRequest(key=spec.text, spec=spec) for spec in EXACT)
    reports = spark_engine.scan_all([Unit(table=trips, part=Part(keys=(day,)), requests=wanted) for day in DAYS])
    single = [spark_engine.scan(trips, Part(keys=(day,)), wanted) for day in DAYS]
    assert sum(report.spark_jobs for report in reports) <= 2  # a shuffle may be a job of its own
    for together, alone in zip(reports, single, strict=True):
        assert values(dict(together.measured)) == pytest.approx(values(dict(alone.measured)))
        assert together.fingerprint == alone.fingerprint


def test_files_outside_the_folders_of_partitions_are_never_left_out(trips: Table) -> None:
    write(Path(trips.location), rows(9))
    assert read_fingerprints_by_key(trips, WHOLE) is None


def test_a_partition_rewritten_while_it_is_read_leaves_no_state(
    spark_engine: SparkEngine, trips: Table, tmp_path: Path
) -> None:
    class Racing(Watched):
        def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
            if not self.read:
                write(Path(trips.location) / f"datestr={DAYS[1]}", rows(10, 450))
            return super().scan_all(units)

    found = values(merged(Racing(spark_engine), trips, tmp_path / "states"))
    assert found == pytest.approx(scanned(spark_engine, trips))
    again = Watched(spark_engine)
    assert values(merged(again, trips, tmp_path / "states")) == pytest.approx(found)
    assert again.read == [DAYS[1]]
