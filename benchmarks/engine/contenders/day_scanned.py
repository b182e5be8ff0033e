"""The day that came, scanned alone: the least that it can cost."""

from benchmarks.engine.of_history import scanned
from benchmarks.engine.suite import Check

from .history_merged import HistoryDay


class DayScanned(HistoryDay):
    """Of the checks that need no keys."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Those."""
        return scanned(checks)


CONTENDER = DayScanned
