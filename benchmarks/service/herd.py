"""``python -m benchmarks.service.herd``: all tests of all tables are due at one instant of real time."""

import sys
import time
from datetime import datetime, timedelta

from rich.console import Console

from deploy.local.fleet import FleetSize

from .catalog import ASSERTIONS, DATACENTER, TABLES, catalog
from .figures import Figures, Line, percentiles
from .fleet import measured_service
from .hours import HOUR, settle

DUE_AFTER = timedelta(minutes=5)
LEAD = timedelta(seconds=10)
ALLOWED = 120.0  # seconds from the hour to the beginning of 99 % of the scans
SIZE = FleetSize(workers=1, concurrency=2, datacenters=(DATACENTER,), app="benchmarks.service.worker")


def main(tables: int = TABLES) -> None:
    """Measure, and keep the figures."""
    console = Console(stderr=True)
    with measured_service("herd", SIZE):
        _sync(tables)
        due_at = _place_cursors()
        console.print(f"{tables:,} tables are due at {due_at:%H:%M:%S} UTC")
        time.sleep(LEAD.total_seconds() + 1)
        settle()
        heading = f"{tables:,} tables and {tables * (len(ASSERTIONS) + 1):,} tests due at once"
        Figures(name="herd", heading=heading, lines=_lines(due_at)).write()


def _sync(tables: int) -> None:
    from assay import clock
    from test_generator.services import sync

    sync(catalog(tables=tables, freshness=DUE_AFTER), source="bench", now=clock.now())
    settle()


def _place_cursors() -> datetime:
    """Every test is due in a moment, for the hour before the one that goes; that moment."""
    from assay import clock
    from assay.models import DataTest, Scope

    now = clock.now()
    hour, due_at = now.replace(minute=0, second=0, microsecond=0), now + LEAD
    DataTest.objects.filter(retired_at__isnull=True, scope=Scope.PARTITION).update(
        next_due_at=due_at, next_window_start=hour - HOUR, next_window_end=hour
    )
    return due_at


def _lines(due_at: datetime) -> list[Line]:
    from django.db.models import Min

    from execution_engine.models import Run, Scan

    firsts = Scan.objects.filter(started_at__gte=due_at).values("dataset").annotate(first=Min("started_at"))
    began = [(row["first"] - due_at).total_seconds() for row in firsts]
    ends = Run.objects.filter(judged_at__isnull=False, due_at=due_at).values_list("judged_at", flat=True)
    judged = [(instant - due_at).total_seconds() for instant in ends if instant]
    in_time = sum(seconds <= ALLOWED for seconds in began) / len(began)
    return [
        *percentiles("from the hour to the first scan of each table", began),
        (f"**tables whose scan began within {ALLOWED:.0f} s**", f"**{in_time:.1%}**"),
        *percentiles("from the hour to each run's verdict", judged),
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
