"""The metrics of one pass over the whole history, from the day that came and states."""

from benchmarks.engine.of_history import scanned
from benchmarks.engine.suite import Check

from .history_merged import HistoryMerged


class HistoryScanMerged(HistoryMerged):
    """Of the checks that need no keys."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Those."""
        return scanned(checks)


CONTENDER = HistoryScanMerged
