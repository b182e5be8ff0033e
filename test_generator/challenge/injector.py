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

# Columns chosen and written for an error: by type, in some rows, and how many of these differ afterwards.

Rows = npt.NDArray[np.int64]  # places of rows, in order


@dataclass(frozen=True, kw_only=True)
class Spoilt:
    """A table with an error, the columns and the number of rows that have it."""

    table: pa.Table
    columns: tuple[str, ...]
    rows: int
    how: str = ""


def is_number(type_: pa.DataType) -> bool:
    """Whether values are numbers to calculate with."""
    return bool(of.is_integer(type_) or of.is_floating(type_) or of.is_decimal(type_))


def is_text(type_: pa.DataType) -> bool:
    """Whether values are texts."""
    return bool(of.is_string(type_) or of.is_large_string(type_) or type_ == pa.string_view())


def chosen(
    table: pa.Table, wanted: Callable[[pa.DataType], bool], generator: np.random.Generator, count: int = 1
) -> list[str]:
    """Names of different columns of a type that have a value; fewer than ``count`` where there are not so many."""
    fit = [field.name for field in table.schema if wanted(field.type) and table[field.name].null_count < len(table)]
    return [str(name) for name in generator.permutation(np.array(fit, np.object_))[:count]]


def replaced(table: pa.Table, rows: Rows, columns: dict[str, Sequence[Any]], how: str = "") -> Spoilt:
    """The table with other values of some columns in some rows, which fit the columns' types."""
    differ = np.zeros(len(rows), np.bool_)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        type_ = table.schema.field(at).type
        given = pa.array(values, type_)
        before = table.column(at).take(pa.array(rows))
        differ |= np.array(
            [old != new for old, new in zip(before.to_pylist(), given.to_pylist(), strict=True)], np.bool_
        )
        column = table.column(at).combine_chunks()
        column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
        places = np.arange(len(table))
        places[rows] = len(table) + np.arange(len(rows))
        table = table.set_column(at, table.schema.field(at), pa.concat_arrays([column, given]).take(pa.array(places)))
    return Spoilt(table=table, columns=tuple(columns), rows=int(differ.sum()), how=how)


def fitted(value: float, type_: pa.DataType) -> Any:
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
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def explicit_missing(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Nulls in a column of any type."""
    names = chosen(table, lambda type_: not of.is_null(type_), generator)
    return replaced(table, rows, {names[0]: [None] * len(rows)}) if names else None


def implicit_missing(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """99999 in a column of numbers, or NONE in one of texts."""
    names = chosen(table, lambda type_: is_number(type_) or is_text(type_), generator)
    if not names:
        return None
    type_ = table.schema.field(names[0]).type
    value = MISSING_TEXT if is_text(type_) else fitted(MISSING_NUMBER, type_)
    return replaced(table, rows, {names[0]: [value] * len(rows)}, f"{value}")


def numeric_anomaly(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Numbers drawn about the column's mean, with 2 to 5 times its standard deviation."""
    names = chosen(table, is_number, generator)
    if not names:
        return None
    column = table[names[0]]
    numbers = column.drop_null().cast(pa.float64(), safe=False).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return None
    times = generator.uniform(*NOISE)
    drawn = generator.normal(numbers.mean(), times * numbers.std(), len(rows))
    return replaced(table, rows, {names[0]: [fitted(x, column.type) for x in drawn.tolist()]}, f"{times:.1f} sd")


def swapped_numbers(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """The numbers of two columns in each other's place."""
    return _swapped(table, rows, chosen(table, is_number, generator, 2))


def swapped_texts(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """The texts of two columns in each other's place."""
    return _swapped(table, rows, chosen(table, is_text, generator, 2))


def _swapped(table: pa.Table, rows: Rows, names: list[str]) -> Spoilt | None:
    if len(names) < 2:
        return None
    first, second = names
    values = {name: table[name].take(pa.array(rows)).to_pylist() for name in names}
    types = {name: table.schema.field(name).type for name in names}
    return replaced(
        table,
        rows,
        {first: _as(values[second], types[first]), second: _as(values[first], types[second])},
    )


def _as(values: list[Any], type_: pa.DataType) -> list[Any]:
    if not is_number(type_):
        return values
    return [None if value is None or not isfinite(value) else fitted(float(value), type_) for value in values]


def typos(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """One letter in ten is the one on a neighbouring key."""

    def mistyped(text: str) -> str:
        hit = generator.random(len(text)) < TYPOS_OF_LETTERS
        return "".join(
            _slipped(letter, generator) if is_hit else letter for letter, is_hit in zip(text, hit, strict=True)
        )

    return _of_texts(table, rows, generator, mistyped)


def _slipped(letter: str, generator: np.random.Generator) -> str:
    """A letter beside this one, in its case; anything else stays."""
    near = _NEIGHBOURS.get(letter.lower(), "")
    if not near:
        return letter
    typed = near[int(generator.integers(len(near)))]
    return typed.upper() if letter.isupper() else typed


def _neighbours() -> dict[str, str]:
    """Of each letter those beside, above and below it; lower rows stand half a key to the right."""
    keys = {letter: (x + y / 2, y) for y, row in enumerate(_KEYBOARD) for x, letter in enumerate(row)}
    return {
        letter: "".join(other for other, (u, v) in keys.items() if other != letter and abs(u - x) <= 1 >= abs(v - y))
        for letter, (x, y) in keys.items()
    }


_NEIGHBOURS = _neighbours()


def scaled(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Numbers of a column in another unit."""
    names = chosen(table, is_number, generator)
    if not names:
        return None
    factor, type_ = float(generator.choice(FACTORS)), table.schema.field(names[0]).type
    values = table[names[0]].take(pa.array(rows)).to_pylist()
    return replaced(
        table, rows, {names[0]: [x if x is None else _times(x, factor, type_) for x in values]}, f"× {factor:g}"
    )


def _times(number: Any, factor: float, type_: pa.DataType) -> Any:
    product = float(number) * factor
    return fitted(product, type_) if np.isfinite(product) else number


def other_sign(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Numbers of a column with the other sign."""
    names = chosen(table, lambda type_: is_number(type_) and not of.is_unsigned_integer(type_), generator)
    if not names:
        return None
    type_ = table.schema.field(names[0]).type
    values = table[names[0]].take(pa.array(rows)).to_pylist()
    return replaced(table, rows, {names[0]: [x if x is None else _times(x, -1.0, type_) for x in values]})


def zero_fill(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """0 in a column of numbers."""
    names = chosen(table, is_number, generator)
    return replaced(table, rows, {names[0]: [0] * len(rows)}) if names else None


def mean_fill(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """The column's mean in a column of numbers."""
    names = chosen(table, is_number, generator)
    if not names:
        return None
    numbers = table[names[0]].drop_null().cast(pa.float64(), safe=False).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return None
    value = fitted(float(numbers.mean()), table.schema.field(names[0]).type)
    return replaced(table, rows, {names[0]: [value] * len(rows)}, f"{value:g}")


def constant(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """One value of the column everywhere."""
    names = chosen(table, lambda type_: not of.is_nested(type_) and not of.is_null(type_), generator)
    if not names:
        return None
    value = generator.choice(np.array([*table[names[0]].drop_null().unique().to_pylist(), None], np.object_)[:-1])
    return replaced(table, rows, {names[0]: [value] * len(rows)}, f"{value}")


def truncated(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Texts cut to half the column's longest."""
    names = chosen(table, is_text, generator)
    if not names:
        return None
    length = max(1, int(pc.max(pc.utf8_length(table[names[0]].cast(pa.large_string()))).as_py()) // 2)
    return _changed(table, rows, names[0], lambda text: text[:length], f"at {length} letters")


def other_case(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Lower case where there was upper case, and the other way round."""
    return _of_texts(table, rows, generator, str.swapcase)


def mojibake(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """UTF-8 read as Windows-1252; texts in ASCII lose a letter to U+FFFD, as other encodings read as UTF-8 do."""

    def garbled(text: str) -> str:
        if not text.isascii():
            return text.encode().decode("cp1252", errors="replace")
        at = int(generator.integers(len(text))) if text else 0
        return f"{text[:at]}\N{REPLACEMENT CHARACTER}{text[at + 1 :]}" if text else text

    return _of_texts(table, rows, generator, garbled)


def shifted(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """Timestamps of another time zone."""
    names = chosen(table, lambda type_: bool(of.is_timestamp(type_)), generator)
    if not names:
        return None
    hours, type_ = int(generator.choice(HOURS)), table.schema.field(names[0]).type
    step = hours * 3600 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]
    moved = pc.add(table[names[0]].take(pa.array(rows)).cast(pa.int64()), step).combine_chunks().cast(type_)
    return replaced(table, rows, {names[0]: moved}, f"{hours:+d} h")


def _of_texts(
    table: pa.Table, rows: Rows, generator: np.random.Generator, change: Callable[[str], str]
) -> Spoilt | None:
    names = chosen(table, is_text, generator)
    return _changed(table, rows, names[0], change) if names else None


def _changed(table: pa.Table, rows: Rows, name: str, change: Callable[[str], str], how: str = "") -> Spoilt:
    texts = table[name].take(pa.array(rows)).to_pylist()
    return replaced(table, rows, {name: [text if text is None else change(text) for text in texts]}, how)


# Errors of whole rows: too many of them, too few, those of another day, or columns that stand beside wrong rows.

MOST_GROUPS = 100  # different values of a column whose rows are one group each


def duplicated(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt:
    """As many rows as are given, one behind the other, stand in the table twice."""
    count = len(rows)
    start = int(generator.integers(table.num_rows - count + 1))
    again = pa.concat_tables([table, table.slice(start, count)])
    return Spoilt(table=again, columns=(), rows=count, how=f"from row {start}")


def partial(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt:
    """As many rows as are given are missing at the end."""
    return Spoilt(table=table.slice(0, table.num_rows - len(rows)), columns=(), rows=len(rows))


def without_a_group(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """All rows with one value of a column are missing: that value whose rows are nearest to as many as are given."""
    names = chosen(table, lambda type_: not of.is_nested(type_) and not of.is_null(type_), generator, len(table.schema))
    for name in names:
        groups = pc.value_counts(table[name].drop_null())
        counts = groups.field("counts").to_numpy()
        if not 2 <= len(groups) <= MOST_GROUPS or len(groups) > len(table) / 2:
            continue
        at = int(np.argmin(np.abs(counts - len(rows))))
        is_kept = pc.fill_null(pc.not_equal(table[name], groups.field("values")[at]), True)
        left = table.filter(is_kept)
        return Spoilt(table=left, columns=(), rows=len(table) - len(left), how=f"of {name}")
    return None


def stale(table: pa.Table, rows: Rows, generator: np.random.Generator, before: pa.Table) -> Spoilt | None:
    """Rows of the window before in place of as many as are given; the whole window before in place of all."""
    if before.schema != table.schema or not len(before):
        return None
    if len(rows) == len(table):
        return Spoilt(table=before, columns=(), rows=0 if before == table else len(before), how="all of it")
    count = min(len(rows), len(before))
    places = np.arange(len(table))
    places[rows[:count]] = len(table) + np.sort(generator.choice(len(before), count, replace=False))
    mixed = pa.concat_tables([table, before]).take(pa.array(places))
    return Spoilt(table=mixed, columns=(), rows=0 if mixed == table else count)


def shifted_by_a_row(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt | None:
    """The values of one column in a block of as many rows as are given stand one row lower, the last one first."""
    names, count = chosen(table, lambda type_: not of.is_null(type_), generator), len(rows)
    if not names:
        return None
    start = int(generator.integers(len(table) - count + 1))
    block = np.arange(start, start + count)
    values = table[names[0]].take(pa.array(np.roll(block, 1))).to_pylist()
    return replaced(table, block, {names[0]: values})


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
    ErrorKind.EXPLICIT_MISSING: explicit_missing,
    ErrorKind.IMPLICIT_MISSING: implicit_missing,
    ErrorKind.NUMERIC_ANOMALY: numeric_anomaly,
    ErrorKind.SWAPPED_NUMBERS: swapped_numbers,
    ErrorKind.SWAPPED_TEXTS: swapped_texts,
    ErrorKind.TYPOS: typos,
    ErrorKind.SCALE: scaled,
    ErrorKind.CONSTANT: constant,
    ErrorKind.TRUNCATED: truncated,
    ErrorKind.CASE: other_case,
    ErrorKind.MOJIBAKE: mojibake,
    ErrorKind.TIME_ZONE: shifted,
    ErrorKind.DUPLICATED: duplicated,
    ErrorKind.PARTIAL: partial,
    ErrorKind.LOST_GROUP: without_a_group,
    ErrorKind.SHIFTED_ROWS: shifted_by_a_row,
    ErrorKind.SIGN: other_sign,
    ErrorKind.ZERO_FILL: zero_fill,
    ErrorKind.MEAN_FILL: mean_fill,
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
            spoilt = None if before is None else stale(table, rows, generator, before)
        else:
            spoilt = _SPOILERS[kind](table, rows, generator)
    if spoilt is None or not spoilt.rows:
        return Injected(table=table, kind=kind, share=share, columns=(), rows=0)
    return Injected(
        table=spoilt.table, kind=kind, share=share, columns=spoilt.columns, rows=spoilt.rows, how=spoilt.how
    )
