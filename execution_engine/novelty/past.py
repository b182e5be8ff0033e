"""The accepted past of a table: statistics of each batch, taken when it joined, and the pools of its columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.profile import Profile

from .companions import Ints, companions, put_beside
from .features import Features, features_of
from .measure import Measured, measured, measured_rows
from .pool import Pool
from .scores import History, leave_one_out, rare_leave_one_out
from .statistics import PLACE, RARE, STATISTICS

Floats = npt.NDArray[np.float64]

WHOLE_BATCH = ""  # in place of a column's name
LAST_BATCHES = 90  # that statistics are compared with
MOST_BATCHES = 366  # that are kept

PARTS = ("scaled", "floors", "least", "shown", "rare", "of")
ONE_SIDED = np.array([statistic.is_distance for statistic in STATISTICS.values()])
_RARE_PLACES = np.array([PLACE[name] for name in RARE])
_RARE_SIGNS = np.array([STATISTICS[name].rare_sign for name in RARE])


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """What is kept of an accepted batch: the kind and the statistics of each column, by its name."""

    kinds: Mapping[str, ColumnKind]
    measured: Mapping[str, Measured]
    features: Features


@dataclass(frozen=True, kw_only=True, eq=False)
class Past:
    """All batches that were accepted, oldest first. Each is compared with those before it alone."""

    batches: tuple[Batch, ...] = ()
    pools: Mapping[str, Pool] = field(default_factory=dict)

    def joined(self, profile: Profile) -> "Past":
        """With one more accepted batch."""
        batch = Batch(
            kinds={name: column.kind for name, column in profile.columns.items()},
            measured=self.measured(profile),
            features=features_of(profile),
        )
        pools = dict(self.pools)
        for name, column in profile.columns.items():
            if column.present and column.kind is not ColumnKind.NOTHING:
                pools[name] = pools.get(name, Pool(kind=column.kind)).joined(column)
        return Past(batches=(*self.batches, batch)[-MOST_BATCHES:], pools=pools)

    def measured(self, profile: Profile) -> dict[str, Measured]:
        """The statistics of a batch beside this past, by column."""
        with np.errstate(all="ignore"):
            found = {name: measured(column, self.pools.get(name)) for name, column in profile.columns.items()}
        return {WHOLE_BATCH: measured_rows(profile.rows), **found}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the last batches, in order."""
        return tuple(sorted({name for batch in self._last for name in batch.measured}))

    @cached_property
    def history(self) -> History:
        """Arrays (batches, columns, statistics) of the last batches, in which a column was of its present kind."""
        unknown = Measured()
        rows = [[self._of(batch, name) or unknown for name in self.names] for batch in self._last]
        arrays = {part: np.array([[getattr(each, part) for each in row] for row in rows]) for part in PARTS}
        put_beside(arrays, companions(arrays["scaled"]))
        return History(**arrays)

    @cached_property
    def companions(self) -> Ints:
        """For each of the columns the place of the one whose gaps it shares; -1 where there is none."""
        return companions(self.history.scaled)

    @cached_property
    def scores(self) -> Floats:
        """The score of each of the last batches, given the others."""
        z = combined(leave_one_out(self.history), rare_leave_one_out(self.history))
        return largest(z)

    @property
    def _last(self) -> tuple[Batch, ...]:
        return self.batches[-LAST_BATCHES:]

    def _of(self, batch: Batch, name: str) -> Measured | None:
        pool = self.pools.get(name)
        kind = batch.kinds.get(name)
        changed = pool is not None and kind not in (None, pool.kind, ColumnKind.NOTHING)
        return None if changed else batch.measured.get(name)


def past_of(profiles: Iterable[Profile]) -> Past:
    """The past of batches in their order."""
    past = Past()
    for profile in profiles:
        past = past.joined(profile)
    return past


def combined(z: Floats, rare: Floats) -> Floats:
    """The z of each statistic, or that of its rare count where this is larger; distances only where they grow."""
    z = np.where(ONE_SIDED & (z < 0), 0.0, z)
    own = z[..., _RARE_PLACES]
    z[..., _RARE_PLACES] = np.where(np.nan_to_num(rare) > np.abs(np.nan_to_num(own)), rare * _RARE_SIGNS, own)
    return z


def largest(z: Floats) -> Floats:
    """The largest |z| of all columns and statistics of each batch; 0 where there is none."""
    sizes: Floats = np.nan_to_num(np.abs(z)).max(axis=(-2, -1), initial=0.0)
    return sizes
