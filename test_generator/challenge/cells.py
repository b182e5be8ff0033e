"""Errors in single cells: of one column, or of two that are swapped."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

from .columns import Rows, Spoilt, chosen, fitted, is_number, is_text, replaced

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
