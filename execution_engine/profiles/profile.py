"""The profile of a batch of rows: how many there are, and what is known of each column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from .texts import Texts, merged_texts
from .values import DistinctSample, Numbers, ValueCounts, merged_numbers, merged_samples, merged_values

# The profile of one column, and how those of parts merge.


class ValueKind(StrEnum):
    """What the values of a column are to a profile."""

    NUMBER = "number"
    TRUTH = "truth"  # false is 0, true is 1
    TIME = "time"  # seconds
    TEXT = "text"
    BYTES = "bytes"
    NESTED = "nested"  # lists, structs and maps: their nulls are counted, and nothing else
    NOTHING = "nothing"  # no value in any row, of a type that can have none
    MIXED = "mixed"  # parts of different kinds: their nulls are counted, and nothing else


@dataclass(frozen=True, kw_only=True)
class Caps:
    """How much is kept of each column."""

    values: int  # different values with their counts
    labels: int  # of these with the value itself
    sample: int  # keys of the sample of different values
    rows: int  # keys of the sample of whole rows
    points: int  # of the distribution of numbers
    lengths: int  # of the distribution of lengths
    shapes: int
    pairs: int  # pairs of letters


WORKING = Caps(values=4096, labels=4096, sample=1024, rows=1024, points=1024, lengths=256, shapes=512, pairs=4096)
KEPT = Caps(values=96, labels=12, sample=24, rows=256, points=48, lengths=12, shapes=24, pairs=256)  # for months


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnProfile:
    """What is known of the values of one column in some rows."""

    type: str  # as Arrow writes it
    kind: ValueKind
    rows: int
    nulls: int
    values: ValueCounts = field(default_factory=ValueCounts)
    sample: DistinctSample = field(default_factory=DistinctSample)
    numbers: Numbers | None = None
    texts: Texts | None = None

    @property
    def present(self) -> int:
        """How many rows are not null."""
        return self.rows - self.nulls

    @property
    def distinct(self) -> float:
        """How many different values there are: exact while each has a count, about so beyond."""
        return self.sample.distinct(self.present) if self.values.cut else float(len(self.values.keys))

    @property
    def single(self) -> float:
        """How many values occur once: exact while each has a count, about so beyond."""
        if self.values.cut:
            return self.distinct * self.sample.single_share
        return float((self.values.counts == 1).sum())


def merged_columns(parts: Sequence[ColumnProfile], caps: Caps = WORKING) -> ColumnProfile:
    """The profile of the union of disjoint parts."""
    rows, nulls = sum(part.rows for part in parts), sum(part.nulls for part in parts)
    typed_parts = [part for part in parts if part.kind is not ValueKind.NOTHING] or parts
    types, kinds = sorted({part.type for part in typed_parts}), {part.kind for part in typed_parts}
    if len(kinds) > 1:
        return ColumnProfile(type=" or ".join(types), kind=ValueKind.MIXED, rows=rows, nulls=nulls)
    numbers = [part.numbers for part in typed_parts if part.numbers is not None]
    texts = [part.texts for part in typed_parts if part.texts is not None]
    return ColumnProfile(
        type=" or ".join(types),
        kind=typed_parts[0].kind,
        rows=rows,
        nulls=nulls,
        values=merged_values([part.values for part in typed_parts], caps.values),
        sample=merged_samples([part.sample for part in typed_parts], caps.sample),
        numbers=merged_numbers(numbers, caps.points) if numbers else None,
        texts=merged_texts(texts, caps.lengths, caps.shapes) if texts else None,
    )


class UnableToMerge(ValueError):
    """The parts are no parts of one batch."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableProfile:
    """Of some rows. ``start``: seconds since 1970, from which dates and timestamps are counted; None: from 1970.

    ``sample`` is of whole rows, but for nested columns. ``drawn_from``: how many rows these were drawn from by chance;
    None: these are all.
    """

    rows: int
    columns: Mapping[str, ColumnProfile] = field(default_factory=dict)
    sample: DistinctSample = field(default_factory=DistinctSample)
    start: float | None = None
    drawn_from: int | None = None

    @property
    def all_rows(self) -> int:
        """How many rows the batch has, whether or not all of them were profiled."""
        return self.rows if self.drawn_from is None else self.drawn_from

    @property
    def distinct(self) -> float:
        """How many different rows there are, about; exact up to 1,023, and where no row is repeated."""
        return self.sample.distinct(self.rows)

    def without_values(self, names: Iterable[str]) -> "TableProfile":
        """The same, with nothing but the counts of rows and nulls of the named columns."""
        hidden = frozenset(names)
        bare = {
            name: ColumnProfile(type=column.type, kind=ValueKind.NESTED, rows=column.rows, nulls=column.nulls)
            for name, column in self.columns.items()
            if name in hidden
        }
        return replace(self, columns={**self.columns, **bare})

    def reduced(self, caps: Caps) -> "TableProfile":
        """The same with less of each column, such as what is kept of a batch for months."""
        columns = {name: reduced_column(column, caps) for name, column in self.columns.items()}
        return replace(self, columns=columns, sample=self.sample.capped(caps.rows))


def merged_profiles(parts: Sequence[TableProfile], caps: Caps = WORKING) -> TableProfile:
    """The profile of the union of disjoint parts; UnableToMerge where their times are counted from different instants.

    In rows of a part without a column, that column is null. Parts of which samples were drawn count by the rows that
    were drawn.
    """
    if not parts:
        return TableProfile(rows=0)
    if len({part.start for part in parts}) > 1:
        raise UnableToMerge("the parts count times from different instants: gather them with one start")
    absent = [ColumnProfile(type="null", kind=ValueKind.NOTHING, rows=part.rows, nulls=part.rows) for part in parts]
    columns = {
        name: merged_columns([part.columns.get(name, null) for part, null in zip(parts, absent, strict=True)], caps)
        for name in dict.fromkeys(name for part in parts for name in part.columns)
    }
    sample = merged_samples([part.sample for part in parts], caps.rows)
    rows, all_rows = sum(part.rows for part in parts), sum(part.all_rows for part in parts)
    drawn_from = None if all(part.drawn_from is None for part in parts) else all_rows
    return TableProfile(rows=rows, columns=columns, sample=sample, start=parts[0].start, drawn_from=drawn_from)


def reduced_column(column: ColumnProfile, caps: Caps) -> ColumnProfile:
    texts = column.texts
    if texts is not None:
        pairs = texts.pairs
        if np.count_nonzero(pairs) > caps.pairs:
            pairs = pairs.copy()
            pairs[np.lexsort((np.arange(len(pairs)), -pairs))[caps.pairs :]] = 0
        shapes = texts.shapes.capped(caps.shapes, caps.labels)
        texts = replace(texts, lengths=texts.lengths.capped(caps.lengths), shapes=shapes, pairs=pairs)
    return replace(
        column,
        values=column.values.capped(caps.values, caps.labels),
        sample=column.sample.capped(caps.sample),
        numbers=column.numbers and column.numbers.capped(caps.points),
        texts=texts,
    )
