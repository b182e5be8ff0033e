"""Work every stage in this process until nothing is pending: the embedded set-up, replays and tests."""

from collections.abc import Callable
from datetime import datetime

from django.utils.module_loading import import_string

from assay import clock

from .busy_stages import next_due, stages_with_work
from .claims import rounds
from .leaps import look_for_leaps


def drain() -> int:
    """Work the stages in their order, over and over, until none finds a pending row; how many rows were worked."""
    now, total = clock.now(), 0
    look_for_leaps(now, in_replay=clock.is_held())
    with rounds():
        while worked := sum(import_string(stage.task)() or 0 for stage in stages_with_work(now)):
            total += worked
            now = clock.now()
    return total


def advance(
    until: datetime,
    *,
    seen: Callable[[datetime], None] = lambda instant: None,
    settle: Callable[[], object] = drain,
) -> None:
    """Replay: settle, jump to the next due instant, and so on up to ``until``, where the clock is left standing.

    ``settle`` returns once nothing is pending: by doing it all here, or by waiting for workers that do.
    """
    with clock.held(clock.simulated_now()):
        settle()
        now = clock.now()
    while (instant := next_due(now)) and instant <= until:
        clock.simulate(instant)
        with clock.held(instant):
            seen(instant)
            settle()
        now = instant
    clock.simulate(until)
    with clock.held(until):
        settle()
