"""The values of an assertion over past windows as points of SVG: a line with gaps, marks, and its bounds. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

WIDTH, HEIGHT, MARGIN = 720.0, 180.0, 10.0

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PastPoint:
    """One window: its value, None where there is none, and between which figures it had to lie."""

    value: float | None
    low: float | None = None
    high: float | None = None
    broken: bool = False


@dataclass(frozen=True, kw_only=True)
class PastPlot:
    """Points of polylines; ``bounds`` are those of the bounds, ``low`` and ``high`` the figures at both ends."""

    lines: tuple[str, ...]
    bounds: tuple[str, ...]
    held: tuple[Point, ...]
    broken: tuple[Point, ...]
    low: float
    high: float


def past_plot(points: Sequence[PastPoint]) -> PastPlot | None:
    """The plot of windows at even steps; None where no value is known."""
    figures = [
        figure
        for point in points
        if point.value is not None and isfinite(point.value)
        for figure in (point.value, point.low, point.high)
        if figure is not None and isfinite(figure)
    ]
    if not figures:
        return None
    low, high = min(figures), max(figures)
    step = (WIDTH - 2 * MARGIN) / max(len(points) - 1, 1)

    def at(place: int, figure: float | None) -> Point | None:
        if figure is None or not isfinite(figure):
            return None
        share = (figure / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return round(MARGIN + place * step, 1), round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)

    values = [at(place, point.value) for place, point in enumerate(points)]
    marked = [(point, spot) for point, spot in zip(points, values, strict=True) if spot is not None]
    known = [point if spot else PastPoint(value=None) for point, spot in zip(points, values, strict=True)]
    sides = (
        [at(place, point.low) for place, point in enumerate(known)],
        [at(place, point.high) for place, point in enumerate(known)],
    )
    return PastPlot(
        lines=tuple(_polylines(values)),
        bounds=tuple(line for side in sides for line in _polylines(side)),
        held=tuple(spot for point, spot in marked if not point.broken),
        broken=tuple(spot for point, spot in marked if point.broken),
        low=low,
        high=high,
    )


def _polylines(points: Sequence[Point | None]) -> Iterator[str]:
    """One for each run of known points; of a single one none, as it is no line."""
    for is_known, run in groupby(points, bool):
        spots = [spot for spot in run if spot is not None]
        if is_known and len(spots) > 1:
            yield " ".join(f"{x},{y}" for x, y in spots)
