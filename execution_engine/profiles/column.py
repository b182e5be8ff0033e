"""The profile of one column, and how those of parts merge."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from .distinct import DistinctSample, merged_samples
from .numbers import Numbers, merged_numbers
from .texts import Texts, merged_texts
from .values import ValueCounts, merged_values


class ColumnKind(StrEnum):
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
    kind: ColumnKind
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
    known = [part for part in parts if part.kind is not ColumnKind.NOTHING] or parts
    types, kinds = sorted({part.type for part in known}), {part.kind for part in known}
    if len(kinds) > 1:
        return ColumnProfile(type=" or ".join(types), kind=ColumnKind.MIXED, rows=rows, nulls=nulls)
    numbers = [part.numbers for part in known if part.numbers is not None]
    texts = [part.texts for part in known if part.texts is not None]
    return ColumnProfile(
        type=" or ".join(types),
        kind=known[0].kind,
        rows=rows,
        nulls=nulls,
        values=merged_values([part.values for part in known], caps.values),
        sample=merged_samples([part.sample for part in known], caps.sample),
        numbers=merged_numbers(numbers, caps.points) if numbers else None,
        texts=merged_texts(texts, caps.lengths, caps.shapes) if texts else None,
    )
