"""Columns as numbers of their different values, which keys and dependencies are looked for in (pure)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]

NULL = -1
FEW = 1 << 16  # places that are cheaper to mark than codes to sort
_NESTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_struct, pa.types.is_map)


def is_nested(type_: pa.DataType) -> bool:
    """Lists, structs and maps, whose values are not compared."""
    return any(is_it(type_) for is_it in _NESTED)


def codes_of(column: pa.ChunkedArray) -> Codes:
    """A number for each different value, from 0 on; NULL is -1, and both zeros are one value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
    indices = pc.dictionary_encode(column.combine_chunks()).indices
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    codes: Codes = pc.fill_null(indices, NULL).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def combined(columns: Sequence[Codes]) -> Codes:
    """A number for each different row of columns without NULL, from 0 on."""
    together = dense(columns[0])
    for column in columns[1:]:
        together = dense(together * (int(column.max(initial=0)) + 1) + column)
    return together


def dense(codes: Codes) -> Codes:
    """The same without gaps: a number from 0 on for each different one."""
    bound = int(codes.max(initial=-1)) + 1
    if bound > max(FEW, 4 * len(codes)):
        ordered: Codes = np.unique(codes, return_inverse=True)[1]
        return ordered
    there = np.zeros(bound, np.bool_)
    there[codes] = True
    places: Codes = np.cumsum(there) - 1
    return places[codes]


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables, in the columns that have one name each, and types that go together."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    kept = [name for name in names if _go_together([t.schema.field(at) for t in tables for at in _places(t, name)])]
    kept = [name for name in kept if all(len(_places(table, name)) < 2 for table in tables)]
    parts = [table.select([name for name in kept if name in table.column_names]) for table in tables]
    return pa.concat_tables(parts, promote_options="permissive")


def _places(table: pa.Table, name: str) -> list[int]:
    places: list[int] = table.schema.get_all_field_indices(name)
    return places


def _go_together(fields: Sequence[pa.Field]) -> bool:
    try:
        pa.unify_schemas([pa.schema([field]) for field in fields], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return False
    return True
