"""Assay's states of single days, merged to a window of them without reading data."""

from .history_merged import HistoryMerged


class HistoryWindow(HistoryMerged):
    """The window of all days: the widest, and the dearest."""

    days_kept = slice(None)
    unions = False


CONTENDER = HistoryWindow
