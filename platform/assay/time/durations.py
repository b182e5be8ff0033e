"""Lengths of time, steps through it, and instants, as people write them."""

import re
from calendar import monthrange
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

# Lengths of time as people write them: ``4h``, ``30m``, ``1d``, ``90s``. A day here is 24 hours.

_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([smhdw])", re.ASCII)
_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}

MOST_DOUBLINGS = 20  # more would only make numbers too large to multiply
LONGEST = timedelta(days=36_525)  # so that no instant of ours leaves the calendar by it


class UnableToReadDuration(ValueError):
    """A text that is no length of time."""


def parse_duration(text: str) -> timedelta:
    """The length that ``4h``, ``1.5d``, ``30m``, ``90s`` or ``2w`` says; raises UnableToReadDuration."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise UnableToReadDuration(f"{text!r} is no length of time: write a number and s, m, h, d or w, such as 4h.")
    amount, unit = match.groups()
    if float(amount) > LONGEST / _UNITS[unit]:
        raise UnableToReadDuration(f"{text!r} is too long: write at most {LONGEST.days}d, a hundred years.")
    return float(amount) * _UNITS[unit]


def format_duration(length: timedelta) -> str:
    """The shortest text that ``parse_duration`` reads back, in whole days, hours or minutes where it can be."""
    for unit in "dhm":
        if length and not length % _UNITS[unit]:
            return f"{length // _UNITS[unit]}{unit}"
    seconds, rest = divmod(length, _UNITS["s"])
    fraction = f".{rest.microseconds:06d}".rstrip("0") if rest else ""
    return f"{seconds}{fraction}s"


def doubled(first: timedelta, times: int, *, most: timedelta) -> timedelta:
    """``first`` doubled so many times, at most ``most``: the wait of every back-off."""
    factor: int = 2 ** min(times, MOST_DOUBLINGS)
    return min(first * factor, most)


# Steps through time as people write them: ``7d`` is seven local days, ``4h`` four real hours.

_STEP = re.compile(r"([+-]?)(\d{1,6})(mo|y|w|d|h|m)", re.ASCII)


class UnableToStep(ValueError):
    """A step that cannot be read, or that leads to no partition."""


class StepUnit(StrEnum):
    """The unit of a step; days and longer follow the local calendar, hours and minutes do not."""

    MINUTE = "m"
    HOUR = "h"
    DAY = "d"
    WEEK = "w"
    MONTH = "mo"
    YEAR = "y"

    @property
    def is_calendar(self) -> bool:
        """Whether the step keeps the local time of day."""
        return self not in (StepUnit.MINUTE, StepUnit.HOUR)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A signed number of units; negative goes back."""

    amount: int
    unit: StepUnit

    @classmethod
    def parse(cls, text: str) -> Self:
        """The step that ``7d``, ``-7d``, ``1mo``, ``1y``, ``1w``, ``4h`` or ``30m`` says; raises UnableToStep."""
        match = _STEP.fullmatch(text)
        if match is None:
            raise UnableToStep(
                f"{text!r} is no step: write a whole number and m, h, d, w, mo or y, such as 7d or -1mo."
            )
        sign, digits, unit = match.groups()
        return cls(amount=-int(digits) if sign == "-" else int(digits), unit=StepUnit(unit))

    def __neg__(self) -> Self:
        return type(self)(amount=-self.amount, unit=self.unit)

    def __str__(self) -> str:
        return f"{self.amount}{self.unit.value}"


def shift(instant: datetime, step: Step, zone: ZoneInfo) -> datetime:
    """``instant`` moved by ``step``, in UTC; a local time that the zone skips moves on by the length of the gap."""
    try:
        if not step.unit.is_calendar:
            return instant.astimezone(UTC) + step.amount * _UNITS[step.unit]
        local = instant.astimezone(zone)
        return shift_wall(local.replace(tzinfo=None), step).replace(tzinfo=zone, fold=local.fold).astimezone(UTC)
    except OverflowError:
        raise UnableToStep(f"{step} from {instant} leaves the years 1 to 9999: take a smaller step.") from None


def shift_wall(wall: datetime, step: Step) -> datetime:
    """A naive local time moved by a calendar step; the 31st becomes the last day of a shorter month."""
    months = {StepUnit.MONTH: 1, StepUnit.YEAR: 12}.get(step.unit)
    return wall + step.amount * _UNITS[step.unit] if months is None else add_months(wall, months * step.amount)


def add_months(wall: datetime, months: int) -> datetime:
    """``wall`` some months later; raises UnableToStep outside the years 1 to 9999."""
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise UnableToStep(f"{months} months from {wall} leave the years 1 to 9999: take a smaller step.")
    return wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))


# How often something is done: every so long (``15m``), or by a cron line in UTC.


class UnableToReadCadence(ValueError):
    """A text that is neither a length of time nor a cron line."""


def next_time(cadence: str, after: datetime) -> datetime:
    """The first time after ``after``; raises UnableToReadCadence."""
    with suppress(UnableToReadDuration):
        if (length := parse_duration(cadence)) >= timedelta(seconds=1):
            return after + length
    try:
        return next(CronSim(cadence, after.astimezone(UTC)))
    except (CronSimError, StopIteration):
        raise UnableToReadCadence(
            f"{cadence!r} is neither a length of time of at least a second, such as 15m, nor a cron line such as "
            "'0 * * * *'"
        ) from None


# Which instants people and pipelines may name: far from ours no data lies, and local calendars run out.

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


class UnableToTakeInstant(ValueError):
    """An instant that is too far from ours."""


def taken(instant: datetime) -> datetime:
    """``instant`` itself; raises UnableToTakeInstant for one outside of the years that we answer for."""
    if not EARLIEST <= instant <= LATEST:
        raise UnableToTakeInstant(
            f"{instant.isoformat()} lies outside of the years {EARLIEST.year} to {LATEST.year - 1}: name one in them."
        )
    return instant
