"""What moved in a batch that is unlike those before it, each statistic with a small plot of its past. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .small_plot import SmallPlot, small_plot

_MOST = 60  # of the past that are drawn


@dataclass(frozen=True, kw_only=True)
class Moved:
    """One statistic in words, and its plot: its past, what is usual, and now as a mark."""

    text: str
    plot: SmallPlot | None = None
    column: str = ""


def moved(found: Sequence[Mapping[str, Any]]) -> list[Moved]:
    """Of what novelty found, the largest first."""
    return [_drawn(cause) for each in found for cause in each.get("causes", ())]


def _drawn(cause: Mapping[str, Any]) -> Moved:
    past = [float(value) for _, value in cause.get("past", ())][-_MOST:]
    value = cause["value"]
    if len(past) < 2 or not isinstance(value, int | float):
        return Moved(text=cause["text"], column=str(cause.get("column") or ""))
    low, high = cause.get("low"), cause.get("high")
    usual = None if low is None or high is None else (low, high)
    plot = small_plot([*past, value], [False] * len(past) + [True], usual=usual)
    return Moved(text=cause["text"], column=str(cause.get("column") or ""), plot=plot)
