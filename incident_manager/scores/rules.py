"""How good we are: shares of time, and lengths of unions of times, which numpy computes of many datasets (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from incident_manager.incidents.lifecycle import FALSE, REAL, How


@dataclass(frozen=True, kw_only=True)
class Score:
    """Times of one or several datasets; ``total`` is the time in which they were tested, ``bad`` the bad part of it.

    ``open`` if any of it is still going on at the range's end: what is open counts as right, so that precision and
    recall are provisional until it has ended.
    """

    true_positive: timedelta = timedelta(0)
    false_positive: timedelta = timedelta(0)
    false_negative: timedelta = timedelta(0)
    bad: timedelta = timedelta(0)
    total: timedelta = timedelta(0)
    open: bool = False

    @property
    def precision(self) -> float | None:
        """The share of the alerted time that was really bad; None if nothing was alerted."""
        return _share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float | None:
        """The share of the bad time that was alerted; None if nothing was bad."""
        return _share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def bad_share(self) -> float | None:
        """The share of the tested time in which data was bad; None if it was never tested."""
        return _share(self.bad, self.total)

    @property
    def data_quality(self) -> float | None:
        """The data-level quality score, 1 for always good; None if it was never tested."""
        return None if self.bad_share is None else 1 - self.bad_share


@dataclass(frozen=True, kw_only=True)
class QueryScore:
    """The queries of a range; shares and scores are None where there were none."""

    total: int
    failed: int
    failed_without_forced: int

    @property
    def failed_share(self) -> float | None:
        """The share that failed."""
        return self.failed / self.total if self.total else None

    @property
    def quality(self) -> float | None:
        """The query-level quality score, 1 for no failed query."""
        return 1 - self.failed / self.total if self.total else None

    @property
    def quality_without_forced(self) -> float | None:
        """The same without those that only failed by what was later forced."""
        return 1 - self.failed_without_forced / self.total if self.total else None


def score_queries(total: int, failed: Iterable[Iterable[How | None]]) -> QueryScore:
    """The query-level quality of so many queries.

    ``failed`` has one item for each query that any of its tables failed: how each incident behind that has ended since
    (None: not yet).
    """
    hows = [set(endings) for endings in failed]
    return QueryScore(total=total, failed=len(hows), failed_without_forced=sum(how != {How.FORCED} for how in hows))


def _share(part: timedelta, whole: timedelta) -> float | None:
    return part / whole if whole else None


Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FOREVER = int(np.iinfo(np.int64).max)  # the end of what is still open


class SpellKind(IntEnum):
    """What the time of a spell was."""

    NOTHING = 0  # of no account, but its dataset and category are listed
    REAL = 1  # alerted, and really bad
    FALSE = 2  # alerted, and not bad
    REPORTED = 3  # claimed by a report that was confirmed; only whether it is still open counts
    MISSED = 4  # claimed so while no test knew
    TESTED = 5  # from the first test on


KIND_OF: Mapping[How | None, SpellKind] = MappingProxyType(
    dict.fromkeys(REAL, SpellKind.REAL) | dict.fromkeys(FALSE, SpellKind.FALSE) | {How.WITHDRAWN: SpellKind.NOTHING}
)


@dataclass(frozen=True, kw_only=True)
class Spells:
    """Times of datasets and categories, one an index; each field is of shape (n,).

    ``start`` and ``end`` are microseconds since 1970 in UTC. One whose end is not after its start lasts no time.
    """

    dataset: Ints  # a number for each
    category: Ints  # a number for each
    kind: Ints
    start: Ints
    end: Ints

    def only(self, which: Ints) -> "Spells":
        """Those at these indices, which may come more than once."""
        return Spells(
            dataset=self.dataset[which],
            category=self.category[which],
            kind=self.kind[which],
            start=self.start[which],
            end=self.end[which],
        )


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Microseconds of each group and part of the range.

    ``times`` are true positive, false positive, false negative, bad and total, of shape (5, groups, parts); ``open`` is
    of shape (groups, parts).
    """

    times: Ints
    open: Flags

    def score(self, group: int) -> Score:
        """The score of a group over the whole range."""
        return _score(self.times[:, group].sum(axis=1), self.open[group].any())

    def parts(self, group: int) -> tuple[Score, ...]:
        """Its score over each part of the range, the oldest first."""
        return tuple(map(_score, self.times[:, group].T, self.open[group]))

    def all(self) -> Score:
        """The score of all groups together over the whole range."""
        return _score(self.times.sum(axis=(1, 2)), self.open.any())

    @property
    def bad(self) -> Ints:
        """How long each group was bad, of shape (groups,)."""
        bad: Ints = self.times[3].sum(axis=1)
        return bad

    @property
    def data_qualities(self) -> list[float | None]:
        """That of each group over the whole range; a ``score`` of each of many thousand groups would cost more."""
        bad, total = self.times[3:].sum(axis=2).tolist()
        return [1 - own / whole if whole else None for own, whole in zip(bad, total, strict=True)]


def _score(times: Ints, is_open: np.bool) -> Score:
    true, false, negative, bad, total = (timedelta(microseconds=int(time)) for time in times)
    return Score(
        true_positive=true, false_positive=false, false_negative=negative, bad=bad, total=total, open=bool(is_open)
    )


def microseconds(instant: datetime) -> int:
    """An instant as spells have it."""
    return (instant - BEGIN) // MICROSECOND


def instant_at(microseconds: int) -> datetime:
    """The instant of such a number."""
    return BEGIN + microseconds * MICROSECOND


def score_groups(spells: Spells, group: Ints, edges: Sequence[datetime]) -> Sums:
    """The scores of groups over the parts of a range between ``edges``, which ascend.

    ``group`` says of which group each spell is, of shape (n,), from 0 up; a group without a spell has no time. Within a
    group, times of precision and recall are added up over its datasets and categories. A dataset is bad while any
    category says so, and tested from the first test of any to the end of the last. What is still open counts up to the
    range's end.
    """
    cuts, groups = np.array([microseconds(edge) for edge in edges]), int(group.max(initial=-1)) + 1
    datasets, categories = (int(numbers.max(initial=0)) + 1 for numbers in (spells.dataset, spells.category))
    whole = group * datasets + spells.dataset
    place = whole * categories + spells.category
    is_of = {kind: spells.kind == kind for kind in SpellKind}
    real = is_of[SpellKind.REAL]

    def clipped(key: Ints, which: Flags) -> Ints:
        """The part of these spells that lies in the range, by a key."""
        start, end = np.maximum(spells.start[which], cuts[0]), np.minimum(spells.end[which], cuts[-1])
        return _times(key[which], start, end)

    def sums(times: Ints, keys_of_a_group: int) -> Ints:
        """How much of the times lies in each part, by group; the times ascend by key and lie in the range."""
        amounts = np.zeros((groups, len(cuts)), dtype=np.int64)
        if times.size:
            of, start, end = times[0] // keys_of_a_group, times[1], times[2]
            first = np.flatnonzero(np.diff(of, prepend=-1))
            for at, cut in enumerate(cuts):
                amounts[of[first], at] = np.add.reduceat(np.minimum(end, cut) - np.minimum(start, cut), first)
        return np.diff(amounts, axis=1)

    def alerted(which: Flags) -> Ints:
        return sums(_union(clipped(place, which)), datasets * categories)

    def more_than_real(kind: SpellKind) -> Ints:
        """What a kind adds to the time that was really bad: nothing where it never came."""
        places = np.isin(place, place[is_of[kind]])
        return alerted(places & (real | is_of[kind])) - alerted(places & real)

    which = is_of[SpellKind.TESTED]
    tested = _clip(_spans(_times(whole[which], spells.start[which], spells.end[which])), cuts[0], cuts[-1])
    bad = _within(_union(clipped(whole, real | is_of[SpellKind.MISSED])), tested)
    still = (real | is_of[SpellKind.FALSE] | is_of[SpellKind.REPORTED]) & (spells.end == FOREVER)
    began: Ints = np.full(groups, FOREVER)
    np.minimum.at(began, group[still], spells.start[still])
    times = (alerted(real), more_than_real(SpellKind.FALSE), more_than_real(SpellKind.MISSED), sums(bad, datasets))
    return Sums(
        times=np.stack([*times, sums(tested, datasets)]),
        open=np.less.outer(began, cuts[1:]),  # something that began before the end of a part is still open
    )


# Times by a key, such as that of a dataset in a group: of shape (3, n), with the key, the start and the end of each.


def _times(key: Ints, start: Ints, end: Ints) -> Ints:
    """Those that last any time."""
    return np.stack([key, start, end])[:, start < end]


def _clip(times: Ints, start: Ints, end: Ints) -> Ints:
    return _times(times[0], np.maximum(times[1], start), np.minimum(times[2], end))


def _union(times: Ints) -> Ints:
    """The times in any of those with the same key, as times that do not overlap; they ascend by key and start."""
    key, start, end = times[:, np.lexsort((times[1], times[0]))]
    count = len(key)
    if not count:
        return times
    by_end = np.argsort(end)
    rank = np.empty(count, dtype=np.int64)
    rank[by_end] = np.arange(count)
    is_other = np.diff(key, prepend=-1) != 0
    before = np.cumsum(is_other) * count  # keeps the latest end of one key from the next key
    reach = end[by_end[np.maximum.accumulate(before + rank) - before]]
    first = np.flatnonzero(is_other | (start > np.concatenate((reach[:1], reach[:-1]))))
    return np.stack([key[first], start[first], reach[np.append(first[1:], count) - 1]])


def _spans(times: Ints) -> Ints:
    """From the first start of each key to its last end; they ascend by key."""
    key, start, end = times[:, np.argsort(times[0], kind="stable")]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(first):
        return times
    return np.stack([key[first], np.minimum.reduceat(start, first), np.maximum.reduceat(end, first)])


def _within(times: Ints, spans: Ints) -> Ints:
    """The part of the times that lies in the one span of their key; spans ascend by key."""
    if not spans.size:
        return spans
    at = np.minimum(np.searchsorted(spans[0], times[0]), spans.shape[1] - 1)
    inside = spans[0, at] == times[0]
    return _clip(times[:, inside], spans[1, at[inside]], spans[2, at[inside]])
