"""Commits of a table, and the beats that they come in (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from execution_engine.anomalies.series import holidays_of

BURST = timedelta(minutes=10)  # commits that follow each other sooner are one beat
LONGEST_BEAT = timedelta(minutes=30)  # of a stream that never stops
DAY = timedelta(days=1)
MOST_COMMITS = 3000  # the newest ones, which teach


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What one commit did to the rows of a table, in numbers, as far as its storage says; ``at`` knows its zone.

    A commit that only writes the same rows into other files is none.
    """

    at: datetime
    rows_added: int | None = None
    rows_removed: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None

    @property
    def is_load(self) -> bool:
        """Whether it brought rows, or should have: not one that only removed some."""
        return not (self.rows_added == 0 and self.rows_removed)


@dataclass(frozen=True, kw_only=True)
class LocalCalendar:
    """How the times of a table are told: its zone, and the country whose public holidays count, or none."""

    zone: tzinfo
    country: str = ""

    def local(self, instant: datetime) -> datetime:
        """The wall time there, without a zone: a week has the same hours in summer and in winter."""
        return instant.astimezone(self.zone).replace(tzinfo=None)

    def instant(self, local: datetime) -> datetime:
        """The instant of a wall time there."""
        return local.replace(tzinfo=self.zone)

    def is_holiday(self, day: date) -> bool:
        """Whether it is a public holiday of the country."""
        return bool(self.country) and day in holidays_of(self.country)


@dataclass(frozen=True, kw_only=True)
class Beat:
    """Commits that follow each other closely, as one: local times of the first and the last."""

    start: datetime
    end: datetime


def beats_of(times: Sequence[datetime]) -> list[Beat]:
    """The beats of local times of commits, the oldest first."""
    beats: list[Beat] = []
    for time in times:
        if beats and time - beats[-1].end < BURST and time - beats[-1].start < LONGEST_BEAT:
            beats[-1] = Beat(start=beats[-1].start, end=time)
        else:
            beats.append(Beat(start=time, end=time))
    return beats
