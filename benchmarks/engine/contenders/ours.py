"""Assay's engine: one scan for all that is wanted."""

from dataclasses import replace

from benchmarks.engine.session import MEMORY
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, ScanReport, SparkOptions, Table
from execution_engine.engines.spark.engine import SparkEngine

from .protocol import Answer, Task, answer

OPTIONS = SparkOptions(conf=MEMORY)  # as much memory as the others' session
WITHOUT_KERNELS = replace(OPTIONS, native=False)


class Ours:
    """A scan of the folder, listed, planned and measured anew each time."""

    cannot: frozenset[str] = frozenset()
    options = OPTIONS

    def prepare(self, task: Task) -> None:
        """The engine, with its session started."""
        self.engine = started_engine(self.options)
        self.checks = task.checks
        self.table = Table(name="trips", storage="parquet", location=task.path)
        self.wanted = tuple(MeasurementRequest(key=check.name, spec=check.spec) for check in task.checks)

    def run(self) -> Answer:
        """The checks that failed."""
        return answer(self.checks, numbers(self.engine.scan(self.table, WHOLE, self.wanted)))


def started_engine(options: SparkOptions = OPTIONS) -> SparkEngine:
    """An engine with its session; engines of one process share Java, and each reads as its own options say."""
    engine = SparkEngine(options)
    engine.session  # noqa: B018  starts it
    return engine


def numbers(report: ScanReport) -> dict[str, float | None]:
    """What a scan measured, by key; RuntimeError where something could not be."""
    refused = [f"{key}: {found.failure}" for key, found in report.measured.items() if found.failure is not None]
    if refused:
        raise RuntimeError("; ".join(refused))
    return {key: None if found.value is None else float(found.value) for key, found in report.measured.items()}


CONTENDER = Ours
