"""A small table of trips with something wrong of each kind, so that contenders can be seen to find the same."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cache import home, made_once

from .trips import table

ROWS = 10_000  # that there should be
MISSING, TWICE = 10, 300


def spoilt_trips() -> Path:
    """Its folder, written unless an earlier run did."""
    return made_once(home() / "data" / "trips-spoilt", _write)


def _write(folder: Path) -> None:
    sound = table(0, ROWS - MISSING - TWICE)
    spoilt = sound
    for column, spoil in SPOIL.items():
        spoilt = spoilt.set_column(spoilt.column_names.index(column), column, spoil(sound))
    pq.write_table(pa.concat_tables([spoilt, spoilt.slice(1_000, TWICE)]), folder / "part-00000.parquet")


def _put(column: str, values: Any) -> Callable[[pa.Table], Any]:
    """The first values of the column replaced by these."""
    return lambda trips: pa.concat_arrays(
        [pa.array(values, type=trips[column].type), *trips[column].slice(len(values)).chunks]
    )


SPOIL: Mapping[str, Callable[[pa.Table], Any]] = {
    "trip_id": _put("trip_id", range(-5, 0)),
    "user_id": _put("user_id", [None] * 200),
    "city": _put("city", ["city_1x", "City_001"]),
    "status": _put("status", ["lost"] * 10),
    "fare": _put("fare", np.full(40, 5_000.0)),
    "ended_at": lambda trips: pa.concat_arrays(
        [*trips["started_at"].slice(0, 7).chunks, *trips["ended_at"].slice(7).chunks]
    ),
    "email": _put("email", ["rider at example.com"] * 3),
}
