"""Find what is pending and unclaimed, and tell the workers to look; what a lost message left is found here."""

import structlog
from django.db.models import Q
from kombu.exceptions import OperationalError

from assay import clock
from assay.celery import hint
from assay.flow import STAGES, Stage
from assay.queue import pending

log = structlog.get_logger(__name__)


def sweep() -> int:
    """Send one hint per stage (and datacenter) with claimable rows; how many were sent."""
    now, real_now = clock.now(), clock.database_now()
    sent = 0
    for stage in STAGES:
        rows = pending(stage, now).filter(Q(lease_until__isnull=True) | Q(lease_until__lt=real_now))
        if stage.by_datacenter:
            places = rows.order_by().values_list("datacenter", flat=True).distinct()
            sent += sum(_send(stage, place) for place in places)
        elif rows.exists():
            sent += _send(stage, "")
    return sent


def _send(stage: Stage, datacenter: str) -> int:
    try:
        hint(stage, datacenter)
    except OperationalError as error:
        # The broker is away: the row waits in the database, and the next sweep tries again.
        log.warning("hint not sent", stage=stage.name, datacenter=datacenter, why=str(error))
        return 0
    return 1
