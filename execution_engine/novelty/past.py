"""The accepted past of a table: statistics of each batch, taken when it joined, and the pools of its columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.profile import Profile

from .measures.batch import MEASURED, Batch, batch_of
from .measures.companions import Ints, companions, put_beside
from .measures.pool import Pool
from .measures.statistics import PLACE, RARE, STATISTICS
from .scores import History, leave_one_out, rare_leave_one_out
from .terms import LAST_BATCHES

Floats = npt.NDArray[np.float64]

MOST_BATCHES = 366  # that are kept

ONE_SIDED = np.array([statistic.is_distance for statistic in STATISTICS.values()])
_RARE_PLACES = np.array([PLACE[name] for name in RARE])
_RARE_SIGNS = np.array([STATISTICS[name].rare_sign for name in RARE])


@dataclass(frozen=True, kw_only=True, eq=False)
class Past:
    """All batches that were accepted, oldest first. Each is compared with those before it alone."""

    batches: tuple[Batch, ...] = ()
    pools: Mapping[str, Pool] = field(default_factory=dict)

    def joined(self, profile: Profile, *, released: bool = False) -> "Past":
        """With one more accepted batch; ``released``: though it was novel, so others like it are no news either."""
        batch = replace(batch_of(profile, self.pools), released=released)
        pools = dict(self.pools)
        for name, column in profile.columns.items():
            if column.present and column.kind is not ColumnKind.NOTHING:
                pools[name] = pools.get(name, Pool(kind=column.kind)).joined(column)
        return Past(batches=(*self.batches, batch)[-MOST_BATCHES:], pools=pools)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the last batches, in order."""
        return tuple(sorted({name for batch in self._last for name in batch.names}))

    @cached_property
    def history(self) -> History:
        """Arrays (batches, columns, statistics) of the last batches, in which a column was of its present kind."""
        changed = np.array([[self._is_changed(batch, name) for name in self.names] for batch in self._last])[..., None]
        arrays = {
            part: np.where(changed, np.nan, [batch.aligned(part, self.names) for batch in self._last])
            for part in MEASURED
        }
        put_beside(arrays, companions(arrays["scaled"]))
        return History(**arrays)

    @cached_property
    def companions(self) -> Ints:
        """For each of the columns the place of the one whose gaps it shares; -1 where there is none."""
        return companions(self.history.scaled)

    @cached_property
    def scores(self) -> Floats:
        """The score of each of the last batches that were not released, given the others."""
        z = combined(leave_one_out(self.history), rare_leave_one_out(self.history))
        return np.delete(largest(z), self.released)

    @cached_property
    def released(self) -> list[int]:
        """Which of the last batches were."""
        return [place for place, batch in enumerate(self._last) if batch.released]

    @property
    def _last(self) -> tuple[Batch, ...]:
        return self.batches[-LAST_BATCHES:]

    def _is_changed(self, batch: Batch, name: str) -> bool:
        pool, kind = self.pools.get(name), batch.kinds.get(name)
        return pool is not None and kind not in (None, pool.kind, ColumnKind.NOTHING)


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
