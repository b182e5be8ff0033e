"""Work every stage in this process until nothing is pending: the embedded set-up, replays and tests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import structlog
from django.db import connection
from django.db.models import Count, F, Min, Q
from django.db.models.sql import Query
from django.utils.module_loading import import_string

from assay import clock
from assay.clock import instant_of

from .claims import pending, rounds, unleased
from .flow import STAGES, Stage

# A clock that leapt ahead and was set back: what was noted under it is brought back to the true time.
#
# Two rules: no due time lies further ahead than its stage ever waits, and nothing has happened after now. Whoever
# works the stages looks for it when it starts, when its clock stands before where it stood, and once an hour.

log = structlog.get_logger(__name__)

EVERY = timedelta(hours=1)
SLACK = timedelta(minutes=5)  # two statements read the clock one after the other
_last: list[datetime] = []  # when this process looked


def is_time_to_look(last: datetime | None, now: datetime, every: timedelta | None = EVERY) -> bool:
    """Whether to look at ``now``, after having looked at ``last``; ``every`` None: only if the clock was set back."""
    return last is None or now < last or (every is not None and now >= last + every)


def look_for_leaps(now: datetime, *, in_replay: bool = False) -> None:
    """Bring back what a clock that was set back has left, if it is time to look for it.

    ``in_replay``: this process alone sets the clock, so that no leap can have come and gone since the last look.
    """
    is_time = is_time_to_look(_last[-1] if _last else None, now, None if in_replay else EVERY)
    if is_time:
        bring_back(now)
    if is_time or in_replay:
        _last[:] = [now]


def bring_back(now: datetime) -> None:
    """Let nothing be due later than it may be at ``now``; returns at once where nothing is."""
    for stage in STAGES:
        if latest := stage.latest_due(now):
            assert stage.due
            too_far = pending(stage, None).filter(**{f"{stage.due}__gt": stage.latest_due(now + SLACK)})
            if row_count := too_far.update(**{stage.due: latest}):
                log.info("due times brought back", stage=stage.name, rows=row_count)
        if stage.bring_back:
            import_string(stage.bring_back)(now)


# Ask all stages at once which of them have work, and when the next one will: one statement, however many there are.

SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # stands where the statement is given an instant each time


def stages_with_work(now: datetime) -> list[Stage]:
    """The stages with a row that is due at ``now``, leased or not, in their order."""
    flags = _ask(_existence(connection.vendor), now)
    return [stage for stage, has_work in zip(STAGES, flags, strict=True) if has_work]


def next_due(after: datetime) -> datetime | None:
    """The earliest instant after ``after`` at which any stage has a row due."""
    values = _ask(_least(connection.vendor), after)
    return min((instant_of(value) for value in values if value is not None), default=None)


def _ask(statement: tuple[str, list[Any]], now: datetime) -> tuple[object, ...]:
    sql, params = statement
    place, instant = (connection.ops.adapt_datetimefield_value(at) for at in (SOME_TIME, now))
    with connection.cursor() as cursor:
        cursor.execute(sql, [instant if param == place else param for param in params])
        row: tuple[object, ...] = cursor.fetchone()
    return row


@cache
def _existence(vendor: str) -> tuple[str, list[Any]]:
    return _joined([("EXISTS", pending(stage, SOME_TIME).values("pk")[:1].query) for stage in STAGES])


@cache
def _least(vendor: str) -> tuple[str, list[Any]]:
    dues = [(stage.due, pending(stage, None)) for stage in STAGES if stage.due]
    nexts = [rows.filter(**{f"{due}__gt": SOME_TIME}).order_by(due).values(due)[:1] for due, rows in dues]
    return _joined([("", rows.query) for rows in nexts])


def _joined(parts: list[tuple[str, Query]]) -> tuple[str, list[Any]]:
    """One SELECT of all the parts, each under a function, and its parameters."""
    compiled = [(function, *part.sql_with_params()) for function, part in parts]
    columns = ", ".join(f"{function}({sql})" for function, sql, _ in compiled)
    return f"SELECT {columns}", [param for _, _, params in compiled for param in params]


def drain(*, with_asides: bool = True) -> int:
    """Work the stages in their order, over and over, until none finds a pending row; how many rows were worked.

    A gate leaves out what no verdict waits for.
    """
    now, total = clock.now(), 0
    look_for_leaps(now, in_replay=clock.is_held())
    with rounds():
        while stages := [stage for stage in stages_with_work(now) if with_asides or not stage.is_aside]:
            names, worked = {stage.name for stage in stages}, 0
            for stage in STAGES:
                if stage.name in names and (row_count := import_string(stage.task)() or 0):
                    worked += row_count
                    if (
                        len(stages) == 1
                    ):  # those follow that it leads to: another, which might ask for them, has no work
                        names.update(stage.leads_to)
            if not worked:
                break
            total, now = total + worked, clock.now()
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
    settle = settle or drain
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


# How much waits in each stage: for ``doctor``, readiness and metrics.


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """One stage's rows that are due: how many, how many of them were tried in vain, and since when the oldest waits.

    A row that a worker is trying for the first time is due, but does not wait.
    """

    stage: str
    waiting: int = 0
    failing: int = 0
    oldest_due_at: datetime | None = None

    def age(self, now: datetime) -> timedelta:
        """How long the oldest has waited; nothing where none waits."""
        return max(now - self.oldest_due_at, timedelta(0)) if self.oldest_due_at else timedelta(0)


@dataclass(frozen=True, kw_only=True)
class TriedRow:
    """A row that was tried in vain."""

    stage: str
    id: int
    attempts: int


def backlogs(now: datetime | None = None) -> list[Backlog]:
    """The backlog of every stage now: a statement for all, and one more for each that has any work."""
    now = now or clock.now()
    in_vain = Q(attempts__gt=1)
    waits = in_vain | unleased(clock.database_now())
    amounts: dict[str, dict[str, Any]] = {
        stage.name: pending(stage, now)
        .order_by()
        .aggregate(
            waiting=Count("pk"),
            failing=Count("pk", filter=in_vain),
            oldest_due_at=Min(F(stage.waits_since), filter=waits),
        )
        for stage in stages_with_work(now)
    }
    return [Backlog(stage=stage.name, **amounts.get(stage.name, {})) for stage in STAGES]


def worst_rows(most: int) -> list[TriedRow]:
    """The rows that were tried in vain most often, of all stages."""
    now = clock.now()
    rows = [
        TriedRow(stage=stage.name, id=key, attempts=attempts)
        for stage in stages_with_work(now)
        for key, attempts in pending(stage, now)
        .filter(attempts__gt=1)
        .order_by("-attempts", "pk")
        .values_list("pk", "attempts")[:most]
    ]
    return sorted(rows, key=lambda row: (-row.attempts, row.stage, row.id))[:most]
