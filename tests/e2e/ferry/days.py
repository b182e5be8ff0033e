"""What happens at the ferry line from 21 to 27 October 2026, Wednesday to Tuesday: on Sunday the clocks go back."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from tests.e2e.ferry.tables import (
    BOOKINGS,
    CARDS,
    KOLKATA,
    LOGS,
    MEALS,
    REVENUE,
    ROSTER,
    SCANS,
    STOCKHOLM,
    Columns,
    Lake,
    append_rows,
    read_engines,
    slice_rows,
    usual_rows,
)
from tests.e2e.newcomer import Happening

OPENING_DAY = date(2026, 10, 21)
HISTORY = [OPENING_DAY - timedelta(days=days) for days in range(23, 0, -1)]  # lies there before Assay does
DAYS = [date(2026, 10, day) for day in range(21, 27)]
WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY, MONDAY = DAYS
FIRST_SCAN = datetime(2026, 10, 21, 12, tzinfo=KOLKATA)
LANDS = {  # by the clocks of Stockholm, on the day after
    BOOKINGS: "00:30",
    LOGS: "00:40",
    CARDS: "01:00",
    REVENUE: "01:30",
    ROSTER: "02:00",
    MEALS: "03:00",
}
LONG = (ROSTER, MEALS)  # of these, three weeks lie there; of others one
LATE_SCANS = ("2026-10-22-09", "2026-10-22-10", "2026-10-22-11")  # all come when the last of them is two hours old


def stockholm(text: str) -> datetime:
    """The instant, in UTC, that Stockholm's clocks show as ``10-23 05:30``."""
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=STOCKHOLM).astimezone(UTC)


def day_of(table: str, day: date) -> tuple[datetime, datetime]:
    """When a day of a table begins and ends, in UTC; a table without partitions has Stockholm's days."""
    zone = KOLKATA if table == SCANS else STOCKHOLM
    start, end = (datetime(each.year, each.month, each.day, tzinfo=zone) for each in (day, day + timedelta(days=1)))
    return start.astimezone(UTC), end.astimezone(UTC)


def write_history(lake: Lake, opened: datetime) -> None:
    """Write what lies there when Assay is set up."""
    lake.create(opened)
    for table, clock in LANDS.items():
        for day in HISTORY if table in LONG else HISTORY[-7:]:
            lake.write(table, str(day), _landing(day, clock))
    for day in HISTORY[-7:]:
        lake.order(day)
        lake.write(BOOKINGS, str(day), _landing(day, "00:45"), place="kiel")


def happenings(lake: Lake) -> list[Happening]:
    """Everything that happens in the week, in order."""
    events = [*_scans(lake), *(event for day in DAYS for event in _landings(lake, day)), *_repairs(lake)]
    events.append(Happening(at=stockholm("10-26 01:00"), act=lambda: lake.shop.rename(lake.shop.with_suffix(".away"))))
    events.append(Happening(at=stockholm("10-26 10:00"), act=lambda: lake.shop.with_suffix(".away").rename(lake.shop)))
    return sorted(events, key=lambda event: event.at)


def faulty_rows(table: str, day: date) -> Columns:
    """The rows of a day, with the fault of that day."""
    rows = usual_rows(table, str(day))
    match table, day:
        case ("sea.bookings", date(day=22)):  # 20 bookings are there twice
            return append_rows(rows, slice_rows(rows, 0, 20))
        case ("mart.revenue", date(day=22)):  # rebates are added instead of taken off
            return {**rows, "income": pc.multiply(rows["income"], 1.59)}
        case ("engine.Motor-Logs", date(day=23)):  # three engines are too hot
            temperatures, speeds = rows["engine"].flatten()
            hot = pa.concat_arrays([pa.array([130.0] * 3), temperatures[3:]])
            return {**rows, "engine": read_engines(hot, speeds)}
        case ("engine.Motor-Logs", date(day=24)):  # half of the ships send no speed
            temperatures, speeds = rows["engine"].flatten()
            gone = pa.array([None if n % 2 else speed for n, speed in enumerate(speeds.to_pylist())], pa.int32())
            return {**rows, "engine": read_engines(temperatures, gone)}
        case (_, date(day=25)) if table == MEALS:  # half of the rows come in time
            return slice_rows(rows, 0, len(rows["meal_id"]) // 2)
        case ("pay.Card-Payments", date(day=26)):  # three numbers have lost a digit
            short = [number[:-1] for number in rows["card_no"][:3].to_pylist()]
            return {**rows, "card_no": pa.concat_arrays([pa.array(short), rows["card_no"][3:]])}
        case ("sea.bookings", date(day=26)):  # each twentieth booking has no port
            ports = [None if n % 20 == 0 else port for n, port in enumerate(rows["port_id"].to_pylist())]
            return {**rows, "port_id": pa.array(ports, pa.string())}
    return rows


def _scans(lake: Lake) -> Iterator[Happening]:
    late = datetime(2026, 10, 22, 13, 20, tzinfo=KOLKATA)
    end = datetime(2026, 10, 28, tzinfo=KOLKATA)
    for number in range(int((end - FIRST_SCAN) / timedelta(hours=1))):
        start = FIRST_SCAN + timedelta(hours=number)
        key = f"{start:%Y-%m-%d-%H}"
        at = (late if key in LATE_SCANS else start + timedelta(hours=1, minutes=5)).astimezone(UTC)
        yield Happening(at=at, act=partial(lake.write, SCANS, key, at))


def _landings(lake: Lake, day: date) -> Iterator[Happening]:
    yield Happening(at=_landing(day, "00:10"), act=partial(lake.order, day))
    for table, clock in LANDS.items():
        at = _landing(day, clock)
        yield Happening(at=at, act=partial(lake.write, table, str(day), at, faulty_rows(table, day)))
    at = _landing(day, "00:45")
    rows = slice_rows(usual_rows(BOOKINGS, str(day)), 0, 948) if day == FRIDAY else faulty_rows(BOOKINGS, day)
    yield Happening(at=at, act=partial(lake.write, BOOKINGS, str(day), at, rows, place="kiel"))
    if day == SATURDAY:
        at = _landing(day, "02:05")
        yield Happening(at=at, act=partial(_break_roster, lake, at))


def _repairs(lake: Lake) -> Iterator[Happening]:
    for table, day, text, place in (
        (BOOKINGS, THURSDAY, "10-23 10:00", "gote"),
        (BOOKINGS, THURSDAY, "10-23 10:00", "kiel"),
        (REVENUE, THURSDAY, "10-23 10:00", "gote"),
        (BOOKINGS, FRIDAY, "10-24 12:00", "kiel"),
        (LOGS, FRIDAY, "10-25 12:00", "gote"),
        (LOGS, SATURDAY, "10-25 12:00", "gote"),
        (ROSTER, SATURDAY, "10-25 12:00", "gote"),
        (MEALS, SUNDAY, "10-26 13:00", "gote"),
        (CARDS, MONDAY, "10-27 12:00", "gote"),
        (BOOKINGS, MONDAY, "10-27 12:00", "gote"),
        (BOOKINGS, MONDAY, "10-27 12:00", "kiel"),
    ):
        at = stockholm(text)
        yield Happening(at=at, act=partial(lake.write, table, str(day), at, place=place))


def _break_roster(lake: Lake, at: datetime) -> None:
    """Cut the file of Saturday in the middle of a quoted note, as a full disk does."""
    lake.write(ROSTER, str(SATURDAY), at)
    path = lake.part(ROSTER, str(SATURDAY)) / "plan.csv"
    text = path.read_bytes()
    lake.replace(path, text[: text.index(b"den Hund", len(text) // 2)], at)


def _landing(day: date, clock: str) -> datetime:
    return stockholm(f"{day + timedelta(days=1):%m-%d} {clock}")
