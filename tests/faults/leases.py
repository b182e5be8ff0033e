"""Who holds what: the rows of a stage that a worker has claimed and not ended."""

from collections.abc import Mapping

from assay import clock
from assay.queue.claims import pending, table
from assay.queue.flow import stage


def held(name: str) -> dict[int, int]:
    """The rows of a stage under a live lease, with the epoch of each."""
    rows = pending(stage(name), None).filter(lease_until__gt=clock.database_now())
    return dict(rows.values_list("pk", "epoch"))


def taken_over(name: str, before: Mapping[int, int]) -> int:
    """How many of these rows somebody has claimed again since, and ended."""
    waiting = set(pending(stage(name), None).filter(pk__in=before).values_list("pk", flat=True))
    now = dict(table(stage(name))._default_manager.filter(pk__in=before).values_list("pk", "epoch"))
    return sum(now[pk] > epoch and pk not in waiting for pk, epoch in before.items())
