"""Known errors put into a copy of a table: which kind, in how many rows, by which seed; and what was changed.

The first six kinds are those of Redyuk et al., Automating Data Quality Validation, 2021.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from . import cells, whole
from .columns import Rows, Spoilt


class ErrorKind(StrEnum):
    """What goes wrong."""

    EXPLICIT_MISSING = "explicit missing"  # null
    IMPLICIT_MISSING = "implicit missing"  # 99999 or NONE
    NUMERIC_ANOMALY = "numeric anomaly"  # normal about the column's mean, with 2 to 5 times its standard deviation
    SWAPPED_NUMBERS = "swapped numbers"  # of two columns
    SWAPPED_TEXTS = "swapped texts"  # of two columns
    TYPOS = "typos"  # one letter in ten is the one on a neighbouring key
    SCALE = "scale"  # kilometres for miles, cents for euros
    CONSTANT = "constant"  # one of the column's values everywhere
    TRUNCATED = "truncated"  # texts cut off
    CASE = "case"  # upper for lower case, or the other way round
    MOJIBAKE = "mojibake"  # UTF-8 read as Windows-1252
    TIME_ZONE = "time zone"  # timestamps some hours off
    DUPLICATED = "duplicated block"  # rows in a row, twice
    PARTIAL = "partial load"  # rows at the end are not there
    LOST_GROUP = "lost group"  # all rows with one value of a column are not there
    STALE = "stale copy"  # rows of the window before in place of those of this one
    SHIFTED_ROWS = "shifted by a row"  # the values of one column stand one row further down
    SIGN = "sign flip"  # numbers with the other sign
    ZERO_FILL = "zero fill"  # 0 in place of numbers
    MEAN_FILL = "mean fill"  # the column's mean in place of numbers


SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the rows of a window


def shares_of(kind: ErrorKind) -> tuple[float, ...]:
    """The shares of rows that errors of this kind are tried with: a stale copy may also be of the whole window."""
    return (*SHARES, 1.0) if kind is ErrorKind.STALE else SHARES


@dataclass(frozen=True, kw_only=True)
class Injected:
    """The spoilt copy. ``rows``: how many were changed, added or left out; with 0 it is as good as before.

    ``columns`` are those that were changed; none where whole rows were added or left out. ``how`` says more, such as
    the factor of a scale.
    """

    table: pa.Table
    kind: ErrorKind
    share: float
    columns: tuple[str, ...]
    rows: int
    how: str = ""

    @property
    def changed(self) -> bool:
        """Whether there is anything to find."""
        return self.rows > 0


_SPOILERS: Mapping[ErrorKind, Callable[[pa.Table, Rows, np.random.Generator], Spoilt | None]] = {
    ErrorKind.EXPLICIT_MISSING: cells.explicit_missing,
    ErrorKind.IMPLICIT_MISSING: cells.implicit_missing,
    ErrorKind.NUMERIC_ANOMALY: cells.numeric_anomaly,
    ErrorKind.SWAPPED_NUMBERS: cells.swapped_numbers,
    ErrorKind.SWAPPED_TEXTS: cells.swapped_texts,
    ErrorKind.TYPOS: cells.typos,
    ErrorKind.SCALE: cells.scaled,
    ErrorKind.CONSTANT: cells.constant,
    ErrorKind.TRUNCATED: cells.truncated,
    ErrorKind.CASE: cells.other_case,
    ErrorKind.MOJIBAKE: cells.mojibake,
    ErrorKind.TIME_ZONE: cells.shifted,
    ErrorKind.DUPLICATED: whole.duplicated,
    ErrorKind.PARTIAL: whole.partial,
    ErrorKind.LOST_GROUP: whole.without_a_group,
    ErrorKind.SHIFTED_ROWS: whole.shifted_by_a_row,
    ErrorKind.SIGN: cells.other_sign,
    ErrorKind.ZERO_FILL: cells.zero_fill,
    ErrorKind.MEAN_FILL: cells.mean_fill,
}


def inject(table: pa.Table, kind: ErrorKind, share: float, seed: int, before: pa.Table | None = None) -> Injected:
    """A copy of the table with one error in about ``share`` of its rows, at least in one; alike for the same seed.

    ``before`` has the rows of the window before, for stale copies. Unchanged where no column is of the kind's type,
    there are no rows, no window before is known, or chance has changed nothing.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of rows is above 0 and at most 1, not {share}")
    generator = np.random.default_rng([seed, *kind.encode()])
    spoilt = None
    if table.num_rows:
        count = max(1, round(share * table.num_rows))
        rows = np.sort(generator.choice(table.num_rows, count, replace=False))
        if kind is ErrorKind.STALE:
            spoilt = None if before is None else whole.stale(table, rows, generator, before)
        else:
            spoilt = _SPOILERS[kind](table, rows, generator)
    if spoilt is None or not spoilt.rows:
        return Injected(table=table, kind=kind, share=share, columns=(), rows=0)
    return Injected(
        table=spoilt.table, kind=kind, share=share, columns=spoilt.columns, rows=spoilt.rows, how=spoilt.how
    )
