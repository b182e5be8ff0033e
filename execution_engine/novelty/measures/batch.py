"""What is kept of a batch: the statistics of each of its columns, beside the pools of its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from execution_engine.novelty.days import Day
from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.distinct import DistinctSample
from execution_engine.profiles.profile import Profile

from .features import features_of
from .measure import measured, measured_rows
from .pool import Pool

Floats = npt.NDArray[np.float64]

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
