"""Which pending scans may begin now, by what runs already."""

from django.db.models import Q

from assay import clock
from assay.config import config
from assay.queue.claims import leased
from execution_engine.models import Scan
from execution_engine.planning.turns import KINDS, Bounds, full


def bounds() -> Bounds:
    """The bounds of the settings."""
    settings = config()
    return {
        "dataset_id": settings.scans_per_dataset,
        "owner": settings.scans_per_owner,
        "engine": settings.scans_per_engine,
    }


def may_begin(datacenter: str | None, most: Bounds | None = None) -> Q:
    """A condition on scans that leaves out those of whatever is at its bound."""
    running = Scan.objects.filter(leased(clock.database_now()))
    if datacenter:
        running = running.filter(datacenter=datacenter)
    allowed = Q()
    for each in full(running.values("datacenter", *KINDS), bounds() if most is None else most):
        allowed &= ~Q(**{"datacenter": each.datacenter, f"{each.kind}__in": sorted(each.values, key=str)})
    return allowed
