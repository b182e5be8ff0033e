"""``python -m benchmarks.drift [--columns 500] [--days 1000] [--docs]``; exits with 1 at too many false alarms."""

import argparse
from collections import defaultdict
from time import perf_counter

from rich.console import Console

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from execution_engine.novelty.days import LEARNING, Method
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past
from execution_engine.profiles.gather import gathered_profile

from .days import Drift, drifted, sound_day, table
from .drawn import Days
from .drawn import alarms as drawn_alarms

MOST_ALARMS = 0.01  # of sound days
SEEDS = 2  # of days that are drawn
STAGES = ((LEARNING, 30), (30, 99), (99, 366), (366, 10**9))  # accepted days behind a verdict


def main() -> None:
    """Judge each sound day by those before it, and copies of every so many with drift in one column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--days", type=int, default=1000)
    parser.add_argument("--every", type=int, default=20, help="days between those that are also shown with drift")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/benchmarks.md")
    given, console = parser.parse_args(), Console(width=120)
    past, seconds, text = Past(), 0.0, ""
    drawn = _drawn(given)
    console.print(drawn, soft_wrap=True, markup=False)
    alarms: dict[int, list[bool]] = defaultdict(list)
    found: dict[tuple[int, Drift], list[bool]] = defaultdict(list)
    for day in range(given.days):
        columns = sound_day(given.seed, day, given.columns)
        profile = gathered_profile([table(columns)])
        if day >= LEARNING:
            stage = next(at for at, (low, high) in enumerate(STAGES) if low <= day < high)
            started = perf_counter()
            verdict = judge(profile, past, Method.DRIFT)
            seconds += perf_counter() - started
            alarms[stage].append(verdict.is_novel)
            for cause in verdict.causes:
                console.print(f"day {day}: {cause.text}, z {cause.z:.1f} above {verdict.threshold:.1f}", soft_wrap=True)
            for drift in Drift if day % given.every == LEARNING else ():
                name, changed = drifted(columns, drift, given.seed + day)
                spoilt = judge(gathered_profile([table(changed)]), past, Method.DRIFT)
                found[stage, drift].append(spoilt.is_novel and spoilt.causes[0].column == name)
        past = past.joined(profile)  # a sound day that raised an alarm would be released: it counts, and joins
        if day % 50 == 49 or day == given.days - 1:
            text = _table(day + 1, given, alarms, found, seconds)
            console.print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "drift", f"{drawn}\n\n{text}"))
    judged = [alarm for stage in alarms.values() for alarm in stage]
    raise SystemExit(sum(judged) > MOST_ALARMS * len(judged))


def _table(
    days: int,
    given: argparse.Namespace,
    alarms: dict[int, list[bool]],
    found: dict[tuple[int, Drift], list[bool]],
    seconds: float,
) -> str:
    """After so many days, by how many were accepted before."""
    lines = [
        f"{given.columns} columns of about 1,000 rows, {days:,} days, seed {given.seed}, on {machine()}.",
        "",
        "| accepted days | false alarms | " + " | ".join(drift.value for drift in Drift) + " |",
        "|---" * (2 + len(Drift)) + "|",
    ]
    for stage in sorted(alarms):
        low, high = STAGES[stage]
        rates = [_of(found[stage, drift]) for drift in Drift]
        lines.append(f"| {low} to {min(high, days) - 1} | {_of(alarms[stage])} | {' | '.join(rates)} |")
    judged = [alarm for stage in alarms.values() for alarm in stage]
    every = [_of([hit for (_, kind), hits in found.items() if kind is drift for hit in hits]) for drift in Drift]
    lines.append(f"| all | {_of(judged)}: {sum(judged) / len(judged):.2%} | {' | '.join(every)} |")
    return "\n".join([*lines, "", f"A verdict takes {seconds / len(judged):.2f} s."])


def _drawn(given: argparse.Namespace) -> str:
    lines = ["| distances of sound days | false alarms |", "|---|---|"]
    for kind in Days:
        counts = [drawn_alarms(kind, given.columns, given.days, given.seed + at) for at in range(SEEDS)]
        found, judged = map(sum, zip(*counts, strict=True))
        lines.append(f"| {kind.value} | {found} of {judged:,}: {found / judged:.2%} |")
    return "\n".join(lines)


def _of(hits: list[bool]) -> str:
    return f"{sum(hits)} of {len(hits)}" if hits else ""


if __name__ == "__main__":
    main()
