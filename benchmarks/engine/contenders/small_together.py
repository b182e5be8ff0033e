"""Assay's engine with a thousand small tables in one session, wanted all at once."""

from pathlib import Path

from execution_engine.engines.protocol import WHOLE, Unit

from .ours import OPTIONS, numbers, started_engine
from .protocol import Answer, Task
from .small_answers import answer_of_all
from .small_one_by_one import requests_of, table_of


class SmallTogether:
    """``scan_all``: the engine decides what shares a job."""

    cannot: frozenset[str] = frozenset()
    options = OPTIONS

    def prepare(self, task: Task) -> None:
        """The engine and the tables."""
        self.engine = started_engine(self.options)
        folders = sorted(Path(task.path).iterdir())
        self.units = {folder.name: _unit(folder) for folder in folders}

    def run(self) -> Answer:
        """The checks that failed."""
        reports = self.engine.scan_all(tuple(self.units.values()))
        return answer_of_all({name: numbers(report) for name, report in zip(self.units, reports, strict=True)})


def _unit(folder: Path) -> Unit:
    return Unit(table=table_of(folder), part=WHOLE, requests=requests_of(folder))


CONTENDER = SmallTogether
