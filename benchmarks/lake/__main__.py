"""``python -m benchmarks.lake``: CPU seconds of the client over folders, stores and Iceberg; ``--docs`` writes them.

The store is moto's server on this machine, whose own seconds do not count. Each figure is the median of the rounds; a
round reads as if for the first time in its process, as footers and snapshots that earlier ones read are forgotten.
"""

import argparse
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time, sleep

import psutil

from benchmarks.engine.contenders.g import G
from benchmarks.engine.contenders.ours import numbers, started_engine
from benchmarks.engine.contenders.protocol import Task
from benchmarks.engine.environments import Environment
from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from benchmarks.engine.suite import Check, suite
from execution_engine.engines.files.iceberg import MANIFESTS
from execution_engine.engines.files.listing import _format_in_store, _iceberg_snapshot, read_written_at
from execution_engine.engines.files.open_files import OPEN_FILES
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, ScanReport, SparkOptions, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec

from . import payments, tables
from .server import StoreServer, store_server

PARTS = ("forty", "spark", "files", "manifests", "wide", "payments")
DUCKDB = Environment(name="duckdb-alone", packages=("duckdb>=1.4",))
MOST_BYTES = 1 << 40  # so that this process reads them, whatever their size
FEW = (
    "row_count",
    *(f"{name} {column}" for column in ("fare", "tip") for name in ("completeness", "mean", "min", "max")),
)
METADATA = ("row_count", "completeness id", "completeness fare", "min id", "max id", "max fare")
SETTLED = 0.02  # seconds of CPU in a tenth of a second: below it, nothing goes on


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What was measured, of which table: CPU seconds, how many times those of the first, and what the store counted."""

    what: str
    table: str
    seconds: float
    ratio: float
    counts: Counter[str]

    @property
    def cells(self) -> tuple[str, ...]:
        """As the table of figures has it."""
        requests = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()) if name != "bytes")
        sent = f"{self.counts['bytes'] / 1e6:.1f}" if requests else ""
        return self.what, self.table, f"{self.seconds:.3f}", f"{self.ratio:.2f}", requests, sent


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all parts share."""

    server: StoreServer
    rounds: int

    def compare(
        self, what: str, calls: Mapping[str, Callable[[], object]], *, is_first: bool = True
    ) -> Iterator[Figure]:
        """A figure of each call, in turns, after one round that warms up; all give what the first gives.

        ``is_first``: each reads as if for the first time in its process.
        """
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        counts: dict[str, Counter[str]] = {}
        for at in range(self.rounds + 1):
            results = {}
            for name, call in calls.items():
                if is_first:
                    OPEN_FILES.clear()
                    MANIFESTS.clear()
                    _iceberg_snapshot.cache_clear()
                    _format_in_store.cache_clear()
                self.server.counts()
                before = self._seconds()
                results[name] = call()
                seconds[name] += [self._seconds() - before] if at else []
                counts[name] = self.server.counts()
            first = next(iter(calls))
            for name, result in results.items():
                assert result == results[first], f"{what}: {name} gives {result}, and {first} {results[first]}"
        own = {name: median(spent) for name, spent in seconds.items()}
        for name in calls:
            ratio = median(a / b for a, b in zip(seconds[name], seconds[first], strict=True))
            yield Figure(what=what, table=name, seconds=own[name], ratio=ratio, counts=counts[name])

    def _seconds(self) -> float:
        """Of this process and of all that it started but for the store, once they have come to rest."""
        spent = self._of_children()
        while (now := self._of_children()) - spent > SETTLED:
            spent = now
        return process_time() + spent

    def _of_children(self) -> float:
        children = [child for child in psutil.Process().children(recursive=True) if child.pid != self.server.pid]
        if not children:
            return 0.0
        sleep(0.1)
        times = [child.cpu_times() for child in children]
        return sum(time.user + time.system + time.children_user + time.children_system for time in times)


def main() -> None:
    """Measure the parts, and print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rows", type=int, default=1_000_000, help="that this process reads")
    parser.add_argument("--spark-rows", type=int, default=10_000_000, help="that tasks of Spark read")
    parser.add_argument("--files", type=int, default=1_000, help="small ones, of one partition")
    parser.add_argument("--manifest-files", type=int, default=10_000, help="that a table of Iceberg names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    options, before = parser.parse_args(), machine()
    with store_server() as server, tempfile.TemporaryDirectory() as place:
        bench, figures = Bench(server=server, rounds=options.rounds), []
        for name in options.parts.split(","):
            for figure in _MEASURES[name](bench, options, Path(place)):
                print(" | ".join(figure.cells), flush=True)
                figures.append(figure)
    text = _markdown(before, figures)
    if options.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "lake", text))


def _markdown(before: str, figures: Sequence[Figure]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "pyspark", "pyiceberg", "moto"))
    lines = [f"Measured on {before}, {versions}.", ""]
    lines += ["| | table | CPU s | × | requests | MB |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(figure.cells)} |" for figure in figures)])


def _forty(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """Many and few checks, by this process."""
    everywhere = tables.trips_everywhere(options.rows, place, tables.owner_of(bench.server), bench.server)
    few, many = _specs(FEW), _forty_specs()
    for what, specs, is_first in (
        (f"40 checks, {options.rows:,} rows", many, True),
        ("9 checks of two columns", few, True),
        ("the same again", few, False),
    ):
        calls = {name: _here(table, specs) for name, table in everywhere.items()}
        yield from bench.compare(what, calls, is_first=is_first)


def _spark(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """The same by tasks of Spark."""
    everywhere = tables.trips_everywhere(options.spark_rows, place, tables.owner_of(bench.server), bench.server)
    engine = SparkEngine(SparkOptions())
    try:
        for what, specs in (
            (f"40 checks, {options.spark_rows:,} rows, Spark", _forty_specs()),
            ("9 checks of two columns, Spark", _specs(FEW)),
        ):
            yield from bench.compare(what, {name: _by(engine, table, specs) for name, table in everywhere.items()})
    finally:
        engine.close()


def _files(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """Many small files and one of their size."""
    owner = tables.owner_of(bench.server)
    for where in ("here", "in a store"):
        calls = {}
        for files in dict.fromkeys((1, max(1, options.files // 10), options.files)):
            folder = tables.trips_in_files(options.rows, files)
            at = str(folder)
            if where != "here":
                tables.copy_to_store(owner, folder, folder.name)
                at = f"s3://{tables.BUCKET}/{folder.name}"
            calls[f"{files:,} files"] = _here(Table(name="trips", storage="parquet", location=at), _forty_specs())
        yield from bench.compare(f"40 checks, {options.rows:,} rows {where}", calls)


def _manifests(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """What metadata alone tell."""
    for commits in (1, 100):
        table = tables.iceberg_of_many_files(options.manifest_files, commits, place / f"many-{commits}")
        measure = _here(table, _specs(METADATA))

        def tell(table: Table = table, measure: Callable[[], object] = measure) -> object:
            return measure(), read_written_at(table, WHOLE)

        yield from bench.compare(
            f"rows, nulls, extremes and freshness of {options.manifest_files:,} files",
            {f"Iceberg, {commits} manifests": tell},
        )


def _wide(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """Many metrics of many columns, beside DuckDB."""
    folder = tables.wide_table(500, 50_000)
    specs = [MetricSpec(name="row_count")]
    for at in range(500):
        kind = ("whole", "number", "number", "text")[at % 4]
        names = ("completeness", "approx_count_distinct") if kind == "text" else ("completeness", "mean")
        specs += [MetricSpec(name=name, columns=(f"{kind}_{at}",)) for name in names]
        specs += [MetricSpec(name="max", columns=(f"{kind}_{at}",))] if at % 5 == 0 and kind != "text" else []
    table = Table(name="wide", storage="parquet", location=str(folder))
    (figure,) = bench.compare(f"{len(specs):,} metrics of 500 columns, 50,000 rows", {"Assay": _here(table, specs)})
    functions = {"completeness": "count", "mean": "avg", "approx_count_distinct": "approx_count_distinct", "max": "max"}
    selects = ", ".join(f"{functions[spec.name]}({spec.columns[0]})" for spec in specs[1:])
    sql = f"select count(*), {selects} from read_parquet('{folder}/*.parquet')"
    command = [str(DUCKDB.python()), str(Path(__file__).with_name("duck.py")), str(bench.rounds)]
    seconds = float(subprocess.run(command, input=sql, text=True, check=True, capture_output=True).stdout)
    yield Figure(what=figure.what, table="DuckDB", seconds=seconds, ratio=1, counts=Counter())
    yield Figure(
        what=figure.what, table="Assay", seconds=figure.seconds, ratio=figure.seconds / seconds, counts=Counter()
    )


def _payments(bench: Bench, options: argparse.Namespace, place: Path) -> Iterator[Figure]:
    """A table of other types than the trips, beside a query by hand: all checks, and those that kernels know."""
    folder, every = str(payments.payments(options.rows)), payments.checks()
    table = Table(name="payments", storage="parquet", location=folder)
    engine = started_engine()

    def scan(checks: Sequence[Check]) -> ScanReport:
        return engine.scan(table, WHOLE, [MeasurementRequest(key=check.name, spec=check.spec) for check in checks])

    try:
        of_kernels = [check for check in every if not scan([check]).read_by.left]
        for what, checks in (("checks of other types", every), ("of these, which kernels know", of_kernels)):
            by_hand = G()
            by_hand.prepare(Task(path=folder, checks=tuple(checks)))
            calls = {
                "by hand": lambda queries=by_hand: _rounded(queries.values()),
                "Assay": lambda checks=checks: _values(scan(checks)),
            }
            yield from bench.compare(f"{len(checks)} {what}, {options.rows:,} rows, Spark", calls)
    finally:
        engine.close()


_MEASURES = dict(zip(PARTS, (_forty, _spark, _files, _manifests, _wide, _payments), strict=True))


def _forty_specs() -> Sequence[MetricSpec]:
    return [check.spec for check in suite(1)]


def _specs(texts: Sequence[str]) -> Sequence[MetricSpec]:
    return [MetricSpec(name=name, columns=tuple(columns)) for name, *columns in map(str.split, texts)]


def _requests(specs: Sequence[MetricSpec]) -> list[MeasurementRequest]:
    return [MeasurementRequest(key=str(at), spec=spec) for at, spec in enumerate(specs)]


def _here(table: Table, specs: Sequence[MetricSpec]) -> Callable[[], object]:
    return lambda: _values(report_without_spark(table, _requests(specs), most_bytes=MOST_BYTES))


def _by(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec]) -> Callable[[], object]:
    return lambda: _values(engine.scan(table, WHOLE, _requests(specs)))


def _values(report: ScanReport | None) -> dict[str, float | None]:
    assert report is not None
    return _rounded(numbers(report))


def _rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """As sums of doubles depend on the cut."""
    return {key: None if value is None else float(f"{float(value):.9g}") for key, value in values.items()}


if __name__ == "__main__":
    main()
