"""How much waits in each stage: for ``doctor``, readiness and metrics."""

from dataclasses import dataclass
from datetime import datetime

from assay import clock
from assay.flow import STAGES
from assay.queue import pending


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """One stage's rows that are due: how many, how many have been tried in vain, and since when the oldest is due."""

    stage: str
    waiting: int
    failing: int
    oldest_due_at: datetime | None


def backlogs() -> list[Backlog]:
    """The backlog of every stage now."""
    now = clock.now()
    found = []
    for stage in STAGES:
        rows = pending(stage, now)
        oldest = rows.order_by(stage.due).values_list(stage.due, flat=True).first() if stage.due else None
        failing = rows.filter(attempts__gt=1).count()
        found.append(Backlog(stage=stage.name, waiting=rows.count(), failing=failing, oldest_due_at=oldest))
    return found
