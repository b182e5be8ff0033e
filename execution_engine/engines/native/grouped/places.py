"""Which group each row is in: groups are told apart by texts of columns, as Spark's CAST to STRING writes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from execution_engine.engines.native.evaluation import unpacked
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.values import Family, Numbers, Values, is_valid_text, places_of

GroupKey = tuple[str | None, ...]  # one text for each column; None where it is null
PLAIN_SCALE = 6  # digits behind the point: of more, Spark writes small decimals with an exponent or without
_EPOCH, _SECOND = datetime(1970, 1, 1), 10**6
_FIRST_DAY, _LAST_DAY = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
_DAY = 86_400 * _SECOND
_SPARSE = 4  # of as many codes as there are rows, times this, a table is made


class TooManyGroups(Exception):
    """There are more groups than are wanted."""


@dataclass
class Groups:
    """The groups that rows were in so far, numbered as they came; ``most`` of them at most."""

    most: int
    numbers: dict[GroupKey, int] = field(default_factory=dict)

    def places(self, columns: Sequence[Values]) -> Numbers:
        """The number of each row's group.

        TooManyGroups where there are more than ``most``; UnableToTell where Spark alone knows the text of a value.
        """
        for column in columns:
            if column.family not in _WRITERS or column.scale > PLAIN_SCALE:
                raise UnableToTell(f"{column.family} is written by Spark")
        dense, rows = _alike(columns)
        keys = zip(*(_texts(column, rows) for column in columns), strict=True)
        numbers = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], dtype=np.int64)
        if len(self.numbers) > self.most:
            raise TooManyGroups
        found: Numbers = numbers[dense]
        return found


def _alike(columns: Sequence[Values]) -> tuple[Numbers, Numbers]:
    """For each row the number of those that are alike in all columns, and for each such number one of the rows."""
    found, count = _codes(columns[0])
    for column in columns[1:]:
        codes, more = _codes(column)
        found, count = _dense(found, count)
        found, count = found * more + codes, count * more
    found, count = _dense(found, count)
    rows = np.empty(count, dtype=np.int64)
    rows[found] = np.arange(len(found))
    return found, rows


def _codes(column: Values) -> tuple[Numbers, int]:
    """For each row a number of its value, and how many there may be; a null is a value."""
    array = column.array
    packed = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes, count = places_of(packed), len(packed.dictionary)
    if column.null is not None:
        codes = np.where(column.null, count, codes)
    return codes, count + 1


def _dense(codes: Numbers, count: int) -> tuple[Numbers, int]:
    """The same numbers without those that no row has."""
    if count > _SPARSE * max(len(codes), 256):
        distinct, found = np.unique(codes, return_inverse=True)
        return found, len(distinct)
    used = np.zeros(count, dtype=np.int64)
    used[codes] = 1
    return (np.cumsum(used) - 1)[codes], int(used.sum())


def _texts(column: Values, rows: Numbers) -> list[str | None]:
    """Of the column on these rows."""
    if column.family is Family.TEXT:
        at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
        texts = unpacked(column.array.take(at))
        if not is_valid_text(texts):
            raise UnableToTell("a text that is no UTF-8 is told by Spark")
        found: list[str | None] = texts.to_pylist()
        return found
    null = np.zeros(len(rows), dtype=np.bool_) if column.null is None else column.null[rows]
    write, numbers = _WRITERS[column.family], column.whole[rows]
    return [
        None if is_null else write(column, number)
        for is_null, number in zip(null.tolist(), numbers.tolist(), strict=True)
    ]


def _exact(column: Values, number: int) -> str:
    return f"{Decimal(f'{number}E{-column.scale}'):f}" if column.scale else str(number)


def _truth(column: Values, number: bool) -> str:
    return "true" if number else "false"


def _day(column: Values, number: int) -> str:
    if not _FIRST_DAY <= number <= _LAST_DAY:
        raise UnableToTell("years of other than four digits are written by Spark")
    return (_EPOCH.date() + timedelta(days=number)).isoformat()


def _instant(column: Values, number: int) -> str:
    """In UTC, which is the session's time zone; without the zeros that end a fraction."""
    if not _FIRST_DAY * _DAY <= number < (_LAST_DAY + 1) * _DAY:
        raise UnableToTell("years of other than four digits are written by Spark")
    at = _EPOCH + timedelta(microseconds=number)
    fraction = f".{at.microsecond:06d}".rstrip("0") if at.microsecond else ""
    return f"{at.isoformat(' ', 'seconds').partition('.')[0]}{fraction}"


_WRITERS: Mapping[Family, Callable[[Values, Any], str]] = {
    Family.TEXT: lambda column, text: str(text),
    Family.TRUTH: _truth,
    Family.EXACT: _exact,
    Family.DATE: _day,
    Family.TIMESTAMP: _instant,
    Family.TIMESTAMP_NTZ: _instant,
}
