"""The rules on figures: extremes, means, deviations and lengths, as far out as windows differ (pure)."""

from collections.abc import Callable, Sequence
from math import ceil, floor, inf, isfinite, log10, nextafter, sqrt

import numpy as np

from execution_engine.metrics.columns import written
from execution_engine.profiles.column import ColumnKind, ColumnProfile

from .candidate import Candidate, are_numbers, candidate

REACH = 4.0  # standard deviations over windows, in which the next window's figure is expected
MOVED = 3  # steps one way, after which a figure is expected to go on: no bound would last
LARGEST_EXACT = 2**53  # up to which each whole number is a float
NOISE = 1e-9  # of a figure: what adding up in another order may move it by


def has_min(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    return _end(name, windows, "HasMin", is_low=True)


def has_max(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    return _end(name, windows, "HasMax", is_low=False)


def has_mean(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    return _figure(name, windows, "HasMean", "mean", lambda window: window.numbers.mean if window.numbers else None)


def has_standard_deviation(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    def deviation(window: ColumnProfile) -> float | None:
        return window.numbers.deviation if window.numbers else None

    return _figure(name, windows, "HasStandardDeviation", "stddev", deviation)


def has_min_length(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    return _length(name, windows, "HasMinLength", is_low=True)


def has_max_length(name: str, windows: Sequence[ColumnProfile]) -> Candidate | None:
    return _length(name, windows, "HasMaxLength", is_low=False)


def _end(name: str, windows: Sequence[ColumnProfile], rule: str, *, is_low: bool) -> Candidate | None:
    """The lowest or highest number: as it was where it was always the same, else as far out as windows differ."""
    if not are_numbers(windows):
        return None
    ends = [(w.numbers.low if is_low else w.numbers.high) for w in windows if w.numbers and w.numbers.finite]
    if not ends or not all(map(isfinite, ends)) or _grows_as_keys_do(windows) or moves_one_way(ends):
        return None
    end = min(ends) if is_low else max(ends)
    spread = float(max(ends) - min(ends))
    bound = end if not spread else _rounded(end - spread if is_low else end + spread, spread, down=is_low)
    if abs(bound) >= LARGEST_EXACT:  # a profile has floats: the number itself may lie one farther out
        bound = nextafter(bound, -inf if is_low else inf)
    if is_low and bound < 0 <= min(ends):
        bound = 0.0
    metric, sign = ("min", ">=") if is_low else ("max", "<=")
    return candidate(
        rule,
        f"{metric}({written(name)}) {sign} {number_text(bound)}",
        f"the {'lowest' if is_low else 'highest'} number was {end:g}",
        lambda window: (
            window.numbers is None
            or not window.numbers.finite
            or (window.numbers.low >= bound if is_low else window.numbers.high <= bound)
        ),
    )


def _figure(
    name: str, windows: Sequence[ColumnProfile], rule: str, metric: str, figure: Callable[[ColumnProfile], float | None]
) -> Candidate | None:
    """A figure of every window, within four standard deviations over the windows."""
    if not are_numbers(windows):
        return None
    known = [window for window in windows if window.numbers and window.numbers.finite]
    values = [value for window in known if (value := figure(window)) is not None]
    if _grows_as_keys_do(windows) or moves_one_way(values) or (usual := usual_range(values)) is None:
        return None
    low, high = usual
    if metric == "stddev":
        low = max(0.0, low)
    return candidate(
        rule,
        f"{metric}({written(name)}) between {number_text(low)} and {number_text(high)}",
        f"it was {min(values):.6g} to {max(values):.6g}",
        lambda window: (
            (value := figure(window)) is None or not (window.numbers and window.numbers.finite) or low <= value <= high
        ),
    )


def usual_range(values: Sequence[float]) -> tuple[float, float] | None:
    """Four standard deviations around the mean, and no value outside; None of too few values, or where all are one."""
    if len(values) < 3:
        return None
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    reach = REACH * spread * sqrt(1 + 1 / len(values))
    if not isfinite(mean) or not isfinite(reach) or reach <= NOISE * abs(mean):
        return None
    low, high = min(mean - reach, *values), max(mean + reach, *values)
    return _rounded(low, reach, down=True), _rounded(high, reach, down=False)


def moves_one_way(figures: Sequence[float]) -> bool:
    """Whether a figure of windows in their order never fell, or never rose, and changed at least three times."""
    steps = np.diff(figures)
    return bool(((steps >= 0).all() or (steps <= 0).all()) and np.count_nonzero(steps) >= MOVED)


def _grows_as_keys_do(windows: Sequence[ColumnProfile]) -> bool:
    """Whether the numbers of each window lie above all those of the window before it."""
    ends = [(w.numbers.low, w.numbers.high) for w in windows if w.numbers and w.numbers.finite]
    return len(ends) > 1 and all(low > before for (low, _), (_, before) in zip(ends[1:], ends, strict=False))


def _length(name: str, windows: Sequence[ColumnProfile], rule: str, *, is_low: bool) -> Candidate | None:
    if any(window.kind not in (ColumnKind.TEXT, ColumnKind.NOTHING) for window in windows):
        return None
    lengths = [window.texts.lengths for window in windows if window.texts and window.texts.lengths.finite]
    if not lengths:
        return None
    ends = [round(each.low if is_low else each.high) for each in lengths]
    spread = max(ends) - min(ends)
    bound = max(0, min(ends) - spread) if is_low else max(ends) + spread
    if is_low and not bound:
        return None
    metric, sign = ("min_length", ">=") if is_low else ("max_length", "<=")
    return candidate(
        rule,
        f"{metric}({written(name)}) {sign} {bound}",
        f"texts had {min(ends) if is_low else max(ends)} characters at {'least' if is_low else 'most'}",
        lambda window: (
            window.texts is None
            or not window.texts.lengths.finite
            or (window.texts.lengths.low >= bound if is_low else window.texts.lengths.high <= bound)
        ),
    )


def _rounded(value: float, scale: float, *, down: bool) -> float:
    """Outwards, to two digits of the scale."""
    step = 10.0 ** (floor(log10(scale)) - 1)
    return float(f"{(floor if down else ceil)(value / step) * step:.12g}")


def number_text(value: float) -> str:
    """As few digits as name it."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
