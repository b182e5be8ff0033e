"""Which partitions of a table a query reads: from the conditions around each use, inside and outside (pure)."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlglot import exp

from assay.time.stored_times import StoredTimes
from assay.time.windows import Partitioning, Window
from incident_manager.intervals import Intervals, clip, union

from .constants import Folding
from .key_order import KeyOrder
from .key_ranges import KeyRanges
from .predicates import Comparing, in_all
from .selects import Conjuncts, Level, Name, Source
from .tables import TableUse
from .time_ranges import TimeRanges

DEEPEST = 50  # queries in queries: a condition further out is not looked at


@dataclass(frozen=True, kw_only=True)
class PartitionColumn:
    """The column by which a dataset is cut, and what it holds: keys, or ``times``."""

    name: str
    partitioning: Partitioning
    times: StoredTimes | None = None


def ranges(
    uses: tuple[TableUse, ...], column: PartitionColumn, whole: Window, *, now: datetime, dialect: str = "spark"
) -> Intervals:
    """The parts of ``whole`` that uses of a dataset read: none is left out that they may read.

    Literals are those of the dataset's zone, or of the zone in which its times are stored.
    """
    here = column.times.local(now) if column.times else now.astimezone(column.partitioning.zone).replace(tzinfo=None)
    held = (
        TimeRanges(times=column.times, whole=whole)
        if column.times
        else KeyRanges(order=KeyOrder(partitioning=column.partitioning, whole=whole))
    )
    narrowing = _Narrowing(comparing=Comparing(folding=Folding(dialect=dialect, local_now=here), ranges=held))
    found = [narrowing.of(use, column.name.lower()) for use in uses]
    return union(window for part in found for window in ((whole,) if part is None else clip(part, whole)))


@dataclass(frozen=True, kw_only=True)
class _Narrowing:
    """What was found so far, by place and column."""

    comparing: Comparing
    known: dict[tuple[int, Name], Intervals | None] = field(default_factory=dict)
    bare: dict[tuple[int, Name], Intervals | None] = field(default_factory=dict)

    def of(self, use: TableUse, column: Name) -> Intervals | None:
        """What a use reads; None: all of it, as of one whose conditions are nested too deep to be looked through."""
        try:
            return self._read_at(use.source, column, 0) if use.source is not None else None
        except RecursionError:
            return None

    def _read_at(self, source: Source, column: Name, depth: int) -> Intervals | None:
        """What is read at a place; None: all of it."""
        if not source.is_plain:
            return None
        key = (id(source), column)
        if key not in self.known:
            inside, outside = self._inside(source, column), self._outside(source, column, depth)
            self.known[key] = in_all([inside, outside])
        return self.known[key]

    def _inside(self, source: Source, column: Name) -> Intervals | None:
        """What the conditions of the place's own select leave."""
        same = source.select.same_columns(source, column)
        parts = [self._bare(conjuncts, column) for conjuncts, is_open in source.held if is_open]
        alike = {(of, name) for of, name in same if name == column}  # others may be of a type that sorts otherwise
        seen = set[int]()
        for part, is_open in (each for of, name in same for each in source.conjuncts(of, name)):
            if id(part) not in seen:
                seen.add(id(part))

                def is_column(node: exp.Column, operator: str, is_open: bool = is_open) -> bool:
                    known = same if operator == "=" else alike
                    return source.select.is_among(node, known, source, column, is_open=is_open)

                parts.append(self.comparing.left_by(part, is_column))
        return in_all(parts)

    def _bare(self, conjuncts: Conjuncts, column: Name) -> Intervals | None:
        """What conditions that name no table leave, of each place that has such a column."""
        key = (id(conjuncts), column)
        if key not in self.bare:
            self.bare[key] = in_all(
                self.comparing.left_by(part, lambda node, _: not node.table and node.name.lower() == column)
                for part in conjuncts.naming("", column)
            )
        return self.bare[key]

    def _outside(self, source: Source, column: Name, depth: int) -> Intervals | None:
        """What the queries around it leave, where each row of the place goes into rows that show its column."""
        level = source.select
        result = level.result
        if level.is_closed or result.is_closed or not result.readers or depth == DEEPEST:
            return None
        shown = list(level.outputs(source, column))
        found = list[Window]()
        for reader in result.readers:
            names = [_renamed(level, name, place, reader) for name, place in shown]
            part = in_all(self._read_at(reader, name, depth + 1) for name in names if name)
            if part is None:
                return None
            found += part
        return union(found)


def _renamed(level: Level, name: Name, place: int | None, reader: Source) -> Name | None:
    """What a column of a select is called where its rows are read; None where that is not known."""
    found: Name | None = name
    if not level.is_named:
        found = level.result.name_at(place) if place is not None else None
    for columns in (level.result.columns, reader.columns):
        if columns is not None:
            found = columns[place] if place is not None and place < len(columns) else None
    return found
