"""Have rows that have had their time removed from now on: whatever runs for long says so when it starts."""

from datetime import datetime

from assay.models import Pruning


def begin_pruning(now: datetime) -> None:
    """Make the row that the stage *prune* claims, unless it is there."""
    Pruning.objects.get_or_create(pk=1, defaults={"due_at": now})
