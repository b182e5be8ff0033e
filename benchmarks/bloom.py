"""How fast filters of keys are built and probed, and how many absent keys pass: ``python -m benchmarks.bloom``.

Medians of warm repetitions over parquet files, in one Spark session; CPU is of driver, JVM and workers.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Shown

from benchmarks.engine.machine import machine
from benchmarks.engine.meter import metered
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import engine as keys_engine
from execution_engine.engines.spark.sources import SparkSource, open_source
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.spec import MetricSpec

from .cache import home, made_once

FILE_KEYS = 625_000
ABSENT_KEYS = 1_000_000
WORTH = 1.1  # measured false positives may be so many times the claimed ones
CONTENDERS = (("hashes", True), ("xxhash", True), ("xxhash", False), ("pybloom", False))
WANTED = {  # million keys a second, built and probed, on two quiet cores
    ("xxhash", True): (4.0, 4.0),
    ("xxhash", False): (3.0, 3.0),
    ("pybloom", False): (1.7, 1.8),
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Of one format: million keys a second, also as wanted, CPU-seconds, bytes a key, share of absent keys found."""

    name: str
    build: float
    build_cpu: float
    probe: float
    probe_cpu: float
    bytes_per_key: float
    claimed: float
    passed: float
    wanted: tuple[float, float] | None


def main() -> None:
    """Print the table; exit with 1 where a filter lets more absent keys pass than it claims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    on = machine()
    console = Console(width=140)
    engine = SparkEngine()
    here, absent = (_source(engine, *spec) for spec in (("keys", 0, given.keys), ("absent", given.keys, ABSENT_KEYS)))
    figures = []
    for name, pulled in CONTENDERS:
        figures.append(_figures(name, pulled, here, absent, given.repeats))
        console.print(figures[-1])
    digest = _digest(here, given.repeats)
    engine.close()
    _show(console, figures, f"{given.keys:,} bigint keys, {given.repeats} repeats; {on}", digest)
    raise SystemExit(any(each.passed > WORTH * each.claimed + 1e-5 for each in figures))


def _source(engine: SparkEngine, name: str, start: int, count: int) -> SparkSource:
    folder = made_once(home() / f"bloom_{name}_{start}_{count}", partial(_write, start, count))
    return open_source(engine.session, Table(name=name, storage="parquet", location=str(folder)), WHOLE)


def _write(start: int, count: int, folder: Path) -> None:
    keys = np.random.default_rng(1).permutation(count) + 1_000_000_000 + start
    for number, first in enumerate(range(0, count, FILE_KEYS)):
        pq.write_table(pa.table({"id": keys[first : first + FILE_KEYS]}), folder / f"part-{number}.parquet")


def _figures(format_: str, pulled: bool, here: SparkSource, absent: SparkSource, repeats: int) -> Figures:
    spec = MetricSpec(name="bloom_filter", columns=("id",), options=(("exact_keys", 0), ("format", format_)))
    item = MeasurementRequest(key="it", spec=spec)
    keys = here.rows or 0
    with _cap(10**9 if pulled else 0):
        own, others = keys_engine.SparkKeys(source=here), keys_engine.SparkKeys(source=absent)
        made, seconds, cpu = _median(lambda: own.built(item, keys=keys).to_bytes(), repeats)
        shipped = KeyFilter.from_bytes(made)
        found, probe_seconds, probe_cpu = _median(lambda: own.missed(item, shipped, keys), repeats)
        assert found.missed == 0
        passed = 1 - others.missed(item, shipped, ABSENT_KEYS).missed / ABSENT_KEYS
    return Figures(
        name=f"{format_}, {'in the driver' if pulled else 'by the workers'}",
        build=keys / seconds / 1e6,
        build_cpu=cpu,
        probe=keys / probe_seconds / 1e6,
        probe_cpu=probe_cpu,
        bytes_per_key=len(made) / keys,
        claimed=shipped.shape.error_rate,
        passed=passed,
        wanted=WANTED.get((format_, pulled)),
    )


def _digest(here: SparkSource, repeats: int) -> str:
    item = MeasurementRequest(key="it", spec=MetricSpec(name="key_digest", columns=("id",)))
    _, seconds, cpu = _median(lambda: keys_engine.take_digest(here, item), repeats)
    return f"key_digest: {(here.rows or 0) / seconds / 1e6:.2f} M keys/s, {cpu:.1f} CPU-s"


@contextmanager
def _cap(rows: int) -> Iterator[None]:
    """As if the driver pulled up to so many rows, and nothing more."""
    with patch.multiple(keys_engine, PULLED_ROWS=rows, EXACT_KEYS=0):
        yield


def _median(call: Callable[[], Any], repeats: int) -> tuple[Any, float, float]:
    """What it gave the last time, and the medians of its wall and CPU seconds; the first call warms up."""
    result = call()
    costs = []
    for _ in range(repeats):
        result, cost = metered(call)
        costs.append(cost)
    return result, median(cost.wall for cost in costs), median(cost.cpu for cost in costs)


def _show(console: Console, figures: list[Figures], title: str, digest: str) -> None:
    table = Shown(title=title, title_justify="left")
    sides = ("build M/s", "wanted", "CPU-s", "probe M/s", "wanted", "CPU-s")
    for heading in ("", *sides, "bytes a key", "claimed", "absent found", "at most"):
        table.add_column(heading, justify="right" if heading else "left")
    for each in figures:
        build, probe = ("" if each.wanted is None else f"≥ {least:.1f}" for least in each.wanted or (0.0, 0.0))
        speeds = (
            f"{each.build:.2f}",
            build,
            f"{each.build_cpu:.2f}",
            f"{each.probe:.2f}",
            probe,
            f"{each.probe_cpu:.2f}",
        )
        shares = (f"{share:.3%}" for share in (each.claimed, each.passed, WORTH * each.claimed))
        table.add_row(each.name, *speeds, f"{each.bytes_per_key:.2f}", *shares)
    console.print(table)
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "numpy", "pyarrow", "pybloom_live"))
    console.print(f"{digest}\n{versions}")


if __name__ == "__main__":
    main()
