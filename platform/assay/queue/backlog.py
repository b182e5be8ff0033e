"""How much waits in each stage: for ``doctor``, readiness and metrics."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Min, Q

from assay import clock

from .busy_stages import stages_with_work
from .claims import pending, unleased
from .flow import STAGES, Stage


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
    now, real_now = now or clock.now(), clock.database_now()
    busy = {stage.name for stage in stages_with_work(now)}
    return [_backlog(stage, now, real_now) if stage.name in busy else Backlog(stage=stage.name) for stage in STAGES]


def worst_rows(most: int) -> list[TriedRow]:
    """The rows that were tried in vain most often, of all stages."""
    now = clock.now()
    found = [row for stage in stages_with_work(now) for row in _worst(stage, now, most)]
    return sorted(found, key=lambda row: (-row.attempts, row.stage, row.id))[:most]


def _backlog(stage: Stage, now: datetime, real_now: datetime) -> Backlog:
    in_vain = Q(attempts__gt=1)
    waits = in_vain | unleased(real_now)
    oldest = Min(F(stage.waits_since), filter=waits)
    rows = pending(stage, now).order_by()
    found = rows.aggregate(waiting=Count("pk"), failing=Count("pk", filter=in_vain), oldest_due_at=oldest)
    return Backlog(stage=stage.name, **found)


def _worst(stage: Stage, now: datetime, most: int) -> Iterator[TriedRow]:
    rows = pending(stage, now).filter(attempts__gt=1).order_by("-attempts", "pk")
    for key, attempts in rows.values_list("pk", "attempts")[:most]:
        yield TriedRow(stage=stage.name, id=key, attempts=attempts)
