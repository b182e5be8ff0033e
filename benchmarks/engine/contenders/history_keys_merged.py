"""Uniqueness and distinctness of the whole history, from the day that came and states."""

from benchmarks.engine.of_history import keyed
from benchmarks.engine.suite import Check

from .history_merged import HistoryMerged


class HistoryKeysMerged(HistoryMerged):
    """Of the checks of keys alone."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Those."""
        return keyed(checks)


CONTENDER = HistoryKeysMerged
