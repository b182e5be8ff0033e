"""What kind of day a batch is of: its weekday, and whether it is a public holiday or the end of a month."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from enum import StrEnum

from execution_engine.anomalies.series import holidays_of

WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
SUNDAY = 6


class RareDay(StrEnum):
    """A day that comes too seldom to be a season; a public holiday at the end of a month is a holiday."""

    HOLIDAY = "holiday"
    END_OF_MONTH = "end of month"

    @property
    def when(self) -> str:
        """As a cause says it."""
        return "on public holidays" if self is RareDay.HOLIDAY else "at the end of a month"


@dataclass(frozen=True, kw_only=True)
class Day:
    """Of a batch that holds one local day: 0 is Monday."""

    weekday: int
    rare: RareDay | None = None


def day_of(local: date, country: str = "") -> Day:
    """What kind of day it is. ``country``: whose public holidays count; ValueError for one that nobody knows."""
    if country and local in holidays_of(country):
        return Day(weekday=local.weekday(), rare=RareDay.HOLIDAY)
    ends_month = local.day == monthrange(local.year, local.month)[1]
    return Day(weekday=local.weekday(), rare=RareDay.END_OF_MONTH if ends_month else None)


@dataclass(frozen=True, kw_only=True)
class DayCalendar:
    """How days are told of the windows of a table that is cut into local days."""

    zone: tzinfo
    country: str = ""

    def day(self, start: datetime) -> Day:
        """Of the window that starts at this instant, which knows its zone."""
        return day_of(start.astimezone(self.zone).date(), self.country)


# What whoever asks for novelty says, and how much past there must be.

LEARNING = 8  # accepted batches before the first verdict
LAST_BATCHES = 90  # that statistics are compared with
FURTHER_WINDOWS = 3  # that come before a novel window joins the past, where nobody calls it wrong


class Method(StrEnum):
    """How batches are judged."""

    PREDICTIVE = "predictive"  # each statistic beside what its history predicts: the largest z
    NEIGHBOURS = "neighbours"  # all statistics together: the distance to the five nearest (Redyuk et al.)
    SCHEMA = "schema"  # a schema inferred from the past: any anomaly (Breck et al.)
    DRIFT = "drift"  # distances of distributions, all columns as one family: the largest (Westfall and Young)
