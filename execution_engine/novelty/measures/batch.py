"""What is kept of a batch: the statistics of each of its columns, beside the pools of its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from execution_engine.novelty.days import Day
from execution_engine.profiles.profile import ColumnKind, ColumnProfile, Profile
from execution_engine.profiles.values import DistinctSample

from .measure import Pool, measured, measured_rows
from .statistics import PLACE

# Columns whose gaps go together, as those of flights that never left: then a gap in one of them alone is news.
#
# A share of missing values that is often large says little by itself; beside that of a companion it says much.

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WORTH = 0.5  # of the variance of a column's gaps that may be left beside its companion
_COMPLETE, _BESIDE = PLACE["complete"], PLACE["beside"]


def companions(scaled: Floats) -> Ints:
    """For each column the place of the one that leaves the least variance to its complete values; -1: none does.

    ``scaled``: (batches, columns, statistics).
    """
    complete = scaled[:, :, _COMPLETE]
    with np.errstate(all="ignore"):
        gappy = np.flatnonzero(np.fmax.reduce(complete) > np.fmin.reduce(complete))
        found = np.full(complete.shape[1], -1)
        for at in gappy.tolist():
            left = (complete[:, [at]] - complete[:, gappy]).var(axis=0)
            left = np.where((gappy == at) | np.isnan(left), np.inf, left)
            best = int(np.argmin(left))
            if left[best] < WORTH * np.nanvar(complete[:, at]):
                found[at] = gappy[best]
    return found


def put_beside(arrays: dict[str, Floats], of: Ints) -> None:
    """Writes what complete values are beside those of companions into arrays (…, columns, statistics)."""
    at = np.flatnonzero(of >= 0)
    for part in ("scaled", "shown"):
        own = arrays[part][..., _COMPLETE]
        arrays[part][..., at, _BESIDE] = own[..., at] - own[..., of[at]]
    floors = arrays["floors"][..., at, _COMPLETE]
    arrays["floors"][..., at, _BESIDE] = floors * np.sqrt(2)
    arrays["least"][..., at, _BESIDE] = floors * 2 / 3  # of one row where hardly any value is missing


# The statistics of the paper's method (Redyuk et al., Automating Data Quality Validation, 2021), by column.

FEATURES = (
    "share of complete values",
    "distinct values",
    "share of the most frequent value",
    "lowest number",
    "mean",
    "highest number",
    "standard deviation",
    "index of peculiarity",
)


def features_of(column: ColumnProfile | None) -> npt.NDArray[np.float64]:
    """Of one column, in the order of FEATURES; NaN: it has none."""
    if column is None:
        return np.full(len(FEATURES), nan)
    numbers, texts = column.numbers, column.texts
    of_numbers = (nan,) * 4
    if numbers is not None and numbers.finite:
        of_numbers = (numbers.low, numbers.mean, numbers.high, numbers.deviation)
    return np.array(
        [
            column.present / column.rows if column.rows else nan,
            column.distinct,
            column.values.most / column.rows if column.rows else nan,
            *of_numbers,
            texts.peculiarity if texts is not None else nan,
        ]
    )


WHOLE_BATCH = ""  # in place of a column's name
MEASURED = ("scaled", "floors", "least", "shown", "rare", "of")  # the arrays of ``Measured``
OF_PAPER = "features"  # those of the paper

_SEVEN_DIGITS = np.uint64(0xFFFF_FFFF_E000_0000)  # of a double: sign, exponent and 23 of 52 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Names with the whole batch first, the kind of each column, and arrays (names, …) of ``MEASURED`` and OF_PAPER.

    ``released``: it was novel, and a person said that it is right, or it is ``unanswered``: nobody said anything.
    ``day``: where it holds one local day.
    """

    names: tuple[str, ...]
    kinds: Mapping[str, ColumnKind]
    arrays: Mapping[str, Floats]
    released: bool = False
    day: Day | None = None
    unanswered: bool = False

    def aligned(self, part: str, names: Sequence[str]) -> Floats:
        """An array in the order of other names; NaN where this batch has none of a name."""
        array, places = self.arrays[part], {name: place for place, name in enumerate(self.names)}
        at = np.array([places.get(name, -1) for name in names], np.int64)
        return np.where((at >= 0)[:, None], array[at], np.nan)


def batch_of(profile: Profile, pools: Mapping[str, Pool], before: DistinctSample) -> Batch:
    """The statistics of a batch beside the pools of what came before it, and the keys of the last rows of that."""
    with np.errstate(all="ignore"):
        found = [measured(column, pools.get(name)) for name, column in profile.columns.items()]
        features = [features_of(None), *map(features_of, profile.columns.values())]
    rows = [measured_rows(profile, before), *found]
    arrays = {part: _rounded(np.array([getattr(each, part) for each in rows])) for part in MEASURED}
    return Batch(
        names=(WHOLE_BATCH, *profile.columns),
        kinds={name: column.kind for name, column in profile.columns.items()},
        arrays={**arrays, OF_PAPER: np.array(features)},
    )


def _rounded(array: Floats) -> Floats:
    """To seven digits: far finer than the noise of any statistic, and half as many bytes to keep for a year.

    Done here, and not where bytes are written, so that a past judges alike before and after.
    """
    return (array.view(np.uint64) & _SEVEN_DIGITS).view(np.float64)
