"""Assay's engine with a scan for each of a hundred small tables, one after the other."""

from pathlib import Path

from benchmarks.engine.small import checks_of
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table

from .ours import numbers, started_engine
from .protocol import Answer, Task
from .small_answers import answer_of_all

SOME = 100


class SmallOneByOne:
    """What runs cost that share nothing but the session."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The engine and the tables."""
        self.engine = started_engine()
        self.folders = sorted(Path(task.path).iterdir())[:SOME]

    def run(self) -> Answer:
        """The checks that failed."""
        reports = {
            folder.name: self.engine.scan(table_of(folder), WHOLE, requests_of(folder)) for folder in self.folders
        }
        return answer_of_all({name: numbers(report) for name, report in reports.items()})


def table_of(folder: Path) -> Table:
    """The table in a folder."""
    return Table(name=folder.name, storage="parquet", location=str(folder))


def requests_of(folder: Path) -> tuple[MeasurementRequest, ...]:
    """The five measurements of its schema."""
    return tuple(MeasurementRequest(key=check.name, spec=check.spec) for check in checks_of(folder.name.split("-")[0]))


CONTENDER = SmallOneByOne
