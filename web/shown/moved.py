"""What moved in a batch that is unlike those before it, each statistic with a small plot of its past. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 280.0, 44.0
_MARGIN = 4.0
_MOST = 60  # of the past that are drawn


@dataclass(frozen=True, kw_only=True)
class Moved:
    """One statistic in words, and as points of a plot: its past as a line, what is usual as a band, now as a dot."""

    text: str
    line: str = ""
    band: tuple[float, float] | None = None  # the upper edge and the height
    now: tuple[float, float] | None = None


def moved(found: Sequence[Mapping[str, Any]]) -> list[Moved]:
    """Of what novelty found, the largest first."""
    return [_drawn(cause) for each in found for cause in each.get("causes", ())]


def _drawn(cause: Mapping[str, Any]) -> Moved:
    past = [float(value) for _, value in cause.get("past", ())][-_MOST:]
    value = cause["value"]
    if len(past) < 2 or not isinstance(value, int | float):
        return Moved(text=cause["text"])
    low, high = min(*past, value), max(*past, value)
    span = high - low or 1.0
    step = (WIDTH - 2 * _MARGIN) / len(past)

    def at(number: float) -> float:
        return round(HEIGHT - _MARGIN - (number - low) / span * (HEIGHT - 2 * _MARGIN), 1)

    points = " ".join(f"{round(_MARGIN + place * step, 1)},{at(each)}" for place, each in enumerate(past))
    band = None
    if cause.get("low") is not None and cause.get("high") is not None:
        top, bottom = at(min(cause["high"], high)), at(max(cause["low"], low))
        band = (top, max(bottom - top, 1.0))
    return Moved(text=cause["text"], line=points, band=band, now=(round(WIDTH - _MARGIN, 1), at(value)))
