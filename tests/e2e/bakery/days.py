"""What happens at the bakery from 25 to 31 March 2026, Wednesday to Tuesday: on Sunday Berlin's clocks go forward."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from tests.e2e.bakery.tables import Tables
from tests.e2e.newcomer import Happening

TABLES = (
    "hr.Shifts",
    "lake.Bakes",
    "mart.Complaints",
    "mart.Loyalty",
    "oven.Bakes",
    "pay.Settlements",
    "stock.Deliveries",
    "tills.Branches",
    "tills.Sales",
    "us.Orders",
)
BERLIN, NEW_YORK, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kolkata")
HISTORY = [date(2026, 3, day) for day in (22, 23, 24)]  # lies there before Assay does
DAYS = [date(2026, 3, day) for day in range(25, 31)]
LATE_DAY, LOST_DAY = date(2026, 3, 26), date(2026, 3, 27)
LANDS = {  # the clock of each table's own zone on the day after
    "pay.Settlements": (BERLIN, "01:00"),
    "oven.Bakes": (BERLIN, "00:30"),
    "lake.Bakes": (BERLIN, "01:30"),
    "stock.Deliveries": (BERLIN, "03:00"),
    "mart.Loyalty": (BERLIN, "04:00"),
    "mart.Complaints": (BERLIN, "05:00"),
    "us.Orders": (NEW_YORK, "01:00"),
    "hr.Shifts": (KOLKATA, "08:00"),
}
ZONES = {name: zone for name, (zone, _) in LANDS.items()} | {"tills.Sales": BERLIN}


def berlin(text: str) -> datetime:
    """The instant, in UTC, that Berlin's clocks show as ``03-27 02:15``."""
    return _at(f"2026-{text}", BERLIN)


def day_of(table: str, day: date) -> tuple[datetime, datetime]:
    """When a day of a table begins and ends, in UTC; those of a table without partitions are Berlin's."""
    zone = ZONES.get(table, BERLIN)
    return _at(f"{day} 00:00", zone), _at(f"{day + timedelta(days=1)} 00:00", zone)


def hours(day: date) -> list[str]:
    """The keys of a day's hours in Berlin."""
    start, end = day_of("tills.Sales", day)
    count = int((end - start) / timedelta(hours=1))
    return [f"{(start + timedelta(hours=n)).astimezone(BERLIN):%Y-%m-%d-%H}" for n in range(count)]


def before(tables: Tables, opened: datetime) -> None:
    """What lies there when Assay is set up."""
    tables.create(opened)
    for day in HISTORY:
        for happening in _landings(tables, day):
            happening.act()
    for key in (key for day in HISTORY for key in hours(day)):
        tables.sell(key)


def happenings(tables: Tables) -> list[Happening]:
    """Everything, in order."""
    found = [*_sales(tables), *(landing for day in DAYS for landing in _landings(tables, day))]
    found += [
        Happening(at=berlin("03-29 09:10"), act=partial(tables.vanish, "mart.Loyalty")),
        Happening(at=berlin("03-30 09:10"), act=partial(tables.return_, "mart.Loyalty")),
    ]
    return sorted(found, key=lambda each: each.at)


def _sales(tables: Tables) -> Iterator[Happening]:
    for day in [*DAYS, DAYS[-1] + timedelta(days=1)]:
        start, _ = day_of("tills.Sales", day)
        for number, key in enumerate(hours(day)):
            at = start + timedelta(hours=number + 1, minutes=5)
            yield Happening(at=at, act=partial(tables.sell, key))


def _landings(tables: Tables, day: date) -> Iterator[Happening]:
    for table, (zone, clock) in LANDS.items():
        at = _at(f"{day + timedelta(days=1)} {clock}", zone)
        share = 1.0
        if (table, day) == ("pay.Settlements", LATE_DAY):
            at += timedelta(hours=4)  # the SLA ends an hour after the usual time
        if (table, day) == ("lake.Bakes", LOST_DAY):
            share = 0.8
        if (table, day) == ("mart.Loyalty", date(2026, 3, 29)):
            at = berlin("03-30 09:15")  # there is no folder to write to at four
        yield Happening(at=at, act=partial(tables.write, table, day, at, share=share))
        if table == "oven.Bakes":
            later = at + timedelta(minutes=15)
            yield Happening(at=later, act=partial(tables.write, table, day, later, datacenter="ham"))


def _at(text: str, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)
