"""``python -m benchmarks.series [--docs]``: each day is judged by the 60 before it, as it is and spoilt."""

import argparse
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import mean, stdev
from time import process_time

from rich.console import Console

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from execution_engine.anomalies.expectation import expected
from execution_engine.anomalies.forecasts import Adaptive
from execution_engine.anomalies.series import Series, holidays_of
from execution_engine.anomalies.strategies import Interval, Predictive

from .daily import COUNTRIES, OTHERS, TUNED, Days

FIRST, LAST = 8, 60  # the first day that is judged, and how many before it are known
SPOILT = (0.5, 0.7, 2.0)  # what a day's value is multiplied by
FINDS = (f"finds × {factor:g}" for factor in SPOILT)
DEFAULT = "`anomaly()`"
STEPS = range(20, 200)  # twentieths of a deviation: the thresholds of a z-score that are tried
HEADINGS = ("series", "days", "judged by", "false alarms", "apart from holidays", *FINDS)

Rates = tuple[float, ...]  # shares of the days: false alarms, those on no holiday, and what is found of each fault


def z_score(threshold: float) -> Callable[[Series], Interval]:
    """The mean of the last seven values, as many deviations away."""

    def interval(series: Series) -> Interval:
        middle, reach = mean(series.values[-7:]), threshold * stdev(series.values[-7:])
        return middle - reach, middle + reach

    return interval


JUDGES: Mapping[str, Callable[[Series], Interval]] = {
    DEFAULT: lambda series: expected(Adaptive(), series),
    "`predictive`": lambda series: expected(Predictive(), series),
    "z-score of 7 days above 3": z_score(3),
}


def main() -> None:
    """Judge all, print the table, and write it where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    given, console = parser.parse_args(), Console(width=120)
    text = _table()
    console.print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "series", text))


def rates(days: Days, judge: Callable[[Series], Interval], country: str) -> Rates:
    """False alarms and what is found; a spoilt day is judged alone, and teaches nothing."""
    hits = []
    for at in range(FIRST, len(days)):
        when, values = zip(*days[max(0, at - LAST) : at], strict=True)
        low, high = judge(Series(values=values, when=when, at=days[at][0]))
        alarm, *found = (not low <= round(days[at][1] * factor, 9) <= high for factor in (1.0, *SPOILT))
        hits.append([alarm, alarm and not _is_near_holiday(days[at][0], country), *found])
    return tuple(mean(column) for column in zip(*hits, strict=True))


def rates_by_series(series: Mapping[str, Days], judge: Callable[[Series], Interval]) -> Mapping[str, Rates]:
    """The rates of one judge in each series."""
    return {name: rates(days, judge, COUNTRIES.get(name, "US")) for name, days in series.items()}


def average(found: Mapping[str, Rates]) -> Rates:
    """The means over the series."""
    return tuple(mean(column) for column in zip(*found.values(), strict=True))


def z_score_as_wrong(series: Mapping[str, Days], alarms: float) -> tuple[str, Rates]:
    """The z-score with the lowest threshold at which it raises no larger share of false alarms, and its rates."""

    def of_step(step: int) -> Rates:
        return average(rates_by_series(series, z_score(step / 20)))

    step = STEPS[bisect_left(STEPS, -alarms, key=lambda step: -of_step(step)[0])]
    return f"z-score of 7 days above {step / 20:g}, as often wrong", of_step(step)


def _is_near_holiday(day: datetime, country: str) -> bool:
    return any((day + timedelta(days=step)).date() in holidays_of(country) for step in (-1, 0, 1))


def _table() -> str:
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    judged, seconds = 0, 0.0
    for heading, group in (("the five that it was tuned on", TUNED), ("the other five", OTHERS)):
        series = {name: read() for name, read in group.items()}
        for judge_name, judge in JUDGES.items():
            started = process_time()
            found = rates_by_series(series, judge)
            if judge_name == DEFAULT:
                seconds += process_time() - started
                judged += sum(len(days) - FIRST for days in series.values())
                lines += [_row(name, len(series[name]), judge_name, each) for name, each in found.items()]
                as_wrong = z_score_as_wrong(series, average(found)[0])
            lines.append(_row(f"**{heading}**", sum(map(len, series.values())), judge_name, average(found)))
        lines.append(_row(f"**{heading}**", sum(map(len, series.values())), *as_wrong))
    each = f"One expectation of `anomaly()` takes {seconds / judged * 1000:.1f} ms of CPU, on {machine()}."
    return "\n".join([*lines, "", each])


def _row(name: str, days: int, judge_name: str, shares: Sequence[float]) -> str:
    cells = (f"{share:.2%}" if at < 2 else f"{share:.0%}" for at, share in enumerate(shares))
    return f"| {name} | {days:,} | {judge_name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
