"""Assay's engine over the whole history, keeping nothing from one day to the next."""

from dataclasses import replace

from benchmarks.engine.of_history import of_history
from benchmarks.engine.suite import Check

from .ours import Ours
from .protocol import Task


class HistoryAnew(Ours):
    """One scan of all partitions."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Of the suite's checks, as they are over a history."""
        return of_history(checks)

    def prepare(self, task: Task) -> None:
        """As for one day."""
        super().prepare(replace(task, checks=self.chosen(task.checks)))
        self.table = replace(self.table, partition_column="datestr")


CONTENDER = HistoryAnew
