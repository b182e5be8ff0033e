"""``python -m benchmarks.lake.cluster``: what forty checks cost on a cluster, client and executors; ``--docs``.

The cluster is a standalone master and two workers of one core on this machine, of which a session takes one or both.
A query by hand over the folder is what ratios are of: without jars Spark cannot read the store.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import NamedTuple

import psutil

from benchmarks.data.trips import trips
from benchmarks.engine.contenders.g import G
from benchmarks.engine.contenders.ours import numbers
from benchmarks.engine.contenders.protocol import Task
from benchmarks.engine.machine import machine
from benchmarks.engine.meter import IDLE, own_seconds, seconds_of
from benchmarks.engine.report import DOCS, between_markers
from benchmarks.engine.suite import suite
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, SparkOptions, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.session import use_java
from tests.integration.kernels.cluster import Cluster, cluster, of_a_driver

from . import tables
from .server import store_server

BY_HAND, FOLDER, STORE = "by hand, folder", "folder", "folder in a store"
EXECUTOR, WORKER = "2g", "3g"  # memory
STEP = 0.2  # seconds


class Cost(NamedTuple):
    """Seconds of one call: CPU of this process and its Java, CPU of the executors and their Pythons, and wall time."""

    client: float
    executors: float
    wall: float


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    options, before, lines = parser.parse_args(), machine(), []
    use_java()
    with tempfile.TemporaryDirectory() as place, store_server() as server:
        owner = tables.owner_of(server)
        for rows in options.rows:
            tables.copy_to_store(owner, trips(rows), f"trips-{rows}")
        with cluster(Path(place), memory=WORKER) as running:
            servers = set(psutil.Process().children())
            for workers in (1, 2):
                for line in _measured(running, servers, Path(place) / f"driver-{workers}", workers, options):
                    print(line, flush=True)
                    lines.append(line)
    heading = "| rows | workers | | client CPU s | executors' CPU s | wall s | CPU × |\n|---|---|---|---|---|---|---|"
    text = f"Measured on {before}, pyspark {version('pyspark')}.\n\n{heading}\n" + "\n".join(lines)
    if options.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "cluster", text))


def _measured(
    running: Cluster, servers: set[psutil.Process], folder: Path, workers: int, options: argparse.Namespace
) -> Iterator[str]:
    """``servers``: children of this process that are no part of the client."""
    folder.mkdir()
    conf = of_a_driver(folder, EXECUTOR) | {"spark.cores.max": str(workers)}
    with closing(SparkEngine(SparkOptions(master=running.master, conf=conf))) as engine:
        engine.session  # noqa: B018  starts it
        for rows in options.rows:
            costs: dict[str, list[Cost]] = {}
            for at in range(options.rounds + 1):
                for name, call in _calls(engine, rows).items():
                    cost = _cost(running, servers, call)
                    costs.setdefault(name, []).extend([cost] if at else [])
            hand = [cost.client + cost.executors for cost in costs[BY_HAND]]
            for name, spent in costs.items():
                client, executors, wall = (median(part) for part in zip(*spent, strict=True))
                ratio = median((cost.client + cost.executors) / base for cost, base in zip(spent, hand, strict=True))
                yield (f"| {rows:,} | {workers} | {name} | {client:.2f} | {executors:.2f} | {wall:.2f} | {ratio:.2f} |")


def _calls(engine: SparkEngine, rows: int) -> dict[str, Callable[[], object]]:
    checks = suite(rows)
    by_hand = G()
    by_hand.prepare(Task(path=str(trips(rows)), checks=checks))
    requests = [MeasurementRequest(key=check.name, spec=check.spec) for check in checks]

    def scan(location: str) -> None:
        report = engine.scan(Table(name="trips", storage="parquet", location=location), WHOLE, requests)
        assert all(check.holds(numbers(report)[check.name]) for check in checks)
        assert not report.read_by.left, report.read_by

    return {
        BY_HAND: by_hand.run,
        FOLDER: lambda: scan(str(trips(rows))),
        STORE: lambda: scan(f"s3://{tables.BUCKET}/trips-{rows}"),
    }


def _cost(running: Cluster, servers: set[psutil.Process], call: Callable[[], object]) -> Cost:
    def spent() -> tuple[float, float]:
        own = set(psutil.Process().children()) - servers
        client = sum(seconds_of(process) for child in own for process in (child, *child.children(recursive=True)))
        executors = map(psutil.Process, running.executors())
        return own_seconds() + client, sum(
            seconds_of(process) for executor in executors for process in (executor, *executor.children(recursive=True))
        )

    before, started = spent(), monotonic()
    call()
    wall, after = monotonic() - started, spent()
    while True:
        sleep(STEP)
        last, after = after, spent()
        if sum(after) - sum(last) < IDLE * STEP:
            return Cost(client=after[0] - before[0], executors=after[1] - before[1], wall=wall)


if __name__ == "__main__":
    main()
