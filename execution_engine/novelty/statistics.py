"""The statistics that batches are compared by: one row each, in the order of every array of novelty."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class Notation(StrEnum):
    """How people read a statistic's value."""

    SHARE = "share"  # 0 to 1
    NUMBER = "number"
    COUNT = "count"
    DISTANCE = "distance"  # 0: like the past


@dataclass(frozen=True)
class BatchStatistic:
    """``words`` go before "of" and the column's name; a distance speaks only where it grows.

    A change of what never changed is seen at once, but for two kinds: ``is_open`` is what new extremes are, which come
    with time in sound data; ``by_rows`` is what one row alone moves, and one row alone is no news.
    """

    words: str
    notation: Notation
    is_distance: bool = False
    rare: bool = False  # what it counts may be so rare that its share is no normal variable: its counts are kept too
    rare_sign: int = 1  # -1: what is rare is what the share lacks
    is_open: bool = False
    by_rows: bool = False


_SHARE = partial(BatchStatistic, notation=Notation.SHARE)
_NEW = partial(BatchStatistic, notation=Notation.SHARE, is_distance=True)
_NUMBER = partial(BatchStatistic, notation=Notation.NUMBER)
_DISTANCE = partial(BatchStatistic, notation=Notation.DISTANCE, is_distance=True)

STATISTICS: Mapping[str, BatchStatistic] = {
    "rows": BatchStatistic(words="rows", notation=Notation.COUNT),
    "repeated": _SHARE("share of rows that repeat another one", by_rows=True),
    # of every column
    "complete": _SHARE("share of complete values", rare=True, rare_sign=-1),
    "beside": _SHARE("share of complete values less that", by_rows=True),
    "most_frequent": _SHARE("share of the most frequent value", by_rows=True),
    "distinct": _SHARE("distinct values per row", by_rows=True),
    "unique": _SHARE("share of values that occur once", by_rows=True),
    "values_distance": _DISTANCE("distance of the frequent values from the past"),
    "values_new": _NEW("share of values never seen before", rare=True),
    # of numbers
    "zero": _SHARE("share of zeros", rare=True),
    "negative": _SHARE("share of negative numbers", rare=True),
    "broken": _SHARE("share of numbers with a fraction", rare=True),
    "nan": _SHARE("share of NaN", rare=True),
    "infinite": _SHARE("share of infinite numbers", rare=True),
    "mean": _NUMBER("mean"),
    "deviation": _NUMBER("standard deviation"),
    "stability": _DISTANCE("population stability index"),
    "below": _NEW("share of numbers below the lowest seen before", rare=True, is_open=True),
    "above": _NEW("share of numbers above the highest seen before", rare=True, is_open=True),
    "quantiles": _DISTANCE("mean distance of the quantiles from the past"),
    "low": _NUMBER("1 % quantile"),
    "high": _NUMBER("99 % quantile"),
    # of texts
    "length_mean": _NUMBER("mean length"),
    "length_deviation": _NUMBER("standard deviation of the length"),
    "length_low": _NUMBER("mean length of the shortest tenth"),
    "length_median": _NUMBER("mean length of the middle fifth"),
    "length_high": _NUMBER("mean length of the longest tenth"),
    "shapes": BatchStatistic(words="number of shapes", notation=Notation.COUNT),
    "shapes_distance": _DISTANCE("distance of the shapes from the past"),
    "shapes_new": _NEW("share of shapes never seen before", rare=True),
    "pairs_distance": _DISTANCE("distance of the pairs of letters from the past"),
    "pairs_new": _NEW("share of pairs of letters never seen before"),
    "pairs_surprise": _DISTANCE("surprise at the pairs of letters"),
    "lower case letters": _SHARE("share of lower case letters"),
    "upper case letters": _SHARE("share of upper case letters"),
    "digits": _SHARE("share of digits"),
    "spaces": _SHARE("share of spaces"),
    "marks": _SHARE("share of marks"),
    "letters beyond ASCII": _SHARE("share of letters beyond ASCII"),
    # Statistics that are new go last: the arrays of a past that was kept before are without them.
    "stale": _NEW("share of rows that the window before had too", rare=True),
    "values_gone": _NEW("share of the usual values that are gone", is_open=True),
}

WHOLE_BATCH = ""  # in place of a column's name
PLACE: Mapping[str, int] = {name: place for place, name in enumerate(STATISTICS)}
RARE: tuple[str, ...] = tuple(name for name, statistic in STATISTICS.items() if statistic.rare)
