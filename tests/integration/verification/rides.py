"""A few rides with known faults, as rows, as a DataFrame and as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

RIDES: list[dict[str, Any]] = [
    {"id": 1, "city": "rome", "fare": 4.0, "tip": 1.0, "email": "a@x.org", "code": "12", "rider_id": 1},
    {"id": 2, "city": "rome", "fare": 8.0, "tip": 2.0, "email": "b@x.org", "code": "7.5", "rider_id": 2},
    {"id": 3, "city": None, "fare": None, "tip": None, "email": None, "code": None, "rider_id": None},
    {"id": 4, "city": "oslo", "fare": -2.0, "tip": 0.5, "email": "no address", "code": "x", "rider_id": 9},
    {"id": 4, "city": "oslo", "fare": 6.0, "tip": 9.0, "email": "d@x.org", "code": "8", "rider_id": 2},
]
RIDERS: list[dict[str, Any]] = [{"rider_id": 1}, {"rider_id": 2}, {"rider_id": 3}]
SCHEMA = "id long, city string, fare double, tip double, email string, code string, rider_id long"


def as_pandas() -> pd.DataFrame:
    return pd.DataFrame(RIDES)


def write(folder: Path, rows: Sequence[dict[str, Any]] = RIDES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "part-0.parquet")
    return folder
