"""Rows of many types, as pandas holds them and as parquet stores them, and metrics of them with their references."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.protocol import Table
from tests.integration.storages import stored

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "key": pa.int32(),
        "x": pa.float64(),
        "y": pa.float32(),
        "large": pa.int64(),
        "price": pa.decimal128(12, 2),
        "name": pa.string(),
        "said": pa.string(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us", tz="UTC"),
        "until": pa.timestamp("us", tz="UTC"),
        "address": pa.struct({"city": pa.string(), "zip": pa.int32()}),
        "tags": pa.list_(pa.string()),
        "nothing": pa.float64(),
        "special": pa.float64(),
    }
)
NAMES = ["", "a", "Straße", "東京", "naïve café", "🦉🦉", "O'Hara", 'quote"d', "tab\tbed", "back\\slash", "%_"]
SAID = ["1", "-20", "+3", "1.5", ".5", "2e-3", "true", "FALSE", "word", "1 2", "", "0x1F", "٣", "7\n"]
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5, None]
EPOCH = datetime(2024, 2, 28, 12, tzinfo=UTC)

Rows = list[dict[str, Any]]


def random_rows(count: int, seed: int = 7) -> Rows:
    """So many rows with nulls everywhere but in ``id``."""
    random = np.random.default_rng(seed)
    return [_row(number, random) for number in range(count)]


def _row(number: int, random: np.random.Generator) -> dict[str, Any]:
    x, at = float(random.normal(50, 20)), EPOCH + timedelta(seconds=int(random.integers(0, 10**7)), microseconds=number)
    row = {
        "key": int(random.integers(0, 40)),
        "x": x,
        "y": float(np.float32(x * 0.5 + random.normal(0, 5))),
        "large": int(random.integers(2**61, 2**62)),
        "price": Decimal(int(random.integers(-(10**6), 10**6))).scaleb(-2),
        "name": str(random.choice(NAMES)),
        "said": str(random.choice(SAID)),
        "flag": bool(random.integers(0, 2)),
        "day": date(2024, 2, 27) + timedelta(days=int(random.integers(0, 4))),
        "at": at,
        "until": at + timedelta(minutes=int(random.integers(-1, 3))),
        "address": {"city": str(random.choice(NAMES)), "zip": int(random.integers(0, 9))},
        "tags": [str(random.choice(NAMES))] * int(random.integers(0, 3)),
        "special": SPECIAL[int(random.integers(0, len(SPECIAL)))],
    }
    absent = {name: None for name in row if random.random() < 0.1}
    return {"id": number, "nothing": None} | row | absent


def null_rows(count: int) -> Rows:
    """So many rows that hold nothing."""
    return [dict.fromkeys(SCHEMA.names) for _ in range(count)]


def frame_of(rows: Rows) -> pd.DataFrame:
    """The rows as pandas holds them: objects, so that a NaN and a null stay apart."""
    found = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in SCHEMA.names})
    for field in ("city", "zip"):
        values = [None if row["address"] is None else row["address"][field] for row in rows]
        found[f"address.{field}"] = pd.Series(values, dtype=object)
    return found


def write(root: Path, parts: Mapping[str, Rows], *, statistics: bool = True) -> Table:
    """A table of partitions; without ``statistics`` its footers tell the rows only."""
    for key, rows in parts.items():
        folder = root / f"part={key}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        pq.write_table(table, folder / "rows.parquet", write_statistics=statistics, row_group_size=1000)
    return stored(Table(name="raw.many", storage="parquet", location=str(root), partition_column="part"))
