"""The scores of many datasets together, as lengths of unions of times, which numpy computes for all of them at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from incident_manager.incidents.lifecycle import How

from .rules import FALSE, REAL, Score

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FOREVER = int(np.iinfo(np.int64).max)  # the end of what is still open


class Kind(IntEnum):
    """What the time of a spell was."""

    NOTHING = 0  # of no account, but its dataset and category are listed
    REAL = 1  # alerted, and really bad
    FALSE = 2  # alerted, and not bad
    REPORTED = 3  # claimed by a report that was confirmed; only whether it is still open counts
    MISSED = 4  # claimed so while no test knew
    TESTED = 5  # from the first test on


KIND_OF: Mapping[How | None, Kind] = MappingProxyType(
    dict.fromkeys(REAL, Kind.REAL) | dict.fromkeys(FALSE, Kind.FALSE) | {How.WITHDRAWN: Kind.NOTHING}
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
    """Microseconds of each group and part of the range; each field is of shape (groups, parts)."""

    true_positive: Ints
    false_positive: Ints
    false_negative: Ints
    bad: Ints
    total: Ints
    open: Flags

    def score(self, group: int) -> Score:
        """The score of a group over the whole range."""
        return _score([each[group].sum() for each in self._times], self.open[group].any())

    def parts(self, group: int) -> tuple[Score, ...]:
        """Its score over each part of the range, the oldest first."""
        times = np.stack([each[group] for each in self._times], axis=1)
        return tuple(_score(each, is_open) for each, is_open in zip(times, self.open[group], strict=True))

    def all(self) -> Score:
        """The score of all groups together over the whole range."""
        return _score([each.sum() for each in self._times], self.open.any())

    @property
    def _times(self) -> tuple[Ints, ...]:
        return self.true_positive, self.false_positive, self.false_negative, self.bad, self.total


def microseconds(instant: datetime) -> int:
    """An instant as spells have it."""
    return (instant - BEGIN) // MICROSECOND


def instant_at(microseconds: int) -> datetime:
    """The instant of such a number."""
    return BEGIN + microseconds * MICROSECOND


def score_groups(spells: Spells, group: Ints, edges: Sequence[datetime]) -> Sums:
    """The scores of groups over the parts of a range between ``edges``, which ascend.

    ``group`` says of which group each spell is, of shape (n,): from 0 up, none left out. Within a group, times of
    precision and recall are added up over its datasets and categories. A dataset is bad while any category says so,
    and tested from the first test of any to the end of the last. What is still open counts up to the range's end.
    """
    parts = _Parts(edges=np.array([microseconds(edge) for edge in edges]), groups=int(group.max(initial=-1)) + 1)
    datasets, categories = (int(each.max(initial=0)) + 1 for each in (spells.dataset, spells.category))
    whole = group * datasets + spells.dataset
    place = whole * categories + spells.category
    is_of = {kind: spells.kind == kind for kind in Kind}
    real, tested = is_of[Kind.REAL], _tested(spells, whole, is_of[Kind.TESTED], parts)

    def alerted(which: Flags) -> Ints:
        return parts.sums(_union(parts.clipped(spells, place, which)), datasets * categories)

    def more_than_real(kind: Kind) -> Ints:
        """What a kind adds to the time that was really bad: nothing where it never came."""
        places = np.isin(place, place[is_of[kind]])
        return alerted(places & (real | is_of[kind])) - alerted(places & real)

    bad = _within(_union(parts.clipped(spells, whole, real | is_of[Kind.MISSED])), tested)
    return Sums(
        true_positive=alerted(real),
        false_positive=more_than_real(Kind.FALSE),
        false_negative=more_than_real(Kind.MISSED),
        bad=parts.sums(bad, datasets),
        total=parts.sums(tested, datasets),
        open=_open(spells, group, real | is_of[Kind.FALSE] | is_of[Kind.REPORTED], parts),
    )


@dataclass(frozen=True, kw_only=True)
class _Times:
    """Times by a key, such as that of a dataset in a group; each field is of shape (n,)."""

    key: Ints
    start: Ints
    end: Ints

    def only(self, which: Flags) -> "_Times":
        return _Times(key=self.key[which], start=self.start[which], end=self.end[which])


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The parts of the range, between edges, and how many groups there are."""

    edges: Ints
    groups: int

    def clipped(self, spells: Spells, key: Ints, which: Flags) -> _Times:
        """The part of these spells that lies in the range."""
        start = np.maximum(spells.start[which], self.edges[0])
        end = np.minimum(spells.end[which], self.edges[-1])
        return _Times(key=key[which], start=start, end=end).only(start < end)

    def sums(self, times: _Times, keys_of_a_group: int) -> Ints:
        """How much of the times lies in each part, by group; the times ascend by key and lie in the range."""
        found = np.zeros((self.groups, len(self.edges)), dtype=np.int64)
        if len(times.key):
            group = times.key // keys_of_a_group
            first = np.flatnonzero(np.diff(group, prepend=-1))
            for at, edge in enumerate(self.edges):
                until = np.minimum(times.end, edge) - np.minimum(times.start, edge)
                found[group[first], at] = np.add.reduceat(until, first)
        return np.diff(found, axis=1)


def _union(times: _Times) -> _Times:
    """The times in any of those with the same key, as times that do not overlap; they ascend by key and start."""
    order = np.lexsort((times.start, times.key))
    key, start, end = times.key[order], times.start[order], times.end[order]
    count = len(key)
    if not count:
        return times
    by_end = np.argsort(end)
    rank = np.empty(count, dtype=np.int64)
    rank[by_end] = np.arange(count)
    is_other = np.diff(key, prepend=-1) != 0
    before = np.cumsum(is_other) * count  # keeps the latest end of one key from the next key
    reach = end[by_end[np.maximum.accumulate(before + rank) - before]]
    begins = is_other | (start > np.concatenate((reach[:1], reach[:-1])))
    first = np.flatnonzero(begins)
    return _Times(key=key[first], start=start[first], end=reach[np.append(first[1:], count) - 1])


def _tested(spells: Spells, key: Ints, which: Flags, parts: _Parts) -> _Times:
    """By dataset, the part of the range from its first test to the end of the last."""
    times = _Times(key=key[which], start=spells.start[which], end=spells.end[which])
    times = times.only(times.start < times.end)
    order = np.argsort(times.key, kind="stable")
    ordered = times.key[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    if not len(first):
        return times
    start = np.maximum(np.minimum.reduceat(times.start[order], first), parts.edges[0])
    end = np.minimum(np.maximum.reduceat(times.end[order], first), parts.edges[-1])
    return _Times(key=ordered[first], start=start, end=end).only(start < end)


def _within(times: _Times, spans: _Times) -> _Times:
    """The part of the times that lies in the one span of their key; spans ascend by key."""
    if not len(spans.key):
        return spans
    at = np.minimum(np.searchsorted(spans.key, times.key), len(spans.key) - 1)
    start, end = np.maximum(times.start, spans.start[at]), np.minimum(times.end, spans.end[at])
    return _Times(key=times.key, start=start, end=end).only((spans.key[at] == times.key) & (start < end))


def _open(spells: Spells, group: Ints, which: Flags, parts: _Parts) -> Flags:
    """Whether something that began before the end of a part is still open."""
    still = which & (spells.end == FOREVER)
    began: Ints = np.full(parts.groups, FOREVER)
    np.minimum.at(began, group[still], spells.start[still])
    return np.less.outer(began, parts.edges[1:])


def _score(times: Iterable[np.integer[Any]], is_open: np.bool) -> Score:
    true, false, negative, bad, total = (timedelta(microseconds=int(each)) for each in times)
    return Score(
        true_positive=true,
        false_positive=false,
        false_negative=negative,
        bad=bad,
        total=total,
        open=bool(is_open),
    )
