"""A day of trips, broken and right, and what is made of it; and the catalog that knows them."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 200
CATALOG = """\
source: story
datasets:
  - name: raw.trips
    owner: ann@example.com
    tier: 2
    novelty: false
    columns: {{trip_id: bigint, fare: double}}
    partition: {{column: day, granularity: day, first: {first}}}
    sustain: 0m
    slas: {{freshness: 1d}}
    replicas: [{{datacenter: sea, storage: parquet, location: lake/trips}}]
  - name: mart.fares
    owner: max@example.com
    tier: 2
    novelty: false
    columns: {{trip_id: bigint, fare: double}}
    primary_key: [trip_id]
    partition: {{column: day, granularity: day, first: {first}}}
    sustain: 0m
    slas: {{freshness: 7d}}
    replicas: [{{datacenter: sea, storage: parquet, location: lake/fares}}]
  - name: mart.tips
    owner: max@example.com
    tier: 2
    novelty: false
    columns: {{trip_id: bigint, fare: double}}
    primary_key: [trip_id]
    partition: {{column: day, granularity: day, first: {first}}}
    sustain: 0m
    slas: {{freshness: 7d}}
    replicas: [{{datacenter: sea, storage: parquet, location: lake/tips}}]
tests:
  - {{dataset: raw.trips, name: all-trips, assertion: "row_count() >= 100", severity: hard, sustain: 0m}}
  - {{dataset: mart.fares, name: all-fares, assertion: "row_count() >= 100", severity: hard, sustain: 0m}}
  - dataset: mart.tips
    name: no-trip-twice
    assertion: "1 - count_distinct(trip_id) / row_count() <= 0"
    severity: hard
    sustain: 0m
"""


def lay(folder: Path, day: date) -> Path:
    """The lake with a broken day, batches beside it for DAGs to write, and the path of the catalog."""
    _write(folder / "lake" / "trips" / f"day={day}", rows=ROWS // 20)
    for name, rows, times in (("right", ROWS, 1), ("twice", ROWS, 2)):
        _write(folder / "batches" / name, rows=rows, times=times)
    for empty in ("fares", "tips"):
        (folder / "lake" / empty).mkdir()
    catalog = folder / "catalog.yaml"
    catalog.write_text(CATALOG.format(first=day))
    return catalog


def _write(folder: Path, *, rows: int, times: int = 1) -> None:
    folder.mkdir(parents=True)
    ids = [number for _ in range(times) for number in range(rows)]
    table = pa.table({"trip_id": pa.array(ids, pa.int64()), "fare": pa.array([7.5] * len(ids), pa.float64())})
    pq.write_table(table, folder / "part-0.parquet")
