"""The statistics that batches are compared by: one row each, in the order of every array in this room."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Shown(StrEnum):
    """How people read a statistic's value."""

    SHARE = "share"  # 0 to 1
    NUMBER = "number"
    COUNT = "count"
    DISTANCE = "distance"  # 0: like the past


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """``words`` go before "of" and the column's name; a distance speaks only where it grows.

    A change of what never changed is seen at once, but for two kinds: ``is_open`` is what new extremes are, which come
    with time in sound data; ``by_rows`` is what one row alone moves, and one row alone is no news.
    """

    words: str
    shown: Shown
    is_distance: bool = False
    rare: bool = False  # what it counts may be so rare that its share is no normal variable: its counts are kept too
    rare_sign: int = 1  # -1: what is rare is what the share lacks
    is_open: bool = False
    by_rows: bool = False


def _share(words: str, *, rare: bool = False, by_rows: bool = False) -> Statistic:
    return Statistic(words=words, shown=Shown.SHARE, rare=rare, by_rows=by_rows)


def _new(words: str, *, rare: bool = False, is_open: bool = False) -> Statistic:
    return Statistic(words=words, shown=Shown.SHARE, is_distance=True, rare=rare, is_open=is_open)


def _number(words: str) -> Statistic:
    return Statistic(words=words, shown=Shown.NUMBER)


def _distance(words: str) -> Statistic:
    return Statistic(words=words, shown=Shown.DISTANCE, is_distance=True)


STATISTICS: Mapping[str, Statistic] = {
    "rows": Statistic(words="rows", shown=Shown.COUNT),
    "repeated": _share("share of rows that repeat another one", by_rows=True),
    # of every column
    "complete": Statistic(words="share of complete values", shown=Shown.SHARE, rare=True, rare_sign=-1),
    "beside": Statistic(words="share of complete values less that", shown=Shown.SHARE, by_rows=True),
    "most_frequent": _share("share of the most frequent value", by_rows=True),
    "distinct": _share("distinct values per row", by_rows=True),
    "unique": _share("share of values that occur once", by_rows=True),
    "values_distance": _distance("distance of the frequent values from the past"),
    "values_new": _new("share of values never seen before", rare=True),
    # of numbers
    "zero": _share("share of zeros", rare=True),
    "negative": _share("share of negative numbers", rare=True),
    "broken": _share("share of numbers with a fraction", rare=True),
    "nan": _share("share of NaN", rare=True),
    "infinite": _share("share of infinite numbers", rare=True),
    "mean": _number("mean"),
    "deviation": _number("standard deviation"),
    "stability": _distance("population stability index"),
    "below": _new("share of numbers below the lowest seen before", rare=True, is_open=True),
    "above": _new("share of numbers above the highest seen before", rare=True, is_open=True),
    "quantiles": _distance("mean distance of the quantiles from the past"),
    "low": _number("1 % quantile"),
    "high": _number("99 % quantile"),
    # of texts
    "length_mean": _number("mean length"),
    "length_deviation": _number("standard deviation of the length"),
    "length_low": _number("mean length of the shortest tenth"),
    "length_median": _number("mean length of the middle fifth"),
    "length_high": _number("mean length of the longest tenth"),
    "shapes": Statistic(words="number of shapes", shown=Shown.COUNT),
    "shapes_distance": _distance("distance of the shapes from the past"),
    "shapes_new": _new("share of shapes never seen before", rare=True),
    "pairs_distance": _distance("distance of the pairs of letters from the past"),
    "pairs_new": _new("share of pairs of letters never seen before"),
    "pairs_surprise": _distance("surprise at the pairs of letters"),
    "lower case letters": _share("share of lower case letters"),
    "upper case letters": _share("share of upper case letters"),
    "digits": _share("share of digits"),
    "spaces": _share("share of spaces"),
    "marks": _share("share of marks"),
    "letters beyond ASCII": _share("share of letters beyond ASCII"),
    # Statistics that are new go last: the arrays of a past that was kept before are without them.
    "stale": _new("share of rows that the window before had too", rare=True),
    "values_gone": _new("share of the usual values that are gone", is_open=True),
}

PLACE: Mapping[str, int] = {name: place for place, name in enumerate(STATISTICS)}
RARE: tuple[str, ...] = tuple(name for name, statistic in STATISTICS.items() if statistic.rare)
