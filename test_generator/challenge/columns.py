"""Columns chosen and written for an error: by type, in some rows, and how many of these differ afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as of

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
