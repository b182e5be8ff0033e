"""Steps through time as people write them: ``7d`` is seven local days, ``4h`` four real hours."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self
from zoneinfo import ZoneInfo

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
            return instant.astimezone(UTC) + step.amount * _length(step.unit)
        local = instant.astimezone(zone)
        return shift_wall(local.replace(tzinfo=None), step).replace(tzinfo=zone, fold=local.fold).astimezone(UTC)
    except OverflowError:
        raise UnableToStep(f"{step} from {instant} leaves the years 1 to 9999: take a smaller step.") from None


def shift_wall(wall: datetime, step: Step) -> datetime:
    """A naive local time moved by a calendar step; the 31st becomes the last day of a shorter month."""
    match step.unit:
        case StepUnit.MONTH:
            return add_months(wall, step.amount)
        case StepUnit.YEAR:
            return add_months(wall, 12 * step.amount)
        case _:
            return wall + step.amount * _length(step.unit)


def add_months(wall: datetime, months: int) -> datetime:
    """``wall`` some months later; raises UnableToStep outside the years 1 to 9999."""
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise UnableToStep(f"{months} months from {wall} leave the years 1 to 9999: take a smaller step.")
    return wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))


def _length(unit: StepUnit) -> timedelta:
    match unit:
        case StepUnit.MINUTE:
            return timedelta(minutes=1)
        case StepUnit.HOUR:
            return timedelta(hours=1)
        case StepUnit.WEEK:
            return timedelta(weeks=1)
        case _:
            return timedelta(days=1)
