"""What is known of reports: which wait for whom, and which trouble a new one may be about."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from alerting.models import Notice
from assay.catalog.selectors import upstream_map
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.models import EntryKind, Incident, Report, ReportState, Saw, SpoiltWindow

UNSETTLED = (ReportState.OPEN, ReportState.CONFIRMED)
MOST = 5  # troubles that a reporter is shown


def known_windows(dataset: Dataset, window: Window, datacenter: str) -> list[tuple[int, Window]]:
    """The unhealed spoilt windows that tests found of the dataset and its upstreams, with their incidents.

    What one copy lacks says nothing of the others, so of a report of all copies only where there is one.
    """
    copies = list(dataset.replicas.values_list("datacenter", flat=True))
    place = copies[0] if not datacenter and len(copies) == 1 else datacenter
    rows = _spoilt(dataset, window).filter(datacenter__in=("", place))
    return [(row.incident_id, row.window) for row in rows]


def _spoilt(dataset: Dataset, window: Window) -> "QuerySet[SpoiltWindow]":
    return SpoiltWindow.objects.filter(
        dataset__in=fed_by(dataset),
        incident__kind=EntryKind.DETECTED,
        healed_at__isnull=True,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )


def fed_by(dataset: Dataset) -> set[int]:
    """The dataset and all that feeds it, by id."""
    lineage = upstream_map()
    found, edge = {dataset.pk}, [dataset.pk]
    while edge:
        edge = [up for id_ in edge for up in lineage.get(id_, ()) if up not in found]
        found.update(edge)
    return found


def can_be_of(dataset: Dataset, incident: Incident) -> bool:
    """Whether a report of the dataset can be about an incident: an open one of itself, or found in what feeds it."""
    if incident.resolved_at is not None:
        return False
    if incident.kind == EntryKind.REPORTED:  # its windows are of the data that its reporter saw
        return incident.dataset_id == dataset.pk
    return incident.dataset_id in fed_by(dataset)


@dataclass(frozen=True, kw_only=True)
class LikelyTrouble:
    """An open incident that a new report may be about; ``told`` is how many people were told of it."""

    incident: Incident
    told: int
    reporter: str = ""  # who reported it; empty: a test found it
    same: bool = True  # joined by itself: of the same fault by its windows and category


def likely_troubles(
    dataset: Dataset, window: Window, *, datacenter: str, saw: str, hidden: Collection[int] = ()
) -> list[LikelyTrouble]:
    """What is known of these windows already, what a report would join by itself first; not of ``hidden`` datasets."""
    known = {id_ for id_, _ in known_windows(dataset, window, datacenter)}
    places = {"datacenter__in": ("", datacenter)} if datacenter else {}
    detected = known | set(_spoilt(dataset, window).filter(**places).values_list("incident", flat=True))
    claims = Report.objects.filter(
        dataset=dataset,
        state__in=UNSETTLED,
        incident__spoilt_windows__healed_at__isnull=True,
        incident__spoilt_windows__window_start__lt=window.end,
        incident__spoilt_windows__window_end__gt=window.start,
    )
    claimed = {row.incident_id: row for row in claims.distinct() if row.incident_id}
    rows = Incident.objects.filter(pk__in=[*detected, *claimed]).exclude(dataset__in=hidden)
    found = [
        _likely(incident, claimed.get(incident.pk), is_known=incident.pk in known, datacenter=datacenter, saw=saw)
        for incident in rows.select_related("dataset", "alert").order_by("-detected_at")
    ]
    return sorted(found, key=lambda one: not one.same)[:MOST]


def _likely(incident: Incident, claim: Report | None, *, is_known: bool, datacenter: str, saw: str) -> LikelyTrouble:
    notices = Notice.objects.filter(suppressed="")
    notices = notices.filter(key__startswith=f"report:{claim.pk}:") if claim else notices.filter(alert=incident.alert)
    is_told = claim is not None or incident.alert is not None
    if claim is not None:
        is_known = incident.category == Saw(saw).category and claim.datacenter in ("", datacenter)
    return LikelyTrouble(
        incident=incident,
        told=notices.values("recipient").distinct().count() if is_told else 0,
        reporter=claim.reporter if claim else "",
        same=is_known
        if claim is None
        else (incident.category == Saw(saw).category and claim.datacenter in ("", datacenter)),
    )


def waiting_for(name: str, teams: Collection[str]) -> "QuerySet[Report]":
    """The reports that nobody has decided of, of datasets that are somebody's own or of one of their teams."""
    own = Q(dataset__owner=name) | Q(dataset__team__in=[team for team in teams if team])
    return Report.objects.filter(own, state=ReportState.OPEN)


def open_incidents_for(reports: Sequence[Report]) -> dict[int, list[Incident]]:
    """The open incidents that each open report may be joined to, by its id: those of its own dataset."""
    rows = Incident.objects.filter(dataset__in={row.dataset_id for row in reports}, resolved_at=None)
    by_dataset: dict[int, list[Incident]] = {}
    for incident in rows.order_by("-detected_at"):
        by_dataset.setdefault(incident.dataset_id, []).append(incident)
    return {
        row.pk: [each for each in by_dataset.get(row.dataset_id, ()) if each.pk != row.incident_id]
        for row in reports
        if row.state == ReportState.OPEN
    }
