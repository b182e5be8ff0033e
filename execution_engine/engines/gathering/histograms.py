"""Histograms from what was counted: of each value, or of bins of one width (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest
from math import isfinite

from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.metrics.definitions.histogram import MOST_VALUES
from execution_engine.outcome import Reason

NOTHING = Measured(value=0.0, detail={"rows": 0, "bins": []})


@dataclass(frozen=True, kw_only=True)
class Bins:
    """So many bins of one width from the least number on; the last has both its ends."""

    low: float
    width: float
    count: int


def bins_between(item: Wanted, name: str, low: float | None, high: float | None, count: int) -> Bins | Measured:
    """The bins from the least to the greatest number; the measurement where there are none, or no width is a number.

    ``name``: of the table.
    """
    if low is None or high is None:
        return NOTHING
    if not float("-inf") < low <= high < float("inf"):
        detail = f"{item.spec.text} of {name} has values from {low} to {high}; leave some out with where="
        return failed(Reason.NOT_FINITE, detail)
    width = (high - low) / count or 1.0
    if not isfinite(width):
        detail = f"{item.spec.text} of {name} has values from {low} to {high}, too far apart for bins"
        return failed(Reason.NOT_FINITE, f"{detail}; leave some out with where=")
    return Bins(low=low, width=width, count=count)


def of_values(counts: Mapping[str | None, int]) -> Measured:
    """How many values there are; the detail has the most frequent, of those as frequent the first, a null before all.

    ``counts``: of each value that there is, by its text.
    """
    if not counts:
        return NOTHING
    rows = sum(counts.values())
    most = nsmallest(MOST_VALUES, counts, key=lambda value: (-counts[value], value is not None, value or ""))
    bins = [{"value": value, "count": counts[value], "ratio": counts[value] / rows} for value in most]
    return Measured(value=float(len(counts)), detail={"rows": rows, "bins": bins})


def of_bins(bins: Bins, counts: Mapping[int | None, int]) -> Measured:
    """The bins with how many numbers lie in each, by their places; None: the nulls, which lie in none."""
    rows = sum(counts.values())
    found = [
        {
            "low": bins.low + at * bins.width,
            "high": bins.low + (at + 1) * bins.width,
            "count": counts.get(at, 0),
            "ratio": counts.get(at, 0) / rows,
        }
        for at in range(bins.count)
    ]
    return Measured(value=float(bins.count), detail={"rows": rows, "nulls": counts.get(None, 0), "bins": found})
