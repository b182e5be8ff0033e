"""Errors of whole rows: too many of them, too few, those of another day, or columns that stand beside wrong rows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

from .columns import Rows, Spoilt, chosen, replaced

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
