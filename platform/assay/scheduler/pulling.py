"""Have a catalog read by itself, where the settings name one: whatever runs for long says so when it starts."""

from datetime import datetime

from assay.config import config
from assay.models import Pull
from assay.time.cadence import next_time


def begin_pulling(now: datetime) -> None:
    """Make the row that the stage *pull* claims, unless it is there; take it away where there is nothing to read."""
    if config().catalog_path is None:
        Pull.objects.all().delete()
    else:
        Pull.objects.get_or_create(pk=1, defaults={"due_at": now})


def bring_back(now: datetime) -> None:
    """Read the catalog no later than its cadence has it, though a clock was ahead when it was read last."""
    coming = next_time(config().catalog_every, now)
    Pull.objects.filter(due_at__gt=coming).update(due_at=coming)
