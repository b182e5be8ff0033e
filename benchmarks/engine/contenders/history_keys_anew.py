"""Uniqueness and distinctness of the whole history, keeping nothing."""

from benchmarks.engine.of_history import keyed
from benchmarks.engine.suite import Check

from .history_anew import HistoryAnew


class HistoryKeysAnew(HistoryAnew):
    """Of the checks of keys alone."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Those."""
        return keyed(checks)


CONTENDER = HistoryKeysAnew
