"""The ferry line's tables as files and rows: what a pipeline writes for one partition, the same each time."""

import csv
import os
import sqlite3
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zlib import crc32
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

STOCKHOLM, KOLKATA = ZoneInfo("Europe/Stockholm"), ZoneInfo("Asia/Kolkata")
SCANS, BOOKINGS, REVENUE, ORDERS = "terminal.gate-scans", "sea.bookings", "mart.revenue", "web.Orders"
LOGS, ROSTER, PORTS, CARDS = "engine.Motor-Logs", "crew.Dienst-Pläne", "ref.Häfen", "pay.Card-Payments"
MEALS = "passenger_experience.journeys-of-the-baltic-and-the-northern-lines.meals-eaten-on-board"
PRICE = "business.price_per_booking"
FOLDERS = {  # of each table, with its partition column
    SCANS: ("gate_scans", "scan_hour"),
    BOOKINGS: ("bookings", "sailed_on"),
    REVENUE: ("revenue", "sailed_on"),
    LOGS: ("motor_logs", "logged_on"),
    ROSTER: ("dienstplaene", "Tag"),
    MEALS: ("meals", "eaten_on"),
    CARDS: ("card_payments", "paid_on"),
}
PORT_IDS = ("GOT", "KEL", "TRE", "HEL", "TLL")
BOOKED = 998  # bookings of a day
ROWS = {SCANS: 60, BOOKINGS: BOOKED, REVENUE: BOOKED, LOGS: 1440, ROSTER: 40, MEALS: 2000, CARDS: 900}
ORDERED = 700  # orders of a day
Columns = dict[str, pa.Array]


@dataclass(frozen=True, kw_only=True)
class Lake:
    """Where the tables lie; every file bears the simulated instant at which it was written."""

    folder: Path

    @property
    def shop(self) -> Path:
        """The web shop's own database."""
        return self.folder / "shop.db"

    def create(self, at: datetime) -> None:
        """Write the table of ports, and an empty database of the shop."""
        with sqlite3.connect(self.shop) as database:
            database.execute("create table orders (id integer primary key, price decimal(10,2), created_at datetime)")
        place = self.folder / "lake" / "gote" / "haefen"
        place.mkdir(parents=True)
        ports = {"port_id": pa.array(PORT_IDS), "Länge": pa.array([220.5, 180.0, 90.0, 310.0, 140.0])}
        pq.write_table(pa.table(ports), place / "ports.parquet")
        _stamp(place / "ports.parquet", at)

    def order(self, day: date) -> None:
        """Write the orders of a local day, evenly over its hours, into the shop's database."""
        start = datetime(day.year, day.month, day.day, tzinfo=STOCKHOLM).astimezone(UTC)
        prices = _random(ORDERS, str(day)).integers(1000, 90_000, ORDERED) / 100
        rows = [
            (day.toordinal() * 10_000 + n, float(prices[n]), f"{start + timedelta(seconds=100 * n):%Y-%m-%d %H:%M:%S}")
            for n in range(ORDERED)
        ]
        with sqlite3.connect(self.shop) as database:
            database.executemany("insert into orders values (?, ?, ?)", rows)

    def write(self, table: str, key: str, at: datetime, columns: Columns | None = None, *, place: str = "gote") -> None:
        """Write the file of a partition: its usual rows, or these."""
        part = self.part(table, key, place)
        part.mkdir(parents=True, exist_ok=True)
        content = pa.table(usual_rows(table, key) if columns is None else columns)
        match table:
            case "engine.Motor-Logs":
                path = part / "part-0.orc"
                pyarrow.orc.write_table(content, path)
            case "crew.Dienst-Pläne":
                path = part / "plan.csv"
                _write_csv(path, content)
            case _:
                path = part / "part-0.parquet"
                pq.write_table(content, path)
        _stamp(path, at)

    def replace(self, path: Path, content: bytes, at: datetime) -> None:
        """Write other bytes into a file."""
        path.write_bytes(content)
        _stamp(path, at)

    def part(self, table: str, key: str, place: str = "gote") -> Path:
        """The folder of a partition."""
        folder, column = FOLDERS[table]
        return self.folder / "lake" / place / folder / f"{column}={key}"


def usual_rows(table: str, key: str) -> Columns:
    """The rows of a partition by column."""
    random, count = _random(BOOKINGS if table == REVENUE else table, key), ROWS[table]
    first = int(key.replace("-", "")) * 10_000
    ids = pa.array(range(first, first + count))
    match table:
        case "terminal.gate-scans":
            return {"scan_id": ids, "gate": pa.array([f"gate {n}" for n in random.integers(1, 9, count)])}
        case "sea.bookings" | "mart.revenue":
            ports = pa.array([PORT_IDS[n] for n in random.integers(0, len(PORT_IDS), count)])
            prices = random.gamma(6, 20, count).round(2)
            return {"booking_id": ids, "port_id": ports, ("price" if table == BOOKINGS else "income"): pa.array(prices)}
        case "engine.Motor-Logs":
            temperatures = pa.array(random.normal(80, 2, count).round(1))
            speeds = pa.array(random.integers(400, 900, count), pa.int32())
            minutes = pa.array([n // 2 for n in range(count)], pa.int32())
            ships = pa.array([f"M/S {('Älvsborg', 'Kattegat')[n % 2]}" for n in range(count)])
            return {"ship": ships, "minute": minutes, "engine": read_engines(temperatures, speeds)}
        case "crew.Dienst-Pläne":
            notes = ['bringt "Kalle", den Hund, mit', "", "spät, nach der Schicht", '"neu"']
            return {
                "Schiffs-Name": pa.array([f"Fähre {n % 4}" for n in range(count)]),
                "Person": pa.array([f"Person {n}" for n in range(count)]),
                "Bemerkung": pa.array([notes[n % len(notes)] for n in range(count)]),
            }
        case "pay.Card-Payments":
            cards = pa.array([f"{n:016}" for n in random.integers(10**15, 10**16, count)])
            payments = pa.array([f"P{n}" for n in ids.to_pylist()])
            return {"payment_id": payments, "card_no": cards, "cents": pa.array(random.integers(100, 90_000, count))}
    return {"meal_id": ids, "deck": pa.array(random.integers(1, 12, count), pa.int32())}


def read_engines(temperatures: pa.Array, speeds: pa.Array) -> pa.Array:
    """The readings of the engines as structs."""
    return pa.StructArray.from_arrays([temperatures, speeds], ["temp", "rpm"])


def slice_rows(columns: Columns, start: int, end: int) -> Columns:
    """Some of the rows, by their numbers."""
    return {name: values[start:end] for name, values in columns.items()}


def append_rows(columns: Columns, more: Columns) -> Columns:
    """All rows of both."""
    return {name: pa.concat_arrays([values, more[name]]) for name, values in columns.items()}


def _write_csv(path: Path, content: pa.Table) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(content.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in content.columns), strict=True))


def _random(table: str, key: str) -> np.random.Generator:
    return np.random.default_rng(crc32(f"{table} {key}".encode()))


def _stamp(path: Path, at: datetime) -> None:
    seconds = at.astimezone(UTC).timestamp()
    os.utime(path, (seconds, seconds))
