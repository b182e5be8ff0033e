"""The bakery's tables as files and rows: what a pipeline writes for one partition, the same each time it is asked."""

import csv
import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BRANCHES = [f"{city}-{number:02}" for city in ("Mitte", "Altona", "Köln") for number in range(1, 14)]
ROWS = {  # of a day
    "oven.Bakes": 3000,
    "lake.Bakes": 3000,
    "stock.Deliveries": 1200,
    "pay.Settlements": 2500,
    "us.Orders": 4000,
    "hr.Shifts": 1500,
    "mart.Loyalty": 5000,
    "mart.Complaints": 2000,
}
RECEIPTS = 90  # of an hour
FOLDERS = {
    "oven.Bakes": "oven_bakes/BakedOn",
    "lake.Bakes": "bakes/BakedOn",
    "stock.Deliveries": "deliveries/Delivered",
    "pay.Settlements": "settlements/PaidOn",
    "us.Orders": "us_orders/OrderedOn",
    "hr.Shifts": "shifts/WorkedOn",
    "mart.Loyalty": "loyalty/CountedOn",
    "mart.Complaints": "complaints/ComplainedOn",
}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Where the tables lie; every file bears the simulated instant that it was written at."""

    folder: Path

    @property
    def tills(self) -> Path:
        """The tills' own database."""
        return self.folder / "tills.db"

    def create(self, at: datetime) -> None:
        """Empty tables, and the branches."""
        with sqlite3.connect(self.tills) as database:
            database.execute(
                'create table "Sales" ("Branch" text, "ReceiptNo" integer, "Cents" integer, "SoldHour" text)'
            )
        place = self.folder / "lake" / "ber" / "branches"
        place.mkdir(parents=True)
        rows = [(branch, branch.partition("-")[0], 20 + len(branch)) for branch in BRANCHES]
        _write_csv(place / "branches.csv", ("Branch", "City", "Seats"), rows, ",")
        _stamp(place / "branches.csv", at)

    def sell(self, key: str) -> None:
        """The receipts of an hour, such as 2026-03-25-09."""
        random = _random("tills.Sales", key)
        cents = random.integers(90, 4000, RECEIPTS)
        rows = [(BRANCHES[n % len(BRANCHES)], n // len(BRANCHES), int(cents[n]), key) for n in range(RECEIPTS)]
        first = int(key.replace("-", "")) * 100
        with sqlite3.connect(self.tills) as database:
            database.executemany(
                'insert into "Sales" values (?, ?, ?, ?)', [(branch, first + n, c, k) for branch, n, c, k in rows]
            )

    def write(self, table: str, day: date, at: datetime, *, datacenter: str = "ber", share: float = 1.0) -> None:
        """A day's file, with a share of its rows."""
        place = self.part(table, day, datacenter)
        place.mkdir(parents=True, exist_ok=True)
        columns = _columns(table, day)
        count = round(ROWS[table] * share)
        if table == "stock.Deliveries":
            path = place / "deliveries.csv"
            _write_csv(path, tuple(columns), list(zip(*(each[:count] for each in columns.values()), strict=True)), ";")
        else:
            path = place / "part-0.parquet"
            pq.write_table(pa.table({name: values[:count] for name, values in columns.items()}), path)
        _stamp(path, at)

    def part(self, table: str, day: date, datacenter: str = "ber") -> Path:
        """The folder of a day."""
        return Path(f"{self.folder}/lake/{datacenter}/{FOLDERS[table]}={day.isoformat()}")

    def vanish(self, table: str) -> None:
        """Somebody moves the folder of a whole table away."""
        whole = self.part(table, date.min).parent
        shutil.move(whole, self.folder / "moved-away")

    def return_(self, table: str) -> None:
        """And back."""
        shutil.move(self.folder / "moved-away", self.part(table, date.min).parent)


def _columns(table: str, day: date) -> dict[str, list[object]]:
    """The rows of a day by column; what is cleaned in the lake is what the ovens have said."""
    source = "oven.Bakes" if table == "lake.Bakes" else table
    random, count = _random(source, day.isoformat()), ROWS[table]
    ids = [day.toordinal() * 10_000 + n for n in range(count)]
    match source:
        case "oven.Bakes":
            return {
                "BakeId": ids,
                "Oven": [f"oven {n}" for n in random.integers(1, 40, count)],
                "Loaves": pa.array(random.integers(10, 300, count), pa.int32()).to_pylist(),
            }
        case "stock.Deliveries":
            return {
                "Mill": [f"Mühle {n}" for n in random.integers(1, 8, count)],
                "Kilos": [round(kilos, 1) for kilos in random.normal(500, 80, count).tolist()],
            }
        case "pay.Settlements":
            return {"SettlementId": [f"S{n}" for n in ids], "Cents": random.integers(100, 90_000, count).tolist()}
        case "us.Orders":
            return {"OrderId": ids, "Dollars": random.gamma(3, 4, count).round(2).tolist()}
        case "hr.Shifts":
            return {"Person": [n // 2 for n in range(count)], "StartsAt": [6 + 8 * (n % 2) for n in range(count)]}
        case "mart.Loyalty":
            return {"CardNo": list(range(count)), "Points": random.integers(0, 9000, count).tolist()}
    return {"ComplaintId": ids, "BakeId": ids, "Stars": random.integers(1, 6, count).tolist()}


def _random(table: str, key: str) -> np.random.Generator:
    return np.random.default_rng(crc32(f"{table} {key}".encode()))


def _write_csv(path: Path, header: tuple[str, ...], rows: Sequence[tuple[object, ...]], delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)


def _stamp(path: Path, at: datetime) -> None:
    seconds = at.astimezone(UTC).timestamp()
    os.utime(path, (seconds, seconds))
