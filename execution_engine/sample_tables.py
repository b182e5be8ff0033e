"""Two tables of a shop for a first try: orders that came every day of the last two weeks, and the customers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

DAYS = 14
ORDERS = 1000  # of a day, or so
CUSTOMERS = 200


class UnableToWriteSample(Exception):
    """The folder is somebody's."""


def write_sample(folder: Path) -> None:
    """Write the tables into an empty or new folder; raises UnableToWriteSample for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnableToWriteSample(f"{folder} is not empty: name a new folder for the sample")
    chance, today = Random(1), datetime.now(UTC).date()
    number = 0
    for ago in range(DAYS, 0, -1):
        day = today - timedelta(days=ago)
        ids = range(number, number + ORDERS + chance.randrange(-50, 50))
        number = ids.stop
        rows = {
            "order_id": list(ids),
            "customer_id": [chance.randrange(CUSTOMERS) for _ in ids],
            "amount": [round(chance.lognormvariate(3, 0.5), 2) for _ in ids],
        }
        _write(folder / "orders" / f"day={day}", rows)
    emails = [f"customer{at}@example.com" for at in range(CUSTOMERS)]
    _write(folder / "customers", {"customer_id": list(range(CUSTOMERS)), "email": emails})


def _write(folder: Path, rows: Mapping[str, object]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(pa.table(rows), folder / "part-0.parquet")
