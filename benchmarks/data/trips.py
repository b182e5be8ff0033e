"""A day of trips in parquet, 625,000 rows a file: what every contender checks."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator, default_rng
from rich.progress import track

from benchmarks.cache import home, made_once

from .pools import CITIES, DATE, DRIVERS, STATUSES, USERS

ROWS_A_FILE = 625_000
SEED = 20260301
MAILS = ("mail.example.com", "post.example.org", "example.net")
MICROSECONDS_A_DAY = 24 * 60 * 60 * 1_000_000


def trips(rows: int) -> Path:
    """The folder with a table of so many rows, written unless an earlier run did."""
    return made_once(home() / "data" / f"trips-{rows}", lambda folder: write(folder, rows, f"writing {rows:,} trips"))


def write(folder: Path, rows: int, said: str, first: int = 0, date: str = DATE) -> None:
    """Files of the trips ``first`` to ``first + rows``, as of one day."""
    files = list(_files(first, rows))
    for number, (start, length) in enumerate(track(files, description=said, transient=True)):
        pq.write_table(table(start, length, date), folder / f"part-{number:05}.parquet", compression="snappy")


def table(first: int, rows: int, date: str = DATE) -> pa.Table:
    """The trips ``first`` to ``first + rows``; the same each time."""
    random = default_rng([SEED, first])
    midnight = np.datetime64(date, "us")
    started = midnight + random.integers(0, MICROSECONDS_A_DAY, rows).astype("timedelta64[us]")
    ended = started + random.integers(60_000_000, 7_200_000_000, rows).astype("timedelta64[us]")
    users = random.integers(0, USERS, rows)
    columns = {
        "trip_id": np.arange(first, first + rows, dtype=np.int64),
        "user_id": _with_nulls(users, random.random(rows) < 0.005),
        "driver_id": random.integers(0, DRIVERS, rows),
        "city": _cities().take(pa.array(random.integers(0, CITIES, rows))),
        "status": pa.array(STATUSES).take(pa.array(random.integers(0, len(STATUSES), rows))),
        "fare": _cents(random, rows, 250, 12_250),
        "tip": _with_nulls(_cents(random, rows, 0, 2_500), random.random(rows) < 1 / 3),
        "distance_km": random.integers(100, 60_000, rows) / 1_000,
        "started_at": _utc(started),
        "ended_at": _utc(ended),
        "email": _emails().take(pa.array(users)),
        "datestr": pa.repeat(date, rows),
    }
    return pa.table(columns)


def _files(first: int, rows: int) -> Iterator[tuple[int, int]]:
    """The first row and the length of each file."""
    return ((first + at, min(ROWS_A_FILE, rows - at)) for at in range(0, rows, ROWS_A_FILE))


def _cents(random: Generator, rows: int, least: int, most: int) -> Any:
    return random.integers(least, most + 1, rows) / 100


def _with_nulls(values: Any, nulls: Any) -> pa.Array:
    return pa.array(values, mask=nulls)


def _utc(instants: Any) -> pa.Array:
    return pa.array(instants, type=pa.timestamp("us", tz="UTC"))


@cache
def _cities() -> pa.Array:
    return pa.array([f"city_{number:03}" for number in range(CITIES)])


@cache
def _emails() -> pa.Array:
    return pa.array([f"rider.{number * 7_919 % USERS:07}@{MAILS[number % len(MAILS)]}" for number in range(USERS)])
