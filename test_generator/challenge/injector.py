"""Known errors put into a copy of a table: which kind, in how many rows, by which seed; and what was changed.

The first six kinds are those of Redyuk et al., Automating Data Quality Validation, 2021.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of


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


Rows = npt.NDArray[np.int64]  # places of rows, in order


@dataclass(frozen=True, kw_only=True)
class Injected:
    """The spoilt copy. ``rows``: how many were changed, added or left out; with 0 it is as good as before.

    ``columns`` are those that were changed; none where whole rows were added or left out. ``how`` says more, such as
    the factor of a scale.
    """

    table: pa.Table
    columns: tuple[str, ...] = ()
    rows: int = 0
    how: str = ""

    @property
    def changed(self) -> bool:
        """Whether there is anything to find."""
        return self.rows > 0


Spoiler = Callable[[pa.Table, Rows, np.random.Generator], Injected | None]  # None: no column is of the kind's type
Values = tuple[Sequence[Any], str]  # new values of a column in the rows, and how they came about


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
        if kind is not ErrorKind.STALE:
            spoilt = _SPOILERS[kind](table, rows, generator)
        elif before is not None:
            spoilt = _stale(table, rows, generator, before)
    return spoilt if spoilt and spoilt.rows else Injected(table=table)


def is_number(type_: pa.DataType) -> bool:
    """Whether values are numbers to calculate with."""
    return bool(of.is_integer(type_) or of.is_floating(type_) or of.is_decimal(type_))


def is_text(type_: pa.DataType) -> bool:
    """Whether values are texts."""
    return bool(of.is_string(type_) or of.is_large_string(type_) or type_ == pa.string_view())


def _is_flat(type_: pa.DataType) -> bool:
    return not of.is_nested(type_) and not of.is_null(type_)


def _columns(
    table: pa.Table, accepts: Callable[[pa.DataType], bool], generator: np.random.Generator, count: int = 1
) -> list[str]:
    """Names of different columns of a type that have a value; fewer than ``count`` where there are not so many."""
    fit = [field.name for field in table.schema if accepts(field.type) and table[field.name].null_count < len(table)]
    return [str(name) for name in generator.permutation(np.array(fit, np.object_))[:count]]


def _replace(table: pa.Table, rows: Rows, columns: Mapping[str, Sequence[Any]], how: str = "") -> Injected:
    """The table with other values of some columns in some rows, which fit the columns' types."""
    differ = np.zeros(len(rows), np.bool_)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        new = pa.array(values, table.schema.field(at).type)
        before = table.column(at).take(pa.array(rows))
        differ |= np.array([a != b for a, b in zip(before.to_pylist(), new.to_pylist(), strict=True)], np.bool_)
        column = table.column(at).combine_chunks()
        column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
        places = np.arange(len(table))
        places[rows] = len(table) + np.arange(len(rows))
        table = table.set_column(at, table.schema.field(at), pa.concat_arrays([column, new]).take(pa.array(places)))
    return Injected(table=table, columns=tuple(columns), rows=int(differ.sum()), how=how)


def _fit(value: float, type_: pa.DataType) -> Any:
    """A number as the type can hold it: whole, and no larger than its largest."""
    if of.is_floating(type_):
        return value
    if of.is_decimal(type_):
        most = Decimal(10) ** (type_.precision - type_.scale) - Decimal(1).scaleb(-type_.scale)
        return max(-most, min(most, round(Decimal(value), type_.scale)))
    most = 2 ** (type_.bit_width - of.is_signed_integer(type_)) - 1
    return int(max(-most - 1 if of.is_signed_integer(type_) else 0, min(most, round(value))))


# Errors in single cells: of one column, or of two that are swapped.

MISSING_NUMBER, MISSING_TEXT = 99999, "NONE"
NOISE = (2.0, 5.0)  # standard deviations of a numeric anomaly
TYPOS_OF_LETTERS = 0.1
FACTORS = (1.609344, 0.3048, 2.54, 60.0, 100.0, 1000.0, 0.001)  # of units that are mixed up
HOURS = (-8, -5, -1, 1, 2, 5, 8)  # between time zones
_KEYS = {  # of each letter its place; lower rows stand half a key to the right
    letter: (x + y / 2, y)
    for y, row in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for x, letter in enumerate(row)
}
_NEIGHBOURS = {  # of each letter those beside, above and below it
    letter: "".join(other for other, (u, v) in _KEYS.items() if other != letter and abs(u - x) <= 1 >= abs(v - y))
    for letter, (x, y) in _KEYS.items()
}


def _in_column(
    accepts: Callable[[pa.DataType], bool],
    change: Callable[[pa.ChunkedArray, Rows, np.random.Generator], Values | None],
) -> Spoiler:
    """An error in a column of a type that chance picks: ``change`` gives its new values in the rows."""

    def spoil(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Injected | None:
        if not (names := _columns(table, accepts, generator)):
            return None
        values = change(table[names[0]], rows, generator)
        return _replace(table, rows, {names[0]: values[0]}, values[1]) if values else None

    return spoil


def _in_texts(change: Callable[[str, np.random.Generator], str]) -> Spoiler:
    def spoil_column(column: pa.ChunkedArray, rows: Rows, generator: np.random.Generator) -> Values:
        texts = column.take(pa.array(rows)).to_pylist()
        return [text if text is None else change(text, generator) for text in texts], ""

    return _in_column(is_text, spoil_column)


def _swapped(accepts: Callable[[pa.DataType], bool]) -> Spoiler:
    """The values of two columns in each other's place."""

    def spoil(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Injected | None:
        if len(names := _columns(table, accepts, generator, 2)) < 2:
            return None
        columns = {}
        for name, other in (names, reversed(names)):
            values, type_ = table[other].take(pa.array(rows)).to_pylist(), table.schema.field(name).type
            if is_number(type_):
                values = [None if x is None or not isfinite(x) else _fit(float(x), type_) for x in values]
            columns[name] = values
        return _replace(table, rows, columns)

    return spoil


def _implicit_missing(column: pa.ChunkedArray, rows: Rows, _: np.random.Generator) -> Values:
    value = MISSING_TEXT if is_text(column.type) else _fit(MISSING_NUMBER, column.type)
    return [value] * len(rows), f"{value}"


def _finite(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = column.drop_null().cast(pa.float64(), safe=False).to_numpy()
    return numbers[np.isfinite(numbers)]


def _numeric_anomaly(column: pa.ChunkedArray, rows: Rows, generator: np.random.Generator) -> Values | None:
    if not len(numbers := _finite(column)):
        return None
    times = generator.uniform(*NOISE)
    drawn = generator.normal(numbers.mean(), times * numbers.std(), len(rows))
    return [_fit(x, column.type) for x in drawn.tolist()], f"{times:.1f} sd"


def _mean_fill(column: pa.ChunkedArray, rows: Rows, _: np.random.Generator) -> Values | None:
    if not len(numbers := _finite(column)):
        return None
    value = _fit(float(numbers.mean()), column.type)
    return [value] * len(rows), f"{value:g}"


def _multiply(column: pa.ChunkedArray, rows: Rows, factor: float) -> list[Any]:
    """The numbers times the factor, but those that would be no finite number."""
    values = column.take(pa.array(rows)).to_pylist()
    products = [float(x) * factor if x is not None else np.nan for x in values]
    return [_fit(y, column.type) if isfinite(y) else x for x, y in zip(values, products, strict=True)]


def _scaled(column: pa.ChunkedArray, rows: Rows, generator: np.random.Generator) -> Values:
    factor = float(generator.choice(FACTORS))
    return _multiply(column, rows, factor), f"× {factor:g}"


def _constant(column: pa.ChunkedArray, rows: Rows, generator: np.random.Generator) -> Values:
    value = generator.choice(np.array([*column.drop_null().unique().to_pylist(), None], np.object_)[:-1])
    return [value] * len(rows), f"{value}"


def _truncated(column: pa.ChunkedArray, rows: Rows, _: np.random.Generator) -> Values:
    length = max(1, int(pc.max(pc.utf8_length(column.cast(pa.large_string()))).as_py()) // 2)
    texts = column.take(pa.array(rows)).to_pylist()
    return [text if text is None else text[:length] for text in texts], f"at {length} letters"


def _mistyped(text: str, generator: np.random.Generator) -> str:
    """One letter in ten is the one on a neighbouring key, in its case."""
    hits = generator.random(len(text)) < TYPOS_OF_LETTERS
    letters = list(text)
    for at in np.flatnonzero(hits):
        if near := _NEIGHBOURS.get(text[at].lower(), ""):
            typed = near[int(generator.integers(len(near)))]
            letters[at] = typed.upper() if text[at].isupper() else typed
    return "".join(letters)


def _garbled(text: str, generator: np.random.Generator) -> str:
    """UTF-8 read as Windows-1252; texts in ASCII lose a letter to U+FFFD, as other encodings read as UTF-8 do."""
    if not text.isascii():
        return text.encode().decode("cp1252", errors="replace")
    at = int(generator.integers(len(text))) if text else 0
    return f"{text[:at]}\N{REPLACEMENT CHARACTER}{text[at + 1 :]}" if text else text


def _shifted(column: pa.ChunkedArray, rows: Rows, generator: np.random.Generator) -> Values:
    hours = int(generator.choice(HOURS))
    step = hours * 3600 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    moved = pc.add(column.take(pa.array(rows)).cast(pa.int64()), step).combine_chunks().cast(column.type)
    return moved, f"{hours:+d} h"


# Errors of whole rows: too many of them, too few, those of another day, or columns that stand beside wrong rows.

MOST_GROUPS = 100  # different values of a column whose rows are one group each


def _duplicated(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Injected:
    start = int(generator.integers(table.num_rows - len(rows) + 1))
    again = pa.concat_tables([table, table.slice(start, len(rows))])
    return Injected(table=again, rows=len(rows), how=f"from row {start}")


def _without_group(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Injected | None:
    """All rows with one value of a column are missing: that value whose rows are nearest to as many as ``rows``."""
    for name in _columns(table, _is_flat, generator, len(table.schema)):
        groups = pc.value_counts(table[name].drop_null())
        if not 2 <= len(groups) <= MOST_GROUPS or len(groups) > len(table) / 2:
            continue
        at = int(np.argmin(np.abs(groups.field("counts").to_numpy() - len(rows))))
        left = table.filter(pc.fill_null(pc.not_equal(table[name], groups.field("values")[at]), True))
        return Injected(table=left, rows=len(table) - len(left), how=f"of {name}")
    return None


def _stale(table: pa.Table, rows: Rows, generator: np.random.Generator, before: pa.Table) -> Injected | None:
    """Rows of the window before in place of as many as ``rows``; the whole window before in place of all."""
    if before.schema != table.schema or not len(before):
        return None
    if len(rows) == len(table):
        return Injected(table=before, rows=0 if before == table else len(before), how="all of it")
    count = min(len(rows), len(before))
    places = np.arange(len(table))
    places[rows[:count]] = len(table) + np.sort(generator.choice(len(before), count, replace=False))
    mixed = pa.concat_tables([table, before]).take(pa.array(places))
    return Injected(table=mixed, rows=0 if mixed == table else count)


def _shifted_by_row(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Injected | None:
    """The values of one column in a block of as many rows as ``rows`` stand one row lower, the last one first."""
    if not (names := _columns(table, lambda type_: not of.is_null(type_), generator)):
        return None
    start = int(generator.integers(len(table) - len(rows) + 1))
    block = np.arange(start, start + len(rows))
    values = table[names[0]].take(pa.array(np.roll(block, 1))).to_pylist()
    return _replace(table, block, {names[0]: values})


_SPOILERS: Mapping[ErrorKind, Spoiler] = {
    ErrorKind.EXPLICIT_MISSING: _in_column(
        lambda type_: not of.is_null(type_), lambda column, rows, _: ([None] * len(rows), "")
    ),
    ErrorKind.IMPLICIT_MISSING: _in_column(lambda type_: is_number(type_) or is_text(type_), _implicit_missing),
    ErrorKind.NUMERIC_ANOMALY: _in_column(is_number, _numeric_anomaly),
    ErrorKind.SWAPPED_NUMBERS: _swapped(is_number),
    ErrorKind.SWAPPED_TEXTS: _swapped(is_text),
    ErrorKind.TYPOS: _in_texts(_mistyped),
    ErrorKind.SCALE: _in_column(is_number, _scaled),
    ErrorKind.CONSTANT: _in_column(_is_flat, _constant),
    ErrorKind.TRUNCATED: _in_column(is_text, _truncated),
    ErrorKind.CASE: _in_texts(lambda text, _: text.swapcase()),
    ErrorKind.MOJIBAKE: _in_texts(_garbled),
    ErrorKind.TIME_ZONE: _in_column(lambda type_: bool(of.is_timestamp(type_)), _shifted),
    ErrorKind.DUPLICATED: _duplicated,
    ErrorKind.PARTIAL: lambda table, rows, _: Injected(table=table.slice(0, len(table) - len(rows)), rows=len(rows)),
    ErrorKind.LOST_GROUP: _without_group,
    ErrorKind.SHIFTED_ROWS: _shifted_by_row,
    ErrorKind.SIGN: _in_column(
        lambda type_: is_number(type_) and not of.is_unsigned_integer(type_),
        lambda column, rows, _: (_multiply(column, rows, -1.0), ""),
    ),
    ErrorKind.ZERO_FILL: _in_column(is_number, lambda column, rows, _: ([0] * len(rows), "")),
    ErrorKind.MEAN_FILL: _in_column(is_number, _mean_fill),
}
