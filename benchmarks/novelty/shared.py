"""What watching a table adds to its tests' scan: forty checks of ten million trips, without and with a profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.data.trips import trips
from benchmarks.engine.contenders.ours import started_engine
from benchmarks.engine.meter import Cost, metered
from benchmarks.engine.suite import suite
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec

ROWS, REPEATS = 10_000_000, 5
MOST = 1.5  # times the scan of the checks alone


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """What a scan cost, in medians of seconds, and its Spark jobs."""

    name: str
    cpu: float
    wall: float
    jobs: int


def shared_cost(rows: int = ROWS) -> list[Scanned]:
    """Of the checks, and of the checks with a profile: by turns, after one of each to warm up."""
    table = Table(name="trips", storage="parquet", location=str(trips(rows)))
    checks = tuple(MeasurementRequest(key=check.name, spec=check.spec) for check in suite(rows))
    profile = MeasurementRequest(key="profile", spec=MetricSpec(name="profile"))
    engine, wanted = started_engine(), {"forty checks": checks, "forty checks and a profile": (*checks, profile)}
    jobs: dict[str, int] = {}
    costs: dict[str, list[Cost]] = {name: [] for name in wanted}
    for turn in range(1 + REPEATS):
        for name, items in wanted.items():
            jobs[name], cost = _scan(engine, table, items)
            costs[name] += [cost] if turn else []
    return [
        Scanned(
            name=name,
            cpu=median(cost.cpu for cost in some),
            wall=median(cost.wall for cost in some),
            jobs=jobs[name],
        )
        for name, some in costs.items()
    ]


def _scan(engine: SparkEngine, table: Table, items: Sequence[MeasurementRequest]) -> tuple[int, Cost]:
    report, cost = metered(lambda: engine.scan(table, WHOLE, items))
    refused = [f"{key}: {found.failure}" for key, found in report.measured.items() if found.failure is not None]
    if refused:
        raise RuntimeError("; ".join(refused))
    return report.spark_jobs, cost
