"""The rules of suggestions: what profiles of several windows say of a column, as an assertion (pure).

The first thirteen are Deequ's (Schelter et al. 2018, section 3.3, and the rules of the same names in Deequ); the others
say what shapes and clocks give away. A rule is fitted on windows, the oldest first, and gives at most one candidate.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, inf, isfinite, log10, nextafter, sqrt
from typing import Any

import numpy as np

from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import quoted
from execution_engine.profiles.lints import has_secrets
from execution_engine.profiles.profile import ColumnProfile, ValueKind
from execution_engine.profiles.report import may_be_key
from execution_engine.profiles.values import Numbers

# What a rule of suggestions offers: an assertion, why, and which windows meet it (pure).


@dataclass(frozen=True)
class Candidate:
    """An assertion, why it is offered, and whether a window meets it: the profile of its column, or all its rows."""

    rule: str
    assertion: str
    why: str
    holds: Callable[[Any], bool]
    columns: tuple[str, ...] = ()  # of the rows that it is about


def are_numbers(windows: "Windows") -> bool:
    """Whether all that is there is a number: metrics of NaN and infinities are no numbers either."""
    return all(
        window.kind is ValueKind.NOTHING
        or (window.kind is ValueKind.NUMBER and window.numbers is not None and window.numbers.finite == window.present)
        for window in windows
    )


def sql_name(name: str) -> str:
    """A column as a condition in SQL names it."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


# The rules on figures: extremes, means, deviations and lengths, as far out as windows differ (pure).

REACH = 4.0  # standard deviations over windows, in which the next window's figure is expected
MOVED = 3  # steps one way, after which a figure is expected to go on: no bound would last
LARGEST_EXACT = 2**53  # up to which each whole number is a float
NOISE = 1e-9  # of a figure: what adding up in another order may move it by

Windows = Sequence[ColumnProfile]


def extreme(name: str, windows: Windows, *, is_low: bool) -> Candidate | None:
    """The lowest or highest number: as it was where it was always the same, else as far out as windows differ."""
    ends = [(w.numbers.low if is_low else w.numbers.high) for w in windows if w.numbers and w.numbers.finite]
    if not are_numbers(windows) or not ends or not all(map(isfinite, ends)):
        return None
    if _grows_as_keys_do(windows) or moves_one_way(ends):
        return None
    end = min(ends) if is_low else max(ends)
    spread = float(max(ends) - min(ends))
    bound = end if not spread else _rounded(end - spread if is_low else end + spread, spread, down=is_low)
    if abs(bound) >= LARGEST_EXACT:  # a profile has floats: the number itself may lie one farther out
        bound = nextafter(bound, -inf if is_low else inf)
    if is_low and bound < 0 <= min(ends):
        bound = 0.0
    rule, metric, sign, what = ("HasMin", "min", ">=", "lowest") if is_low else ("HasMax", "max", "<=", "highest")
    assertion, why = f"{metric}({written(name)}) {sign} {number_text(bound)}", f"the {what} number was {end:g}"
    return Candidate(rule, assertion, why, lambda window: _is_within(window.numbers, bound, is_low=is_low))


def length(name: str, windows: Windows, *, is_low: bool) -> Candidate | None:
    """The length of the shortest or longest text, as far out as windows differ."""
    lengths = [window.texts.lengths for window in windows if window.texts and window.texts.lengths.finite]
    if not lengths or any(window.kind not in (ValueKind.TEXT, ValueKind.NOTHING) for window in windows):
        return None
    ends = [round(extent.low if is_low else extent.high) for extent in lengths]
    spread = max(ends) - min(ends)
    bound = max(0, min(ends) - spread) if is_low else max(ends) + spread
    if is_low and not bound:
        return None
    rule, metric, sign = ("HasMinLength", "min_length", ">=") if is_low else ("HasMaxLength", "max_length", "<=")
    return Candidate(
        rule,
        f"{metric}({written(name)}) {sign} {bound}",
        f"texts had {min(ends) if is_low else max(ends)} characters at {'least' if is_low else 'most'}",
        lambda window: _is_within(window.texts and window.texts.lengths, bound, is_low=is_low),
    )


def _is_within(numbers: Numbers | None, bound: float, *, is_low: bool) -> bool:
    if numbers is None or not numbers.finite:
        return True
    return numbers.low >= bound if is_low else numbers.high <= bound


def figure(name: str, windows: Windows, *, rule: str, metric: str, field: str) -> Candidate | None:
    """A figure of every window, within four standard deviations over the windows."""
    if not are_numbers(windows):
        return None
    values = [getattr(window.numbers, field) for window in windows if window.numbers and window.numbers.finite]
    if _grows_as_keys_do(windows) or moves_one_way(values) or (usual := usual_range(values)) is None:
        return None
    low, high = usual
    if metric == "stddev":
        low = max(0.0, low)
    return Candidate(
        rule,
        f"{metric}({written(name)}) between {number_text(low)} and {number_text(high)}",
        f"it was {min(values):.6g} to {max(values):.6g}",
        lambda window: not (window.numbers and window.numbers.finite) or low <= getattr(window.numbers, field) <= high,
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


def _grows_as_keys_do(windows: Windows) -> bool:
    """Whether the numbers of each window lie above all those of the window before it."""
    ends = [(w.numbers.low, w.numbers.high) for w in windows if w.numbers and w.numbers.finite]
    return len(ends) > 1 and all(low > before for (low, _), (_, before) in zip(ends[1:], ends, strict=False))


def _rounded(value: float, scale: float, *, down: bool) -> float:
    """Outwards, to two digits of the scale."""
    step = 10.0 ** (floor(log10(scale)) - 1)
    return float(f"{(floor if down else ceil)(value / step) * step:.12g}")


def number_text(value: float) -> str:
    """As few digits as name it."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


MOST_CATEGORIES = 100  # values of a column that may be listed
CATEGORY_SHARE = 0.1  # Deequ's: at most so many different values, by the rows
MOST_SHARE = 0.9  # of the rows, that the listed values of a fractional range have at least (Deequ's)
SOME_COMPLETE = 0.2  # Deequ's: below, missing values are usual
CONFIDENCE = 1.96  # of the binomial proportion, as in Deequ
FEW_ROWS = 20
_FRACTION = r"^[-+]?\d+\.\d+$"

Rule = Callable[[str, Windows], Candidate | None]


def candidates(name: str, windows: Windows) -> Iterator[Candidate]:
    """What every rule makes of a column of these windows; nothing of one that has hardly any values."""
    filled_windows = [window for window in windows if window.present]
    if (
        sum(window.present for window in filled_windows) < FEW_ROWS
        or len({window.kind for window in filled_windows}) != 1
    ):
        return
    rules = OF_COUNTS if any(map(has_secrets, filled_windows)) else RULES
    yield from filter(None, (rule(name, windows) for rule in rules))


def complete_if_complete(name: str, windows: Windows) -> Candidate | None:
    if any(window.nulls for window in windows):
        return None
    assertion = f"completeness({written(name)}) = 1"
    return Candidate("CompleteIfComplete", assertion, "no value was missing", lambda window: not window.nulls)


def retain_completeness(name: str, windows: Windows) -> Candidate | None:
    shares = [window.present / window.rows for window in windows if window.rows]
    if not shares or min(shares) == 1 or min(shares) < SOME_COMPLETE:
        return None
    rows = [window.rows for window in windows if window.rows]
    lows = [share - CONFIDENCE * sqrt(share * (1 - share) / count) for share, count in zip(shares, rows, strict=True)]
    usual = float(np.mean(shares)) - float(np.std(shares)) * REACH / 2
    least = floor(100 * max(0.0, min(*lows, usual))) / 100
    if not least:
        return None
    assertion, why = (
        f"completeness({written(name)}) >= {least:g}",
        f"{min(shares):.1%} of the values were there at least",
    )
    return Candidate("RetainCompleteness", assertion, why, lambda window: window.present >= least * window.rows)


def retain_type(name: str, windows: Windows) -> Candidate | None:
    """Texts that are all written as whole numbers, or as numbers with a point."""
    for what, shape, pattern in (("whole numbers", r"[-+]?9+", r"^[-+]?\d+$"), ("numbers", r"[-+]?9+\.9+", _FRACTION)):
        if all(_all_of_shape(shape, window) for window in windows if window.present):
            assertion = f"pattern_match({written(name)}, {quoted(pattern)}) = 1"
            return Candidate("RetainType", assertion, f"all texts were {what}", partial(_all_of_shape, shape))
    return None


def categorical_range(name: str, windows: Windows) -> Candidate | None:
    """All values, unless some window had one that no other had: then the next may well have a new one."""
    values = _categories(windows)
    if values is None or _may_grow(windows):
        return None
    labels, why = frozenset(values), f"{_counted(len(values), 'value')} occurred"
    assertion = f"compliance({quoted(_in(name, values))}) = 1"
    return Candidate("CategoricalRange", assertion, why, lambda w: labels.issuperset(_labels(w) or [object()]))


def fractional_categorical_range(name: str, windows: Windows) -> Candidate | None:
    """The values that have nine tenths of the rows, where others are rare, or may be new."""
    if _categories(windows) is not None and not _may_grow(windows):
        return None
    counts: Counter[object] = Counter()
    for window in windows:
        if window.kind not in (ValueKind.TEXT, ValueKind.NUMBER) or (labels := _labels(window)) is None:
            return None
        for label, count in zip(labels, window.values.counts.tolist(), strict=True):
            counts[label] += count
    rows = counts.total()
    ranked = sorted(counts, key=lambda label: (-counts[label], str(label)))
    sums = np.cumsum([counts[label] for label in ranked])
    values = ranked[: int(np.searchsorted(sums, MOST_SHARE * rows)) + 1]
    if len(values) > MOST_CATEGORIES / 4 or len(values) > CATEGORY_SHARE * rows / 10:
        return None
    common_labels = frozenset(values)
    shares = [_share_in(window, common_labels) for window in windows if window.present]
    least = floor(100 * (min(shares) - REACH / 2 * float(np.std(shares)))) / 100
    if least <= 0.5:
        return None
    assertion = f"compliance({quoted(_in(name, _sorted(values)))}) >= {least:g}"
    why = f"{_counted(len(values), 'value')} had {min(shares):.1%} of the rows at least"
    return Candidate(
        "FractionalCategoricalRange", assertion, why, lambda w: not w.present or _share_in(w, common_labels) >= least
    )


def non_negative_numbers(name: str, windows: Windows) -> Candidate | None:
    def holds(window: ColumnProfile) -> bool:
        return window.numbers is None or not window.numbers.negatives

    if not are_numbers(windows) or not all(map(holds, windows)):
        return None
    return Candidate("NonNegativeNumbers", f"non_negative({written(name)}) = 1", "no number was below 0", holds)


def unique_if_unique(name: str, windows: Windows) -> Candidate | None:
    def holds(window: ColumnProfile) -> bool:
        return window.rows < 2 or may_be_key(window)

    if not all(map(holds, windows)) or sum(window.rows for window in windows) < 2:
        return None
    why = "every row had a value of its own"
    return Candidate("UniqueIfApproximatelyUnique", f"uniqueness({written(name)}) = 1", why, holds)


def shape_candidate(name: str, windows: Windows) -> Candidate | None:
    """Texts of one shape, such as N14228: a letter, then five digits."""
    shapes = {str(shape) for window in windows if window.texts for shape, _ in window.texts.shapes.frequent(50)}
    cut = any(window.texts is None or window.texts.shapes.cut for window in windows if window.present)
    if cut or not 0 < len(shapes) <= 3 or any(len(shape) > 24 or "~" in shape for shape in shapes):
        return None
    pattern = "^(" + "|".join(sorted(map(pattern_of, shapes))) + ")$" if len(shapes) > 1 else f"^{pattern_of(*shapes)}$"
    if not any(mark in pattern for mark in ("[", "\\d")):
        return None

    def holds(window: ColumnProfile) -> bool:
        texts = window.texts
        return not window.present or (texts is not None and shapes >= {str(s) for s, _ in texts.shapes.frequent(1000)})

    assertion = f"pattern_match({written(name)}, {quoted(pattern)}) = 1"
    return Candidate("OneShape", assertion, f"all texts were written like {', '.join(sorted(shapes))}", holds)


def clock(name: str, windows: Windows) -> Candidate | None:
    """Whole numbers of up to four digits that read as hours and minutes: 5, 1430, 2359."""
    if not are_numbers(windows) or not all(map(_is_clock, windows)):
        return None
    if max(window.numbers.high for window in windows if window.numbers) < 1000 or sum(w.distinct for w in windows) < 60:
        return None
    column = sql_name(name)
    condition = f"{column} is null or ({column} between 0 and 2400 and {column} % 100 < 60)"
    why = "all numbers read as a clock of four digits"
    return Candidate("Clock", f"compliance({quoted(condition)}) = 1", why, _is_clock)


RULES: tuple[Rule, ...] = (
    complete_if_complete,
    retain_completeness,
    retain_type,
    categorical_range,
    fractional_categorical_range,
    non_negative_numbers,
    unique_if_unique,
    partial(extreme, is_low=True),
    partial(extreme, is_low=False),
    partial(figure, rule="HasMean", metric="mean", field="mean"),
    partial(figure, rule="HasStandardDeviation", metric="stddev", field="deviation"),
    partial(length, is_low=True),
    partial(length, is_low=False),
    shape_candidate,
    clock,
)
OF_COUNTS = (complete_if_complete, retain_completeness, unique_if_unique)  # of values that nobody may see


def pattern_of(shape: str) -> str:
    """The regular expression of a shape: ``^[A-Z]\\d{5}$`` without its ends, of ``A99999``."""
    parts = re.findall(r"A+|a+|9+|[^Aa9]", shape)
    classes = {"A": "[A-Z]", "a": "[a-z]", "9": "\\d"}
    return "".join(
        (classes[part[0]] if part[0] in classes else re.escape(part)) + (f"{{{len(part)}}}" if len(part) > 1 else "")
        for part in parts
    )


def _categories(windows: Windows) -> list[object] | None:
    """All values of the windows, where they are few for the rows; None elsewhere."""
    values: set[object] = set()
    for window in windows:
        labels = _labels(window)
        if labels is None or window.kind not in (ValueKind.TEXT, ValueKind.NUMBER):
            return None
        values |= set(labels)
    are_texts = all(window.kind is ValueKind.TEXT for window in windows)
    most = min(MOST_CATEGORIES * (1 if are_texts else 1 / 4), CATEGORY_SHARE * sum(w.present for w in windows))
    return _sorted(values) if 0 < len(values) <= most else None


def _may_grow(windows: Windows) -> bool:
    """Whether a value was in one window alone; of a single window, in one row alone.

    The number of such values over that of the windows is what the next window can be expected to have of values that
    were in none (Good, The population frequencies of species, 1953).
    """
    if len(windows) == 1:
        return 1 in windows[0].values.counts
    seen = Counter(label for window in windows for label in set(_labels(window) or ()))
    return 1 in seen.values()


def _sorted(values: Iterable[Any]) -> list[object]:
    return sorted(values, key=lambda label: (isinstance(label, str), label))


def _labels(window: ColumnProfile) -> list[object] | None:
    """All values of a window; None where some are not known."""
    labels: list[object] = window.values.labels.tolist()
    is_complete = not window.values.cut and not any(label is None or label != label for label in labels)
    return labels if is_complete else None


def _share_in(window: ColumnProfile, common_labels: frozenset[object]) -> float:
    labels = window.values.labels.tolist()
    rows = sum(int(n) for label, n in zip(labels, window.values.counts.tolist(), strict=True) if label in common_labels)
    return rows / window.present


def _is_clock(window: ColumnProfile) -> bool:
    if not window.present:
        return True
    labels = _labels(window)
    return labels is not None and all(
        isinstance(label, int | float) and float(label).is_integer() and 0 <= label <= 2400 and label % 100 < 60
        for label in labels
    )


def _all_of_shape(pattern: str, window: ColumnProfile) -> bool:
    shapes = window.texts.shapes if window.texts else None
    if window.kind is not ValueKind.TEXT or shapes is None or shapes.cut:
        return not window.present
    return all(re.fullmatch(pattern, str(shape)) for shape, _ in shapes.frequent(len(shapes.keys)))


def _in(name: str, values: Sequence[object]) -> str:
    literals = ("'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value) for value in values)
    return f"{sql_name(name)} is null or {sql_name(name)} in ({', '.join(literals)})"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
