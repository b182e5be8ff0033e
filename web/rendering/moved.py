"""What moved in a batch that is unlike those before it, each statistic with a small plot of its past. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

WIDTH, HEIGHT = 280.0, 44.0
_MARGIN = 4.0

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SmallPlot:
    """``lines`` are the points of polylines, one for each run of known values; ``band`` an upper edge and a height."""

    lines: Sequence[str]
    marks: Sequence[Point]
    band: Point | None = None


def small_plot(
    values: Sequence[float | None], marked: Sequence[bool], *, usual: tuple[float, float] | None = None
) -> SmallPlot | None:
    """Of values at even steps, None where one is not known; None where fewer than two are known."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    low, high = min(known), max(known)
    step = (WIDTH - 2 * _MARGIN) / (len(values) - 1)

    def at(number: float) -> float:
        height = (number - low) / (high - low) if high > low else 0.5  # what never changes is a line in the middle
        return round(HEIGHT - _MARGIN - height * (HEIGHT - 2 * _MARGIN), 1)

    points = [
        None if value is None else (round(_MARGIN + place * step, 1), at(value)) for place, value in enumerate(values)
    ]
    runs = [[point for point in some if point] for is_known, some in groupby(points, bool) if is_known]
    band = None
    if usual is not None:
        top, bottom = at(min(usual[1], high)), at(max(usual[0], low))
        band = (top, max(bottom - top, 1.0))
    return SmallPlot(
        lines=[" ".join(f"{x},{y}" for x, y in run) for run in runs],
        marks=[point for point, is_marked in zip(points, marked, strict=True) if point and is_marked],
        band=band,
    )


_MOST = 60  # of the past that are drawn


@dataclass(frozen=True, kw_only=True)
class Moved:
    """One statistic in words, and its plot: its past, what is usual, and now as a mark."""

    text: str
    plot: SmallPlot | None = None
    column: str = ""


def moved(found: Sequence[Mapping[str, Any]]) -> list[Moved]:
    """Of what novelty found, the largest first."""
    statistics = []
    for cause in (cause for finding in found for cause in finding.get("causes", ())):
        past, value, plot = [float(value) for _, value in cause.get("past", ())][-_MOST:], cause["value"], None
        low, high = cause.get("low"), cause.get("high")
        usual = None if low is None or high is None else (low, high)
        if len(past) >= 2 and isinstance(value, int | float):
            plot = small_plot([*past, value], [False] * len(past) + [True], usual=usual)
        statistics.append(Moved(text=cause["text"], column=str(cause.get("column") or ""), plot=plot))
    return statistics
