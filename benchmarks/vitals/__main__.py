"""``python -m benchmarks.vitals [--docs]``: each commit is held against those before it, as it came and spoilt."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import mean
from time import process_time

from rich.console import Console

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from execution_engine.vitals.arrival import Arrival, expect_arrival
from execution_engine.vitals.commits import MOST_COMMITS, Commit, LocalCalendar, beats_of
from execution_engine.vitals.volume import Volume, judge_volume

from .logs import DRAWN, REAL, Log

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MOST_JUDGED = 300  # loads of a log, evenly over it
HALF = 0.5
HEADINGS = (
    "log",
    "commits",
    "false alarms of arrival, per 100 commits",
    "per 100 days",
    "a stop is found after (median, 90 %)",
    "in usual gaps",
    "false alarms of volume, per 100 loads",
    "half loads found",
    "double loads found",
)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was seen of one log."""

    count: int
    late: float
    late_by_day: float
    delays: Sequence[timedelta]  # from when the commit was expected to when it is late
    gap: timedelta
    odd: float
    halves: float
    doubles: float

    @property
    def cells(self) -> list[str]:
        """As the table shows it."""
        delays = sorted(self.delays)
        middle, most = delays[len(delays) // 2], delays[int(0.9 * len(delays))]
        return [
            f"{self.count:,}",
            f"{100 * self.late:.2f}",
            f"{100 * self.late_by_day:.2f}",
            f"{_hours(middle)}, {_hours(most)}",
            f"{middle / self.gap:.1f}",
            f"{100 * self.odd:.2f}",
            f"{self.halves:.0%}",
            f"{self.doubles:.0%}",
        ]


def main() -> None:
    """Judge all logs, print the table, and write it where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    options, console = parser.parse_args(), Console(width=200)
    text = _table()
    console.print(text, soft_wrap=True, markup=False)
    if options.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "vitals", text))


def figures_of(log: Log) -> Figures:
    """Hold commits of a log against those before them; a spoilt one is judged alone, and teaches nothing."""
    calendar = LocalCalendar(zone=UTC, country=log.country)
    late, delays, days, days_late = [], [], set(), set()
    times = [commit.at for commit in log.commits]
    for at in range(8, len(times) - 1):
        arrival = expect_arrival(times[max(0, at - MOST_COMMITS) : at + 1], calendar)
        if isinstance(arrival, Arrival):
            late.append(times[at + 1] > arrival.late_at)
            delays.append(arrival.late_at - arrival.expected_at)
            days.add(times[at + 1].date())
            days_late |= {arrival.late_at.date()} if late[-1] else set()
    volumes = list(_volumes(log, calendar))
    return Figures(
        count=len(times),
        late=mean(late),
        late_by_day=len(days_late) / len(days),
        delays=delays,
        gap=sorted(later - time for time, later in pairwise(times))[len(times) // 2 - 1],
        odd=mean(not volume.is_usual for volume in volumes),
        halves=mean(not replace(volume, value=HALF * volume.value).is_usual for volume in volumes),
        doubles=mean(not replace(volume, value=volume.value / HALF).is_usual for volume in volumes),
    )


def _moments(places: range, times: Sequence[datetime]) -> Iterator[int]:
    """The last commits of beats, of which there are not too many."""
    ends = {beat.end for beat in beats_of(times)}
    judged = [at for at in places if times[at] in ends]
    yield from judged[:: max(1, len(judged) // MOST_JUDGED)]


def _volumes(log: Log, calendar: LocalCalendar) -> Iterator[Volume]:
    commits: Sequence[Commit] = log.commits
    starts = set()
    for at in _moments(range(8, len(commits) - 1), [commit.at for commit in commits]):
        now = max(commits[at + 1].at, commits[at].at + HOUR)
        volume = judge_volume(commits[max(0, at - MOST_COMMITS) : at + 1], calendar, now)
        if isinstance(volume, Volume) and volume.start not in starts:
            starts.add(volume.start)
            yield volume


def _table() -> str:
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    started, count = process_time(), 0
    for heading, logs in (("real days and hours", REAL), ("drawn", DRAWN)):
        figures = {name: figures_of(read()) for name, read in logs.items()}
        count += sum(2 * len(each.delays) for each in figures.values())
        lines += [f"| {name} | {' | '.join(each.cells)} |" for name, each in figures.items()]
        lines.append(_means(f"**{heading}**", figures))
    cost = f"One judgement takes {1000 * (process_time() - started) / count:.1f} ms of CPU, on {machine()}."
    return "\n".join([*lines, "", cost])


def _means(heading: str, figures: Mapping[str, Figures]) -> str:
    each = figures.values()
    rates = (mean(f.late for f in each), mean(f.late_by_day for f in each), mean(f.odd for f in each))
    late, by_day, odd = (f"{100 * rate:.2f}" for rate in rates)
    found = (f"{mean(shares):.0%}" for shares in ([f.halves for f in each], [f.doubles for f in each]))
    return f"| {heading} | {sum(f.count for f in each):,} | {late} | {by_day} | | | {odd} | {' | '.join(found)} |"


def _hours(length: timedelta) -> str:
    return f"{length / DAY:.1f} d" if length > 2 * DAY else f"{length / HOUR:.1f} h"


if __name__ == "__main__":
    main()
