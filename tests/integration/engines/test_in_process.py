"""Parts that the process of the Spark session reads itself, without a job, as ``in_process_bytes`` says."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.config import Config
from execution_engine.engines import protocol
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.files.listing import list_part
from execution_engine.engines.protocol import (
    WHOLE,
    Limits,
    MeasurementRequest,
    Part,
    ScanReport,
    SparkOptions,
    Table,
    Unit,
)
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.alike import alike, magnitudes_in
from tests.integration.engines.trips import DAY, OTHER_DAY, metric, parquet, write_trips

MANY = 1 << 30
HERE = SparkOptions(in_process_bytes=MANY)
SPECS = (
    *(metric(name, "fare") for name in ("mean", "stddev", "min", "completeness")),
    *(metric(name, "trip_id", "city") for name in ("uniqueness", "count_distinct")),
    *(metric("approx_count_distinct", "city"), metric("sum", "riders", where="city = 'rome'")),
    *(metric("quantile", "fare", arguments=(0.3,)), metric("pattern_match", "city", arguments=("^r",))),
    metric("completeness", "datestr"),
    *(replace(metric(name, "riders"), by=("city", "datestr")) for name in ("sum", "uniqueness", "completeness")),
    *(metric("histogram", "city"), MetricSpec(name="histogram", columns=("fare",), options=(("bins", 4),))),
    *(metric(name, "trip_id", "city") for name in ("key_digest", "bloom_filter", "sample")),
)

NOT_ON_CONNECT = pytest.mark.only_on_spark("local", "cluster", why="with Connect nothing is read by this process")


@pytest.fixture
def here() -> Iterator[SparkEngine]:
    """An engine that would start Spark if it were asked for its session."""
    engine = SparkEngine(HERE)
    yield engine
    engine.close()


def requests_of(specs: tuple[MetricSpec, ...]) -> tuple[MeasurementRequest, ...]:
    return tuple(MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs)


def differing(one: ScanReport, other: ScanReport, magnitudes: Mapping[str, float]) -> list[str]:
    told, by_spark = one.measured, other.measured
    return [spec.text for spec in SPECS if not alike(spec, told[spec.text], by_spark[spec.text], magnitudes)]


def by_spark(engine: SparkEngine, monkeypatch: pytest.MonkeyPatch, unit: Unit, *, native: bool) -> ScanReport:
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_options", replace(engine._options, native=native))
        return engine.scan(unit.table, unit.part, unit.requests)


@pytest.mark.parametrize("keys", [(DAY,), (DAY, OTHER_DAY), None], ids=["a day", "two days", "the whole table"])
def test_a_small_part_is_read_here_as_spark_reads_it_without_a_job(
    keys: tuple[str, ...] | None,
    here: SparkEngine,
    spark_engine: SparkEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unit = Unit(table=write_trips(tmp_path), part=Part(keys=keys), requests=requests_of(SPECS))
    told = here.scan(unit.table, unit.part, unit.requests)
    kernels, aggregates = (by_spark(spark_engine, monkeypatch, unit, native=native) for native in (True, False))
    assert told.spark_jobs == 0
    assert here._session is None
    assert (told.measured, told.fingerprint) == (kernels.measured, kernels.fingerprint)
    assert differing(told, aggregates, magnitudes_in(unit.table.location)) == []
    assert is_connect(spark_engine.session) or kernels.spark_jobs >= 1


def test_windows_that_are_scanned_together_need_no_job_where_each_is_small(
    here: SparkEngine, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    table = write_trips(tmp_path)
    units = [Unit(table=table, part=Part(keys=(day,)), requests=requests_of(SPECS[:6])) for day in (DAY, OTHER_DAY)]
    told, by_jobs = here.scan_all(units), spark_engine.scan_all(units)
    assert [report.spark_jobs for report in told] == [0, 0]
    assert here._session is None
    assert [report.measured for report in told] == [report.measured for report in by_jobs]
    assert is_connect(spark_engine.session) or sum(report.spark_jobs for report in by_jobs) >= 1


@NOT_ON_CONNECT
def test_what_the_kernels_leave_to_spark_takes_all_that_is_asked_of_its_part_along(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_trips(tmp_path)
    some = requests_of((metric("mean", "fare"), metric("compliance", arguments=("fare + 1 > 5",))))
    units = [
        Unit(table=table, part=Part(keys=(DAY,)), requests=some),
        Unit(table=table, part=Part(keys=(OTHER_DAY,)), requests=some[:1]),
    ]
    expected = spark_engine.scan_all(units)
    monkeypatch.setattr(spark_engine, "_options", replace(spark_engine._options, in_process_bytes=MANY))
    first, second = spark_engine.scan_all(units)
    assert [first.measured, second.measured] == [report.measured for report in expected]
    assert first.spark_jobs >= 1
    assert second.spark_jobs == 0


@NOT_ON_CONNECT
def test_as_many_bytes_as_the_bound_are_sparks_and_so_is_everything_with_a_bound_of_none(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"fare": [1.5, 2.0]}), tmp_path / "a.parquet")
    size = list_part(parquet(tmp_path), WHOLE).size
    asked = requests_of((metric("mean", "fare"),))
    jobs = {}
    for most in (0, size, size + 1):
        monkeypatch.setattr(spark_engine, "_options", replace(spark_engine._options, in_process_bytes=most))
        jobs[most] = spark_engine.scan(parquet(tmp_path), WHOLE, asked).spark_jobs
    assert jobs == {0: 1, size: 1, size + 1: 0}
    assert Config.model_fields["spark_in_process_bytes"].default == SparkOptions().in_process_bytes == 0


def test_a_part_that_cannot_be_read_here_fails_as_spark_says(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    asked = requests_of((metric("mean", "fare"),))
    expected = spark_engine.scan(parquet(tmp_path), WHOLE, asked)
    monkeypatch.setattr(spark_engine, "_options", replace(spark_engine._options, in_process_bytes=MANY))
    assert spark_engine.scan(parquet(tmp_path), WHOLE, asked).measured == expected.measured


def test_nothing_is_read_in_a_process_that_nobody_could_kill() -> None:
    assert HERE.most_bytes_here == MANY
    assert replace(HERE, remote="sc://127.0.0.1:1").most_bytes_here == 0
    assert replace(HERE, native=False).most_bytes_here == 0


def test_a_child_that_reads_on_after_its_deadline_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No job of Spark's is there to be cancelled."""
    monkeypatch.setattr(protocol, "CANCEL_SECONDS", 0.05)
    random = np.random.default_rng(5)
    columns = {f"c{at}": random.integers(0, 1 << 60, 500_000) for at in range(8)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = Table(name="wide", storage="parquet", location=str(tmp_path))
    asked = requests_of(tuple(metric("uniqueness", name, "c0") for name in list(columns)[1:]))
    engine = ChildEngine(ChildOptions(spark=HERE, limits=Limits(deadline_seconds=0.1)))
    try:
        report = engine.scan(table, WHOLE, asked)
        assert engine.pid is None
    finally:
        engine.close()
    reasons = {each.failure.reason if each.failure else None for each in report.measured.values()}
    assert reasons == {Reason.TIMEOUT}
