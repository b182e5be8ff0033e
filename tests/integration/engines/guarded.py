"""Two small tables of every kind of column, for SQL that users write."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

NOTES = ("it's", "a\\b", "a\tb", "12", "ab 7", "x", "", None, '{"a": 1}', '{"a": 2}', "it's 100%", "late fee")
CITIES = ("rome", "oslo", "lima", "baku", None)
START = datetime(2013, 1, 1)
VIEWS = {"trips": "guarded_trips", "zones": "guarded_zones", "raw.trips": "guarded_trips"}
TRIPS = pa.schema(
    [
        ("trip_id", pa.int32()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("riders", pa.int32()),
        ("started", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("x", pa.int32()), ("y", pa.float64())])),
        ("extra", pa.map_(pa.string(), pa.int32())),
        ("note", pa.string()),
        ("odd name", pa.string()),
        ("user", pa.string()),
    ]
)


def _trip(at: int) -> dict[str, object]:
    started = START + timedelta(hours=7 * at, minutes=at % 3 * 15)
    return {
        "trip_id": at,
        "city": CITIES[at % 5],
        "fare": None if at % 11 == 0 else at * 2.5 % 31,
        "riders": None if at % 7 == 0 else at % 4 + 1,
        "started": started,
        "day": date(2013, 1, 1) + timedelta(days=(started - START).days),
        "tags": [["late", "early"], ["x"], []][at % 3],
        "place": {"x": at % 3, "y": at / 4},
        "extra": [("n", at % 5)] if at % 2 else [("m", 1)],
        "note": NOTES[at % len(NOTES)],
        "odd name": str(at) if at % 2 else None,
        "user": f"u{at % 3}",
    }


def write(folder: Path) -> None:
    """Writes trips.parquet (60 rows) and zones.parquet (3 rows)."""
    pq.write_table(pa.Table.from_pylist([_trip(at) for at in range(60)], TRIPS), folder / "trips.parquet")
    zones = {
        "city": ["rome", "oslo", "cairo"],
        "zone": ["south", "north", "south"],
        "low": [1, 5, 9],
        "high": [9, 20, 30],
    }
    pq.write_table(pa.table(zones), folder / "zones.parquet")


@contextmanager
def views(session: SparkSession, folder: Path) -> Iterator[None]:
    """The tables as views, under their own names and those of ``VIEWS``."""
    write(folder)
    names = [("trips", "trips"), ("zones", "zones"), ("trips", "guarded_trips"), ("zones", "guarded_zones")]
    for table, name in names:
        session.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(name)
    yield
    for _, name in names:
        session.catalog.dropTempView(name)
