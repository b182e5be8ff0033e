"""Thirty simulated days: rows come in bulk, go by the stage *prune*, and claims and look-ups are timed each day."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from statistics import median
from time import perf_counter
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay import clock
from assay.config import config
from assay.models import Dataset, Round
from assay.queue.claims import claim
from assay.queue.flow import stage
from assay.scheduler.beat import begin_rounds
from assay.time.windows import Window
from benchmarks.service.clients import percentile
from execution_engine.models import Run
from incident_manager.retention import prune
from incident_manager.services import look_up

from .bulk import analyze
from .company import Company, load_company
from .day import PENDING, Day, load_day, load_pending
from .figures import measured_on, show, write_docs

GROWING = (
    "execution_engine.Run", "execution_engine.Measurement", "execution_engine.Ask", "execution_engine.Scan",
    "alerting.Standing", "alerting.Flip", "alerting.Notice", "incident_manager.LookUp", "assay.DataChange",
)  # fmt: skip
ROUNDS, CLAIMS, LOOK_UPS = 7, 70, 70  # of each day; the figure is the median of the rounds
CLAIMED = PENDING // (ROUNDS * CLAIMS)  # rows of a claim
HEADINGS = (
    "day",
    "rows",
    "runs",
    "pruned",
    "prune s",
    "claim p50 ms",
    "p99",
    "reads",
    "look-up p50 ms",
    "p99",
    "reads",
)

# p50 and p99 in milliseconds, and the rows and keys that the database reads for one
Timed = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one day came to."""

    number: int
    rows: int
    runs: int
    pruned: int
    prune_seconds: float
    claim: Timed
    look_up: Timed

    @property
    def cells(self) -> Sequence[str]:
        """A line of the table."""
        timed = (f"{figure:.1f}" for figure in (*self.claim, *self.look_up))
        counts = (f"{count:,}" for count in (self.rows, self.runs, self.pruned))
        return (str(self.number), *counts, f"{self.prune_seconds:.1f}", *timed)


def main() -> None:
    """Lives through the days, and shows each."""
    asked, console, company = _arguments(), Console(), Company()
    config().run_retention = asked.keep
    call_command("migrate", verbosity=0)
    begin = datetime.fromisoformat("2026-03-01T00:00:00+00:00")
    load_company(company, begin)
    clock.simulate(begin)
    begin_rounds(begin)
    on = measured_on()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    figures: list[Figures] = []
    with Progress(*columns, console=console) as progress:
        for number in progress.track(range(asked.days), description="days"):
            day = Day(company=company, number=number, midnight=begin + timedelta(days=number), runs=asked.runs)
            figures.append(live_through(day))
            progress.console.print(*figures[-1].cells)
    rows = [each.cells for each in figures if each.number in (1, asked.keep, asked.keep + 1, 15, 22, asked.days)]
    show(console, HEADINGS, rows)
    ratios = _ratios(figures)
    console.print(ratios)
    if asked.docs:
        write_docs("thirty_days", on, HEADINGS, rows, f" {ratios}")


def live_through(day: Day) -> Figures:
    """Let a day's rows come and what has had its time go; what there is at its end, and how fast that is."""
    load_day(day)
    night = day.midnight + timedelta(days=1)
    clock.simulate(night)
    started = perf_counter()
    while prune():
        pass
    seconds, removed = perf_counter() - started, sum(Round.objects.get(name="prune").state["removed"].values())
    analyze(dict.fromkeys(GROWING))
    return Figures(
        number=day.number + 1,
        rows=sum(_count(label) for label in GROWING),
        runs=_count("execution_engine.Run"),
        pruned=removed,
        prune_seconds=seconds,
        claim=_claims(day, night),
        look_up=_look_ups(day, night),
    )


def _claims(day: Day, now: datetime) -> Timed:
    """Of runs that wait to be planned; they are done with afterwards, as all others."""
    load_pending(day)
    done = dict.fromkeys(("planned_at", "ready_at", "evaluated_at", "judged_at"), now)

    def finish(claimed: list[Run]) -> None:
        Run.objects.filter(pk__in=[run.pk for run in claimed]).update(lease_until=None, **done)

    timed = _rounds(CLAIMS, lambda: claim(stage("plan"), now=now, limit=CLAIMED), then=finish)
    assert not Run.objects.filter(planned_at=None).exists()
    return timed


def _look_ups(day: Day, now: datetime) -> Timed:
    datasets = cycle(Dataset.objects.prefetch_related("replicas").order_by("pk"))
    window = Window(start=day.midnight - timedelta(days=7), end=now)
    return _rounds(LOOK_UPS, lambda: look_up(dataset=next(datasets), window=window, now=now))


def _rounds(number: int, act: Callable[[], Any], *, then: Callable[[Any], None] = lambda result: None) -> Timed:
    """The medians over the rounds of what ``act`` takes, and what it reads; ``then`` is not counted."""
    rounds = [[_timed(act, then) for _ in range(number)] for _ in range(ROUNDS)]
    seconds = [sorted(each for each, _ in one) for one in rounds]
    p50, p99 = (median(percentile(each, share) for each in seconds) for share in (0.5, 0.99))
    return p50, p99, median(reads for one in rounds for _, reads in one)


def _timed(act: Callable[[], Any], then: Callable[[Any], None]) -> tuple[float, int]:
    before, started = _reads(), perf_counter()
    result = act()
    seconds, reads = perf_counter() - started, _reads() - before
    then(result)
    return seconds, reads


def _reads() -> int:
    """The rows and keys that this connection has read: a figure that no other work on the machine changes."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for name, value in cursor.fetchall() if name != "Handler_read_rnd_next")


def _count(label: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {apps.get_model(label)._meta.db_table}")
        return int(cursor.fetchone()[0])


def _ratios(figures: Sequence[Figures]) -> str:
    first, last = figures[0], figures[-1]
    claims, look_ups = last.claim[1] / first.claim[1], last.look_up[1] / first.look_up[1]
    return f"p99 of day {last.number} to day 1: claims {claims:.2f}, look-ups {look_ups:.2f}; the limit is 1.2."


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.thirty_days")
    parser.add_argument("--days", type=int, default=30, help="how many (default 30)")
    parser.add_argument("--runs", type=int, default=100_000, help="of each day (default 100,000)")
    parser.add_argument("--keep", type=int, default=7, help="days of retention (default 7)")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
