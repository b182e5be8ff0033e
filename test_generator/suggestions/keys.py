"""Minimal keys of a table: the fewest columns whose values together tell every row from all others (pure).

Level by level: a set of columns is looked at where the product of their numbers of different values can be the number
of rows (as HCA does, Abedjan and Naumann 2011). What is unique in a sample is confirmed in all rows.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from .codes import Codes, codes_of, combined, is_nested

MOST_COLUMNS = 5  # of a key
SAMPLE = 20_000  # rows
MOST_SETS = 20_000  # sets of columns that are looked at


def minimal_keys(table: pa.Table, most_columns: int = MOST_COLUMNS, most_keys: int = 20) -> list[tuple[str, ...]]:
    """The sets of as few columns as possible that are unique and complete in all rows.

    Numbers with fractions and nested columns are no keys to anybody, and are left out.
    """
    if table.num_rows < 2:
        return []
    codes = {name: codes_of(table.column(name)) for name in table.column_names if _may_serve(table.column(name))}
    rows = np.random.default_rng(0).permutation(table.num_rows)[:SAMPLE]
    sampled = {name: np.unique(each[rows], return_inverse=True)[1] for name, each in codes.items()}
    found: list[tuple[str, ...]] = []
    looked_at = 0
    for size in range(1, most_columns + 1):
        for names in _sets(codes, size, table.num_rows):
            looked_at += 1
            if looked_at > MOST_SETS or len(found) == most_keys:
                return found
            if _is_unique([sampled[name] for name in names]) and _is_unique([codes[name] for name in names]):
                found.append(names)
        if found:
            return found
    return []


def is_key(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether the columns are complete, and every row has values of its own in them."""
    columns = [table.column(name) for name in names]
    return not any(column.null_count for column in columns) and _is_unique([codes_of(column) for column in columns])


def _sets(codes: dict[str, Codes], size: int, rows: int) -> Iterator[tuple[str, ...]]:
    """The sets of so many columns that may be keys, those with the most different values first."""
    distinct = {name: int(each.max()) + 1 for name, each in codes.items()}
    names = sorted((name for name in codes if distinct[name] > 1), key=lambda name: -distinct[name])
    for some in combinations(names, size):
        product = 1
        for name in some:
            product *= distinct[name]
        if product >= rows:
            yield tuple(name for name in codes if name in some)


def _may_serve(column: pa.ChunkedArray) -> bool:
    return not column.null_count and not is_nested(column.type) and not pa.types.is_floating(column.type)


def _is_unique(columns: Sequence[Codes]) -> bool:
    together = combined(columns)
    return len(np.unique(together)) == len(together)
