"""``python -m benchmarks.service.throughput MINUTES``: runs an hour, from due to judged; the engine is free."""

import sys
from datetime import datetime, timedelta

from rich.console import Console

from deploy.local.fleet import Fleet, FleetSize

from .catalog import DATACENTER, TABLES, catalog
from .figures import Figures, Line
from .fleet import cpu_seconds, measured_service
from .hours import Lived, begin, live, used

DUE_AFTER = timedelta(minutes=5)
SIZE = FleetSize(workers=1, concurrency=2, datacenters=(DATACENTER,), app="benchmarks.service.worker")


def main(minutes: float, tables: int = TABLES) -> None:
    """Measure, and keep the figures."""
    console = Console(stderr=True)
    with measured_service("throughput", SIZE) as service:
        taken = begin(lambda now: _sync(tables, now))
        console.print(f"{tables:,} tables and their tests written in {taken:.0f} s")
        before = cpu_seconds(service)
        lived = live(minutes, DUE_AFTER, lambda hour: console.print(told(hour)))
        Figures(name="throughput", heading=_heading(tables), lines=_lines(service, before, lived, taken)).write()


def told(hour: Lived) -> str:
    """One hour in a line."""
    return f"{hour.runs:,} runs in {hour.seconds:.1f} s: {3600 * hour.runs / hour.seconds:,.0f} an hour"


def lines_of(lived: list[Lived]) -> list[Line]:
    """What was sustained, and the slowest of the simulated hours."""
    runs, seconds = sum(hour.runs for hour in lived), sum(hour.seconds for hour in lived)
    rates = sorted(3600 * hour.runs / hour.seconds for hour in lived)
    return [
        ("runs from due to judged", f"{runs:,} in {seconds:,.0f} s, {len(lived)} simulated hours"),
        ("**runs an hour, sustained**", f"**{3600 * runs / seconds:,.0f}**"),
        ("the slowest of those hours", f"{rates[0]:,.0f}"),
    ]


def _lines(service: Fleet, before: dict[str, float], lived: list[Lived], taken: float) -> list[Line]:
    runs = sum(hour.runs for hour in lived)
    return [
        *lines_of(lived),
        *used(service, before, cpu_seconds(service), runs),
        ("tests written in s", f"{taken:.0f}"),
    ]


def _heading(tables: int) -> str:
    return f"An engine that answers at once: {tables:,} hourly tables, 9 tests each, through MariaDB, Redis and Celery"


def _sync(tables: int, now: datetime) -> None:
    from test_generator.services import sync

    sync(catalog(tables=tables, freshness=DUE_AFTER), source="bench", now=now)


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
