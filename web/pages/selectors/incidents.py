"""The page of all incidents: those that are wanted, the open ones first."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import QuerySet

from incident_manager.models import Incident

from .catalogue import matching

PAGE_SIZE = 50


class IncidentState(StrEnum):
    """Which of them a reader wants by how they stand."""

    OPEN = "open"
    MINE = "open, mine"
    UNTAKEN = "open, nobody works on it"
    RESOLVED = "resolved"


@dataclass(frozen=True, kw_only=True)
class IncidentFilter:
    """What the reader filters by; empty: everything."""

    text: str = ""
    state: IncidentState | None = None
    category: str = ""
    tier: int | None = None
    page: int = 1
    reader: str = ""


@dataclass(frozen=True, kw_only=True)
class IncidentPage:
    """One page of incidents, and whether another follows."""

    rows: Sequence[Incident]
    number: int
    has_next: bool
    open: int  # of all that match, how many are open


def listed_incidents(wanted: IncidentFilter) -> IncidentPage:
    """The open ones, the newest first, then those that were resolved last: each along an index, never sorted all.

    In three statements, and one more where names are sought.
    """
    rows = _wanted(wanted)
    still_open = rows.filter(resolved_at__isnull=True).order_by("-detected_at", "-pk")
    resolved = rows.filter(resolved_at__isnull=False).order_by("-resolved_at", "-pk")
    if wanted.state is IncidentState.UNTAKEN:
        still_open = still_open.filter(assigned_to="")
    if wanted.state is IncidentState.MINE:
        still_open = still_open.filter(assigned_to=wanted.reader)
    if wanted.state is IncidentState.RESOLVED:
        still_open = still_open.none()
    elif wanted.state is not None:
        resolved = resolved.none()
    start = (wanted.page - 1) * PAGE_SIZE
    end = start + PAGE_SIZE + 1  # one more than is shown says that there is another page
    many = still_open.count()
    found = [*still_open[start:end], *resolved[max(0, start - many) : max(0, end - many)]]
    return IncidentPage(rows=found[:PAGE_SIZE], number=wanted.page, has_next=len(found) > PAGE_SIZE, open=many)


def _wanted(wanted: IncidentFilter) -> QuerySet[Incident]:
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset")
    if wanted.text:
        rows = rows.filter(dataset__in=list(matching(wanted.text).values_list("pk", flat=True)))
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    return rows if wanted.tier is None else rows.filter(tier=wanted.tier)
