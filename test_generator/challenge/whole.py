"""Errors of whole rows: too many of them, or too few."""

import numpy as np
import pyarrow as pa

from .columns import Rows, Spoilt


def duplicated(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt:
    """As many rows as are given, one behind the other, stand in the table twice."""
    count = len(rows)
    start = int(generator.integers(table.num_rows - count + 1))
    again = pa.concat_tables([table, table.slice(start, count)])
    return Spoilt(table=again, columns=(), rows=count, how=f"from row {start}")


def partial(table: pa.Table, rows: Rows, generator: np.random.Generator) -> Spoilt:
    """As many rows as are given are missing at the end."""
    return Spoilt(table=table.slice(0, table.num_rows - len(rows)), columns=(), rows=len(rows))
