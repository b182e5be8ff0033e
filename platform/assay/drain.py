"""Work every stage in this process until nothing is pending: the embedded set-up, replays and tests."""

from collections.abc import Callable
from datetime import datetime
from itertools import cycle

from django.utils.module_loading import import_string

from assay import clock
from assay.flow import STAGES, Stage
from assay.queue import next_due, pending


def drain() -> int:
    """Work the stages in their order, over and over, until none finds a pending row; how many rows were worked."""
    total = idle = 0
    for stage in cycle(STAGES):
        worked = _work(stage)
        total, idle = total + worked, 0 if worked else idle + 1
        if idle == len(STAGES):
            break
    return total


def _work(stage: Stage) -> int:
    """How many rows of a stage were worked; most have none at most instants, and to ask is cheaper than to claim."""
    if not pending(stage, clock.now()).exists():
        return 0
    return import_string(stage.task)() or 0


def advance(
    until: datetime,
    *,
    seen: Callable[[datetime], None] = lambda instant: None,
    settle: Callable[[], object] = drain,
) -> None:
    """Replay: settle, jump to the next due instant, and so on up to ``until``, where the clock is left standing.

    ``settle`` returns once nothing is pending: by doing it all here, or by waiting for workers that do.
    """
    settle()
    while (instant := next_due(clock.now())) and instant <= until:
        clock.simulate(instant)
        seen(instant)
        settle()
    clock.simulate(until)
    settle()
