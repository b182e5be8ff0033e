"""A thousand small tables of four schemas, ten thousand rows each, as a company has more of than large ones."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator, default_rng
from rich.progress import track

from benchmarks.cache import home, made_once

from .small_schemas import COUNTRIES, SCHEMAS, STATES

TABLES, ROWS = 1_000, 10_000
Column = Callable[[Generator], Any]


def small_tables() -> Path:
    """A folder with a folder for each table, ``<schema>-<number>``, written unless an earlier run did."""
    return made_once(home() / "data" / f"small-{TABLES}x{ROWS}", write)


def write(folder: Path, tables: int = TABLES) -> None:
    """So many of them; the same each time."""
    names = sorted(SCHEMAS)
    for number in track(range(tables), description=f"writing {tables:,} small tables", transient=True):
        schema = names[number % len(names)]
        random = default_rng(number)
        place = folder / f"{schema}-{number:04}"
        place.mkdir()
        columns = {name: COLUMNS[kind](random) for name, kind in SCHEMAS[schema].items()}
        pq.write_table(pa.table(columns), place / "part-00000.parquet", compression="snappy")


def _drawn(pool: tuple[str, ...]) -> Column:
    return lambda random: pa.array(pool).take(pa.array(random.integers(0, len(pool), ROWS)))


COLUMNS: Mapping[str, Column] = {
    "id": lambda random: np.arange(ROWS, dtype=np.int64),
    "key": lambda random: pa.array(random.integers(0, 5_000, ROWS), mask=random.random(ROWS) < 0.01),
    "amount": lambda random: random.integers(0, 100_000, ROWS) / 100,
    "state": _drawn(STATES),
    "country": _drawn(COUNTRIES),
}
