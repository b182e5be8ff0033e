"""Uniqueness and distinctness of the whole history, by a grouping of each key."""

from benchmarks.engine.of_history import keyed
from benchmarks.engine.suite import Check

from .history_by_hand import HistoryByHand


class HistoryKeysByHand(HistoryByHand):
    """Of the checks of keys alone."""

    def chosen(self, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        """Those."""
        return keyed(checks)


CONTENDER = HistoryKeysByHand
