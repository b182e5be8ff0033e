"""Days of trips in partition folders, a hundred thousand rows each, and one day more."""

from pathlib import Path

import pyarrow.parquet as pq
from rich.progress import track

from benchmarks.cache import home, made_once

from .days import ROWS_A_DAY, days
from .trips import table


def history(rows: int) -> Path:
    """The folder with all of these days, written unless an earlier run did."""
    return made_once(home() / "data" / f"history-{rows}", lambda folder: _write(folder, days(rows)))


def _write(folder: Path, keys: list[str]) -> None:
    for number, day in enumerate(track(keys, description=f"writing {len(keys)} days", transient=True)):
        place = folder / f"datestr={day}"
        place.mkdir()
        trips = table(number * ROWS_A_DAY, ROWS_A_DAY, day).drop_columns(["datestr"])
        pq.write_table(trips, place / "part-00000.parquet", compression="snappy")
