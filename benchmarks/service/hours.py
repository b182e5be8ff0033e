"""Simulated hours, one after the other as fast as the service works them: what it can sustain."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from deploy.local.fleet import Fleet

FIRST = datetime(2026, 3, 10, tzinfo=UTC)  # a Tuesday: tests of whole tables are due on Mondays
HOUR = timedelta(hours=1)
LOOK_EVERY = 0.25  # seconds
LIMIT = 1800.0  # seconds for one hour's tests


class UnableToKeepUp(Exception):
    """An hour's tests were not judged in time."""


@dataclass(frozen=True, kw_only=True)
class Lived:
    """One simulated hour: the runs that were judged in it, and the seconds it took."""

    runs: int
    seconds: float


def live(minutes: float, due_after: timedelta, seen: Callable[[Lived], None]) -> list[Lived]:
    """Hours whose tests are due ``due_after`` their end, until so many real minutes have gone."""
    from assay import clock

    lived: list[Lived] = []
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        before, begun = judged(), time.monotonic()
        clock.simulate(FIRST + (len(lived) + 1) * HOUR + due_after)
        settle()
        lived.append(Lived(runs=judged() - before, seconds=time.monotonic() - begun))
        seen(lived[-1])
    return lived


def settle() -> None:
    """Return once the workers have left nothing pending; raises UnableToKeepUp."""
    from assay import clock
    from assay.queue.drain import stages_with_work

    until = time.monotonic() + LIMIT
    while busy := stages_with_work(clock.now()):
        if time.monotonic() > until:
            raise UnableToKeepUp(f"after {LIMIT:.0f} s these still have work: {[stage.name for stage in busy]}")
        time.sleep(LOOK_EVERY)


def judged() -> int:
    """How many runs have been judged."""
    from execution_engine.models import Run

    return Run.objects.filter(judged_at__isnull=False).count()


def begin(prepare: Callable[[datetime], None]) -> float:
    """Sync a catalog at the first instant and let the workers write its tests; the seconds that took."""
    from assay import clock

    begun = time.monotonic()
    clock.simulate(FIRST)
    prepare(FIRST)
    settle()
    return time.monotonic() - begun


def used(service: Fleet, before: dict[str, float], after: dict[str, float], runs: int) -> Sequence[tuple[str, str]]:
    """Milliseconds of a processor for each run, by process."""
    return [(f"CPU ms per run: {name}", f"{1000 * (after[name] - before[name]) / runs:.2f}") for name in before]
