"""The accepted past of a table: statistics of each batch, taken when it joined, and the pools of its columns."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property

import numpy as np

from execution_engine.profiles.profile import TableProfile, ValueKind
from execution_engine.profiles.stored import Envelope
from execution_engine.profiles.values import DistinctSample, Floats, Ints, ValueCounts

from .batch import MEASURED, Batch, Pool, PooledNumbers, batch_of, companions, put_beside
from .days import FURTHER_WINDOWS, LAST_BATCHES, Day, RareDay
from .scores import BatchHistory, Like, combined, largest, leave_one_out, nearer, rare_leave_one_out, z_beside
from .seasons import FEWEST_LIKE, Seasons, seasons_of
from .statistics import RARE, STATISTICS

MOST_BATCHES = 366  # that are kept
HALVED_AFTER = 20  # batches without an unanswered alarm
MOST_DOUBLINGS = 4  # so that what is loud is always news

# A distance from the pool of all days only shrinks as that grows, and what one row moves is chance on any weekday.
_HAS_WEEKDAYS = np.array([not (statistic.is_distance or statistic.by_rows) for statistic in STATISTICS.values()])


@dataclass(frozen=True, kw_only=True, eq=False)
class Past:
    """All batches that were accepted, oldest first. Each is compared with those before it alone."""

    batches: tuple[Batch, ...] = ()
    pools: Mapping[str, Pool] = field(default_factory=dict)
    last_rows: DistinctSample = field(default_factory=DistinctSample)  # the keys of the rows of the last batch

    def batch_of(self, profile: TableProfile) -> Batch:
        """The statistics of a batch beside all of these."""
        return batch_of(profile, self.pools, self.last_rows)

    def joined(
        self,
        profile: TableProfile,
        *,
        released: bool = False,
        unanswered: bool = False,
        day: Day | None = None,
        later: int = 0,
    ) -> "Past":
        """With one more accepted batch; ``released``: though it is novel, so others like it are no news either.
        ``unanswered``: so it is, as nobody said anything.

        ``later``: how many of the batches that joined before it are of later windows.
        """
        batch = replace(self.batch_of(profile), released=released or unanswered, day=day, unanswered=unanswered)
        pools = dict(self.pools)
        for name, column in profile.columns.items():
            if column.present and column.kind is not ValueKind.NOTHING:
                pools[name] = pools.get(name, Pool(kind=column.kind)).joined(column)
        place = len(self.batches) - later
        batches = (*self.batches[:place], batch, *self.batches[place:])[-MOST_BATCHES:]
        return Past(batches=batches, pools=pools, last_rows=self.last_rows if later else profile.sample)

    def dated(self, days: Sequence[Day | None]) -> "Past":
        """With the days of its last batches; those before them are of no day."""
        last_days = days[len(days) - min(len(days), len(self.batches)) :]
        aligned = (*[None] * (len(self.batches) - len(last_days)), *last_days)
        if aligned == tuple(batch.day for batch in self.batches):
            return self
        dated = tuple(replace(batch, day=day) for batch, day in zip(self.batches, aligned, strict=True))
        return replace(self, batches=dated)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the last batches, in order."""
        return tuple(sorted({name for batch in self.last for name in batch.names}))

    @cached_property
    def history(self) -> BatchHistory:
        """Arrays (batches, columns, statistics) of the last batches, in which a column was of its present kind.

        What a weekday adds is taken off what is scaled.
        """
        arrays = self.measured
        return BatchHistory(**{**arrays, "scaled": arrays["scaled"] - self.seasons.history})

    @cached_property
    def seasons(self) -> Seasons:
        """What weekdays add to each statistic of each column."""
        scaled = np.where(_HAS_WEEKDAYS, self.measured["scaled"], np.nan)
        return seasons_of(scaled, [batch.day for batch in self.last])

    @cached_property
    def companions(self) -> Ints:
        """For each of the columns the place of the one whose gaps it shares; -1 where there is none."""
        return companions(self.measured["scaled"])

    @cached_property
    def scores(self) -> Floats:
        """The largest z of each family of each of the last batches that were not released, given the others."""
        z = combined(leave_one_out(self.history), rare_leave_one_out(self.history))
        for place, batch in enumerate(self.last):
            if (rare := self.rare_like(batch.day)) is None:
                continue
            new = {part: array[place] for part, array in self.measured.items()}
            z[place] = nearer(z[place], rare.z(self.history, new, self.off(batch.day), without=place - len(self.last)))
        return np.delete(largest(z), self.released, axis=0)

    @cached_property
    def patience(self) -> float:
        """How many times its threshold a score must reach because nobody answered earlier alarms.

        Each unanswered alarm doubles it, and ``HALVED_AFTER`` other batches halve it again, so that in the long run no
        more than one batch in so many raises such an alarm (adaptive conformal inference, Gibbs and Candès, 2021).
        """
        doublings = 0.0
        for batch in self.batches:
            doublings = max(0.0, doublings + batch.unanswered - 1 / HALVED_AFTER)
        return float(2 ** min(doublings, MOST_DOUBLINGS))

    @cached_property
    def released(self) -> list[int]:
        """Which of the last batches were."""
        return [place for place, batch in enumerate(self.last) if batch.released]

    @cached_property
    def measured(self) -> dict[str, Floats]:
        """The arrays of ``history`` as they were measured."""
        arrays = self._arrays(self.last)
        put_beside(arrays, companions(arrays["scaled"]))
        return arrays

    @property
    def last(self) -> tuple[Batch, ...]:
        """The batches that others are compared with."""
        return self.batches[-LAST_BATCHES:]

    def off(self, day: Day | None) -> Floats | float:
        """What is taken off a rare day beside its like: nothing off a holiday, as it has no weekday."""
        return 0.0 if day is None or day.rare is RareDay.HOLIDAY else self.seasons.of(day)

    def rare_like(self, day: Day | None) -> "RareLike | None":
        """The batches of all that are kept that are of the same rare day; None where they are too few."""
        return self._rare.get(day.rare) if day is not None and day.rare is not None else None

    @cached_property
    def _rare(self) -> dict[RareDay, "RareLike"]:
        by_day: dict[RareDay, RareLike] = {}
        for rare_day in RareDay:
            places = [at for at, batch in enumerate(self.batches) if batch.day and batch.day.rare is rare_day]
            if len(places) < FEWEST_LIKE:
                continue
            batches = [self.batches[at] for at in places]
            arrays = self._arrays(batches)
            put_beside(arrays, self.companions)
            off = [np.broadcast_to(self.off(batch.day), arrays["scaled"].shape[1:]) for batch in batches]
            statistics = BatchHistory(**{**arrays, "scaled": arrays["scaled"] - np.array(off)})
            by_day[rare_day] = RareLike(places=np.array(places) - len(self.batches), statistics=statistics)
        return by_day

    def _arrays(self, batches: Sequence[Batch]) -> dict[str, Floats]:
        """NaN where a column was of another kind than now."""
        pools = [self.pools.get(name) for name in self.names]
        changed = [
            [
                pool is not None and batch.kinds.get(name) not in (None, pool.kind, ValueKind.NOTHING)
                for name, pool in zip(self.names, pools, strict=True)
            ]
            for batch in batches
        ]
        places = np.array(changed)[..., None]
        return {
            part: np.where(places, np.nan, [batch.aligned(part, self.names) for batch in batches]) for part in MEASURED
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class RareLike:
    """The batches of one rare day; ``places`` are counted from the end of the past, the last being -1."""

    places: Ints
    statistics: BatchHistory

    def z(
        self, history: BatchHistory, new: Mapping[str, Floats], off: Floats | float, without: int | None = None
    ) -> Floats:
        """The z of each statistic of a batch beside these, where three of them have it.

        ``without``: the place of the batch itself, where it is one of history.
        """
        others, own = self.places != without, self.statistics
        count = (~np.isnan(own.scaled[others])).sum(axis=0)
        like = Like(
            mean=np.nansum(own.scaled[others], axis=0) / np.maximum(count, 1),
            draws=np.where(count >= FEWEST_LIKE, count, 0).astype(np.float64),
            rare=np.nansum(own.rare[others], axis=0),
            of=np.where(others.sum() >= FEWEST_LIKE, np.nansum(own.of[others], axis=0), np.nan),
        )
        return z_beside(history, like, new, off, without)


# The accepted past of a table as bytes; one that cannot be read is made anew from the profiles of its batches.

ENVELOPE = Envelope(
    magic=b"ASSAYPST",
    version=1,
    what="past",
    classes=(Past, Batch, Pool, PooledNumbers, ValueCounts, Day, DistinctSample),
    enums=(ValueKind, RareDay),
)


def to_bytes(past: Past) -> bytes:
    """The bytes that ``from_bytes`` reads back to a past that judges alike."""
    return ENVELOPE.to_bytes(past)


def from_bytes(stored: bytes) -> Past:
    """The past that ``to_bytes`` wrote, with NaN for each newer statistic; UnableToRead for anything else."""
    past: Past = ENVELOPE.from_bytes(stored)
    widths = {**dict.fromkeys(MEASURED, len(STATISTICS)), "rare": len(RARE), "of": len(RARE)}
    batches = []
    for batch in past.batches:
        arrays = {
            part: np.pad(batch.arrays[part], ((0, 0), (0, width - batch.arrays[part].shape[1])), constant_values=np.nan)
            for part, width in widths.items()
            if batch.arrays[part].shape[1] != width
        }
        batches.append(replace(batch, arrays={**batch.arrays, **arrays}) if arrays else batch)
    return replace(past, batches=tuple(batches))


# A past that thaws: a window that is novel, and that nobody calls wrong, joins once some more windows have come.
#
# Without this, one false alarm that nobody answers freezes the past while the table moves on, and each later window is
# novel because the past is old.


class WindowAnswer(Enum):
    """What is known of a window once it was judged."""

    ACCEPTED = auto()  # it is like those before it
    RELEASED = auto()  # it is novel, and a person says that it is right
    NONE = auto()  # it is novel, and nobody says anything
    WRONG = auto()  # a person says so, or another test fails on it


@dataclass(frozen=True, kw_only=True, eq=False)
class Unanswered:
    """A novel window that waits: how many windows came since, and how many of these are in the past."""

    key: Hashable
    profile: TableProfile
    day: Day | None = None
    later: int = 0
    later_joined: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class ThawingPast:
    """The accepted past, and the novel windows that may still join it, the oldest first."""

    past: Past = field(default_factory=Past)
    unanswered: tuple[Unanswered, ...] = ()

    def with_window(
        self, key: Hashable, profile: TableProfile, answer: WindowAnswer, day: Day | None = None
    ) -> "ThawingPast":
        """With one more window, and with those that have waited long enough by now; without one that is wrong."""
        if answer is WindowAnswer.WRONG:
            return self
        past, joins = self.past, answer in (WindowAnswer.ACCEPTED, WindowAnswer.RELEASED)
        if joins:
            past = past.joined(profile, released=answer is WindowAnswer.RELEASED, day=day)
        waiting = [
            replace(window, later=window.later + 1, later_joined=window.later_joined + joins)
            for window in self.unanswered
        ]
        if answer is WindowAnswer.NONE:
            waiting.append(Unanswered(key=key, profile=profile, day=day))
        while waiting and waiting[0].later >= FURTHER_WINDOWS:
            oldest = waiting.pop(0)
            past = past.joined(oldest.profile, unanswered=True, day=oldest.day, later=oldest.later_joined)
        return ThawingPast(past=past, unanswered=tuple(waiting))

    def without_days(self) -> "ThawingPast":
        """Of windows that are parts of days, which have no weekday that they are compared by."""
        unanswered = tuple(replace(window, day=None) for window in self.unanswered)
        return ThawingPast(past=self.past.dated(()), unanswered=unanswered)
