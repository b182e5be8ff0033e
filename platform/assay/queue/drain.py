"""Work every stage in this process until nothing is pending: the embedded set-up, replays and tests."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.utils.module_loading import import_string

from assay import clock

from .busy_stages import Ahead, ahead, next_due, stages_with_work
from .claims import rounds
from .flow import STAGES, Stage
from .leaps import look_for_leaps


def drain() -> int:
    """Work the stages in their order, over and over, until none finds a pending row; how many rows were worked."""
    now, total = clock.now(), 0
    look_for_leaps(now, in_replay=clock.is_held())
    with rounds():
        while worked := _work(stages_with_work(now)):
            total += worked
            now = clock.now()
    return total


def advance(
    until: datetime,
    *,
    seen: Callable[[datetime], None] = lambda instant: None,
    settle: Callable[[], object] | None = None,
) -> None:
    """Replay: settle, jump to the next due instant, and so on up to ``until``, where the clock is left standing.

    All is worked off here; or ``settle`` returns once nothing is pending, as it waits for workers that do it.
    """
    if settle is not None:
        _advance_beside(until, seen, settle)
        return
    with clock.held(clock.simulated_now()):
        settled_at = clock.now()
        coming = _drain_and_look_ahead(settled_at)
    while (instant := coming.next_at) and instant <= until:
        clock.simulate(instant)
        with clock.held(instant):
            seen(instant)
            coming = _drain_and_look_ahead(instant, coming.next_busy)
        settled_at = instant
    clock.simulate(until)
    with clock.held(until):
        if settled_at <= until:  # nothing is due between the two
            look_for_leaps(until, in_replay=True)
        else:
            drain()


def _drain_and_look_ahead(now: datetime, busy: Sequence[Stage] = ()) -> Ahead:
    """As ``drain``; what is next. ``busy``: the stages that have work, if that is known."""
    look_for_leaps(now, in_replay=clock.is_held())
    with rounds():
        _work(busy)
        while _work((coming := ahead(now)).busy):
            now = clock.now()
    return coming


def _work(stages: Sequence[Stage]) -> int:
    """Work these; how many rows were worked.

    If only one has work, those follow that it leads to: another, which might ask for the same, has none.
    """
    wanted, is_alone, total = {stage.name for stage in stages}, len(stages) == 1, 0
    for stage in STAGES:
        if stage.name in wanted and (worked := import_string(stage.task)() or 0):
            total += worked
            wanted.update(stage.leads_to if is_alone else ())
    return total


def _advance_beside(until: datetime, seen: Callable[[datetime], None], settle: Callable[[], object]) -> None:
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
