"""Made-up batches of one table: trips with fares, cities and keys, alike from day to day."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from execution_engine.novelty.past import Past
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile

CITIES = np.array(["Seoul", "Busan", "Daegu", "Incheon"])
DAY = 86_400


def past_of(profiles: Iterable[TableProfile]) -> Past:
    """The past of batches in their order."""
    return reduce(Past.joined, profiles, Past())


def trips(day: int, rows: int = 500) -> pa.Table:
    """The trips of one day."""
    drawn = np.random.default_rng([11, day])
    fares = np.round(drawn.gamma(3, 4, rows), 2)
    gaps = drawn.random(rows) < 0.04
    return pa.table(
        {
            "id": pa.array(np.arange(rows) + 10_000 * day),
            "fare": pa.array(fares, mask=gaps),
            "tip": pa.array(np.round(fares / 10, 2), mask=gaps),
            "city": drawn.choice(CITIES, rows, p=[0.5, 0.3, 0.15, 0.05]),
            "plate": [f"{a:02d}B{b:04d}" for a, b in drawn.integers(0, [99, 9999], (rows, 2))],
            "begun": pa.array((day * DAY + drawn.integers(0, DAY, rows)) * 10**6).cast(pa.timestamp("us", "UTC")),
        }
    )


def profile(table: pa.Table, day: int) -> TableProfile:
    """Times are counted from the day's start."""
    return gathered_profile([table], float(day * DAY))


def past(days: int, **changed: Any) -> Past:
    """So many days; ``changed``: a function of the table and the day, to give another table."""
    change = changed.get("change", lambda table, day: table)
    return past_of(profile(change(trips(day), day), day) for day in range(days))


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with another column of this name, or one more."""
    at = table.schema.get_field_index(name)
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return table.append_column(name, array) if at < 0 else table.set_column(at, name, array)
