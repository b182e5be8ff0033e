"""Values of constants: dates and times, read from texts, moved and cut (pure).

Times have no zone: they are those of the clocks where a query runs.
"""

import re
from datetime import date, datetime, timedelta

from assay.time.steps import add_months

Value = str | int | date | datetime
MOST_DIGITS = 30
PLAIN = re.compile(r"(?:%[YmdHMS]|[^%A-Za-z]|T)*")  # forms that mean the same everywhere
DATED = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T].*)?", re.ASCII)
MONTHS = {"MONTH": 1, "MON": 1, "MM": 1, "QUARTER": 3, "YEAR": 12, "YYYY": 12}
DAYS = {"DAY": 1, "DD": 1, "WEEK": 7}
SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}


def as_date(value: Value) -> date | None:
    """The day of a value, None where it is no time."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        found = as_time(value) if DATED.fullmatch(value) else None
        return found.date() if found else None
    return value if isinstance(value, date) else None


def as_time(value: Value) -> datetime | None:
    """The time of a value, None where it is none or one of another zone."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str) and DATED.fullmatch(value):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        return found if found.tzinfo is None else None
    return None


def as_text(value: Value) -> str | None:
    """The value as a text, as all engines write it; None for times, which they write in several ways."""
    return None if isinstance(value, datetime) else str(value)


def as_number(value: Value) -> int | None:
    """The whole number of a value, None where it is none."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS else None
    return value if isinstance(value, int) else None


def parsed(value: Value, form: str) -> datetime | None:
    """The time that a text says in a form of Python's; raises ValueError for another text."""
    if not isinstance(value, str) or not PLAIN.fullmatch(form):
        return None
    found = datetime.strptime(value, form)
    return found if found.strftime(form) == value else None


def shifted(value: Value, number: int, unit: str) -> Value | None:
    """A date or time so many units later; raises ValueError far from our years."""
    if unit in MONTHS:
        moved = add_months(_time(value), number * MONTHS[unit])
        return moved if isinstance(value, datetime) else moved.date()
    if unit in DAYS and isinstance(value, date):
        return value + timedelta(days=number * DAYS[unit])
    return _time(value) + timedelta(seconds=number * SECONDS[unit]) if unit in SECONDS else None


def _time(value: Value) -> datetime:
    found = as_time(value)
    if found is None:
        raise ValueError
    return found


def truncated(value: Value, unit: str) -> Value | None:
    """The start of the period that holds a value."""
    wall = _time(value)
    if unit in SECONDS:
        midnight = datetime(wall.year, wall.month, wall.day)
        return midnight + (wall - midnight) // timedelta(seconds=SECONDS[unit]) * timedelta(seconds=SECONDS[unit])
    wall = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "WEEK":
        wall -= timedelta(days=wall.weekday())
    elif unit in MONTHS:
        wall = wall.replace(day=1, month=(wall.month - 1) // MONTHS[unit] * MONTHS[unit] + 1)
    elif unit not in DAYS:
        return None
    return wall if isinstance(value, datetime) else wall.date()


def last_day(value: Value) -> date:
    """The last day of a value's month."""
    return (add_months(_time(value).replace(day=1), 1) - timedelta(days=1)).date()
