"""What one task gathers of each group, batch by batch: statistics, and how often each key comes in it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.hashing.hashes import key_hashes
from execution_engine.engines.native.nodes import Column, Literal, Node, UnableToTell, When
from execution_engine.engines.native.partials import (
    COUNT,
    Clause,
    Counted,
    Gathered,
    KeySets,
    Rows,
    counting,
    kept_of,
    key_sets,
    keyless,
    there,
)
from execution_engine.engines.native.values import Flags, Numbers, Values

from .places import GroupKey, Groups, TooManyGroups
from .reductions import REDUCTIONS, Parts, counted, merged, spread
from .tallies import Tally, marks_of, of_tallies, tally


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """What to gather of each group of rows that are alike in the columns ``by``.

    More than ``most`` groups are too many; of more than ``sent`` in one task Spark must tell.
    """

    by: tuple[str, ...]
    asked: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    most: int
    sent: int


@dataclass(frozen=True, kw_only=True)
class GroupsOfTask:
    """What one task found of the groups, in the order of their ``keys``.

    ``parts`` and ``scales`` (of decimals) are by the places of the statistics, ``tallies`` by those of the groupings.
    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them.
    """

    keys: Sequence[GroupKey] = ()
    parts: Mapping[int, Parts] = field(default_factory=dict)
    scales: Mapping[int, int] = field(default_factory=dict)
    tallies: Mapping[int, Tally] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False


@dataclass
class Gathering:
    """What was gathered of the groups so far."""

    grouped: Grouped
    parts: dict[int, Parts] = field(default_factory=dict)
    scales: dict[int, int] = field(default_factory=dict)
    tallies: dict[int, list[Tally]] = field(default_factory=lambda: defaultdict(list))
    unable: dict[int, str] = field(default_factory=dict)
    failed: str = ""
    too_many: bool = False
    groups: Groups = field(init=False)
    sets: KeySets = field(init=False)

    def __post_init__(self) -> None:
        self.groups = Groups(most=self.grouped.most)
        self.sets = key_sets(self.grouped.counted)

    def add(self, batch: Batch) -> None:
        """Takes the rows of one more batch."""
        if self.failed or self.too_many:
            return
        try:
            places = self.groups.places([batch.values(Column(name=name)) for name in self.grouped.by])
            if len(self.groups.numbers) > self.grouped.sent:
                raise UnableToTell("so many groups of so many tasks are Spark's to merge")
        except UnableToTell as error:
            self.failed = str(error)
            return
        except TooManyGroups:
            self.too_many = True
            return
        rows = Rows(batch=batch)
        with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
            for at, one in enumerate(self.grouped.asked):
                try:
                    self._add_statistic(at, one, rows, places)
                except UnableToTell as error:
                    self.unable[at] = str(error)
            for (columns, partial), clauses in self.sets.items():
                self._add_keys(columns, partial, clauses, rows, places)

    def result(self) -> GroupsOfTask:
        """What all batches told."""
        if self.failed or self.too_many:
            return GroupsOfTask(failed=self.failed, too_many=self.too_many)
        return GroupsOfTask(
            keys=list(self.groups.numbers),
            parts=self.parts,
            scales=self.scales,
            tallies={at: of_tallies(tallies) for at, tallies in self.tallies.items()},
            unable=self.unable,
        )

    def _add_statistic(self, at: int, one: Gathered, rows: Rows, places: Numbers) -> None:
        count = len(self.groups.numbers)
        where = None if one.where is None else rows.met(one.where)
        if one.gather == COUNT:
            parts = counted(_of_rows(places, _with_value(one.of[0], rows, where)), count)
        else:
            given = [rows.batch.values(each) for each in one.of]
            for each in given:
                where = there(each, where)
            parts = REDUCTIONS[one.gather](_of_rows(places, where), count, *(kept_of(each, where) for each in given))
            if given[0].is_decimal:
                self.scales[at] = given[0].scale
        before = self.parts.get(at)
        if before is not None:
            parts = merged(one.gather, spread(before, np.arange(len(before[0])), count), parts)
        self.parts[at] = parts

    def _add_keys(
        self,
        columns: Sequence[str],
        partial: bool,
        clauses: Mapping[Clause, Sequence[int]],
        rows: Rows,
        places: Numbers,
    ) -> None:
        every = [at for numbers in clauses.values() for at in numbers]
        try:
            given: list[Values] = [rows.batch.values(Column(name=name)) for name in columns]
            hashes, marks = key_hashes(given), marks_of(places, keyless(given, partial))
        except UnableToTell as error:
            self._leave(every, error)
            return
        for clause, numbers in clauses.items():
            try:
                found = tally(hashes, marks, counting(clause, rows))
            except UnableToTell as error:
                self._leave(numbers, error)
                continue
            for at in numbers:
                self.tallies[at].append(found)

    def _leave(self, places: Sequence[int], error: UnableToTell) -> None:
        self.unable.update({len(self.grouped.asked) + at: str(error) for at in places})


def _with_value(node: Node, rows: Rows, where: Flags | None) -> Flags | None:
    """The rows that count and in which there is a value; None for all."""
    if isinstance(node, When) and isinstance(node.then, Literal):
        met = rows.met(node.met)
        return met if where is None else met & where
    return where if isinstance(node, Literal) else there(rows.batch.values(node), where)


def _of_rows(places: Numbers, kept: Flags | None) -> Numbers:
    return places if kept is None else places.compress(kept)
