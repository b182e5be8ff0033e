"""Which group each row is in: groups are told apart by texts of columns, as Spark's CAST to STRING writes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from execution_engine.engines.native.evaluation import unpacked
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.texts import as_string
from execution_engine.engines.native.values import Numbers, Values, is_valid_text, places_of

GroupKey = tuple[str | None, ...]  # one text for each column; None where it is null
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
    """Of the column on these rows; UnableToTell where they are Spark's to write."""
    at = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    null = None if column.null is None else column.null[rows]
    numbers = None if column.numbers is None else column.numbers[rows]
    written = as_string(replace(column, array=column.array.take(at), numbers=numbers, null=null))
    texts = unpacked(written.array)
    if not is_valid_text(texts):
        raise UnableToTell("a text that is no UTF-8 is told by Spark")
    found: list[str | None] = texts.to_pylist()
    return (
        found
        if null is None
        else [None if is_null else text for text, is_null in zip(found, null.tolist(), strict=True)]
    )
