"""Volume: how many rows the last load of a table should have brought, by the loads before it (pure)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from math import expm1, log1p

from execution_engine.anomalies.forecasts import Adaptive
from execution_engine.anomalies.series import Series

from .arrival import Unknown
from .commits import BURST, DAY, Commit, LocalCalendar, beats_of
from .conformal import FEWEST

ALARMS = 0.005  # of the loads, if their logarithms had no heavier tails than those of normal numbers
LAST = 180  # loads that teach
BY_DAY = 1.5  # loads a day: from here on those of a day are one
SLACK = 0.02  # beyond a bound: where loads are all the same, so little more is no news


@dataclass(frozen=True, kw_only=True)
class Volume:
    """The rows, or bytes, that the last load brought, and from where to where they are usual.

    ``unit`` is ``rows`` or ``bytes``, ``per`` is ``commit`` or ``day``; ``start`` is when that commit or day was.
    """

    value: float
    low: float
    high: float
    unit: str
    per: str
    start: datetime

    @property
    def is_usual(self) -> bool:
        """Whether it lies within both bounds."""
        return self.low <= self.value <= self.high


def judge_volume(commits: Sequence[Commit], calendar: LocalCalendar, now: datetime) -> Volume | Unknown:
    """The last load of a table that is over at ``now``, and where ``Adaptive`` expects it; the oldest comes first.

    A load is a commit, or all commits of a local day where a day has more than one.
    """
    unit = "rows" if any(commit.rows_added is not None for commit in commits) else "bytes"
    loads = [
        (calendar.local(commit.at), amount)
        for commit in commits
        if commit.is_load and (amount := commit.rows_added if unit == "rows" else commit.bytes_added) is not None
    ]
    if not loads:
        return Unknown(why="no commit says how many rows it brought")
    amounts, per = _by_load(loads, calendar.local(now))
    if len(amounts) <= FEWEST:
        return Unknown(why=f"{len(amounts)} loads are known: from {FEWEST + 1} on one can be held against the others")
    *history, (start, value) = amounts[-LAST - 1 :]
    days = [datetime.combine(when, time()) for when, _ in history]
    series = Series(
        values=tuple(log1p(amount) for _, amount in history), when=tuple(days), at=datetime.combine(start, time())
    )
    low, high = Adaptive(alarms=ALARMS).expected_in(series)
    near_holiday = any(calendar.is_holiday((start + step * DAY).date()) for step in (-1, 0, 1))
    return Volume(
        value=value,
        low=0.0 if near_holiday else max(0.0, expm1(low) * (1 - SLACK)),
        high=expm1(high) * (1 + SLACK),
        unit=unit,
        per=per,
        start=calendar.instant(start),
    )


def _by_load(loads: Sequence[tuple[datetime, int]], now: datetime) -> tuple[list[tuple[datetime, float]], str]:
    """What each load brought, and what a load is; of days those that are over."""
    by_day: defaultdict[datetime, float] = defaultdict(float)
    for when, amount in loads:
        by_day[datetime.combine(when, time())] += amount
    if len(beats_of([when for when, _ in loads])) > BY_DAY * len(by_day):
        by_day.pop(datetime.combine(now, time()), None)
        return sorted(by_day.items()), "day"
    by_beat, index = [], 0
    for beat in beats_of([when for when, _ in loads]):
        if now - beat.end < BURST:  # more may follow
            break
        total = 0.0
        while index < len(loads) and loads[index][0] <= beat.end:
            total += loads[index][1]
            index += 1
        by_beat.append((beat.start, total))
    return by_beat, "commit"
