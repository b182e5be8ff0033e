"""Work every stage in this process until nothing is pending: the embedded set-up, replays and tests."""

from collections.abc import Callable
from datetime import datetime

from django.utils.module_loading import import_string

from assay import clock
from assay.flow import STAGES
from assay.queue import next_due


def drain() -> int:
    """Work the stages in their order, over and over, until none finds a pending row; how many rows were worked."""
    total = 0
    while worked := sum(import_string(stage.task)() or 0 for stage in STAGES):
        total += worked
    return total


def advance(until: datetime, *, seen: Callable[[datetime], None] = lambda instant: None) -> None:
    """Replay: drain, jump to the next due instant, and so on up to ``until``, where the clock is left standing."""
    drain()
    while (instant := next_due(clock.now())) and instant <= until:
        clock.simulate(instant)
        seen(instant)
        drain()
    clock.simulate(until)
    drain()
