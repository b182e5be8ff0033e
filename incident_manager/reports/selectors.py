"""What is known of reports: which wait for whom, and which trouble a new one may be about."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from alerting.models import Notice
from alerting.state import LOG
from assay.catalog.selectors import upstream_map
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.intervals import Intervals, clip, subtract
from incident_manager.models import EntryKind, Incident, Report, ReportState, Saw, SpoiltWindow

# Which part of a user's report is known already, and by which incidents.


@dataclass(frozen=True, kw_only=True)
class Split:
    """A report's window in parts: those that incidents cover, by incident, and the rest that nobody knew of."""

    covered: Mapping[int, Intervals]
    uncovered: Intervals


def split(report: Window, unhealed: Sequence[tuple[int, Window]]) -> Split:
    """The report split by the unhealed spoilt windows, given as (incident id, window); incidents may share a part."""
    by_incident: dict[int, list[Window]] = {}
    for incident_id, window in unhealed:
        if window.overlaps(report):
            by_incident.setdefault(incident_id, []).append(window)
    covered = {incident_id: clip(windows, report) for incident_id, windows in sorted(by_incident.items())}
    return Split(covered=covered, uncovered=subtract([report], [w for windows in covered.values() for w in windows]))


UNSETTLED = (ReportState.OPEN, ReportState.CONFIRMED)
MOST = 5  # troubles that a reporter is shown


def known_windows(dataset: Dataset, window: Window, datacenter: str, category: str) -> list[tuple[int, Window]]:
    """The unhealed spoilt windows that tests found of the dataset in the category, with their incidents.

    What one copy lacks says nothing of the others, so of a report of all copies only where there is one.
    """
    copies = list(dataset.replicas.values_list("datacenter", flat=True))
    place = copies[0] if not datacenter and len(copies) == 1 else datacenter
    rows = _spoilt({dataset.pk}, window).filter(datacenter__in=("", place), incident__category=category)
    return [(row.incident_id, row.window) for row in rows]


def _spoilt(datasets: Collection[int], window: Window) -> "QuerySet[SpoiltWindow]":
    return SpoiltWindow.objects.filter(
        dataset__in=datasets,
        incident__kind=EntryKind.DETECTED,
        healed_at__isnull=True,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )


def fed_by(dataset: Dataset, lineage: Mapping[int, Collection[int]] | None = None) -> set[int]:
    """The dataset and all that feeds it, by id."""
    lineage = upstream_map() if lineage is None else lineage
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
    """An open incident that a new report may be about; ``told`` is how many people a message reached."""

    incident: Incident
    told: int
    reporter: str = ""  # who reported it; empty: a test found it
    same: bool = True  # joined by itself: of the same fault by its windows and category


def likely_troubles(
    dataset: Dataset, window: Window, *, datacenter: str, saw: str, hidden: Collection[int] = ()
) -> list[LikelyTrouble]:
    """What is known of these windows already; not of ``hidden`` datasets.

    First what a report would join by itself, then what else is wrong with the dataset, then what is with its upstreams.
    """
    known = {id_ for id_, _ in known_windows(dataset, window, datacenter, Saw(saw).category)}
    places = {"datacenter__in": ("", datacenter)} if datacenter else {}
    detected = known | set(_spoilt(fed_by(dataset), window).filter(**places).values_list("incident", flat=True))
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
    return sorted(found, key=lambda one: (not one.same, one.incident.dataset_id != dataset.pk))[:MOST]


def _likely(incident: Incident, claim: Report | None, *, is_known: bool, datacenter: str, saw: str) -> LikelyTrouble:
    notices = Notice.objects.filter(suppressed="").exclude(channel=LOG)
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
    """The open incidents that each open report may be joined to, by its id.

    Those of its own dataset, and those of its upstreams that have a bad window in common with it.
    """
    waiting = [row for row in reports if row.state == ReportState.OPEN]
    if not waiting:
        return {}
    lineage = upstream_map()
    fed = {row.pk: fed_by(row.dataset, lineage) for row in waiting}
    datasets = set().union(*fed.values())
    windows = _bad_windows(waiting, datasets)
    rows = Incident.objects.filter(dataset__in=datasets, resolved_at=None)
    found = list(rows.select_related("dataset").order_by("-detected_at"))
    return {row.pk: [each for each in found if _may_join(row, each, fed[row.pk], windows)] for row in waiting}


def _bad_windows(reports: Sequence[Report], datasets: Collection[int]) -> dict[int, list[Window]]:
    """What is bad of the datasets in the time of the reports, by incident."""
    bad = SpoiltWindow.objects.filter(
        dataset__in=datasets,
        healed_at__isnull=True,
        window_start__lt=max(row.window_end for row in reports),
        window_end__gt=min(row.window_start for row in reports),
    )
    found: dict[int, list[Window]] = {}
    for spoilt in bad.only("incident", "window_start", "window_end"):
        found.setdefault(spoilt.incident_id, []).append(spoilt.window)
    return found


def _may_join(row: Report, incident: Incident, fed: Collection[int], windows: Mapping[int, Sequence[Window]]) -> bool:
    if incident.pk == row.incident_id or incident.dataset_id not in fed:
        return False
    if incident.dataset_id == row.dataset_id:
        return True
    return incident.kind == EntryKind.DETECTED and any(w.overlaps(row.window) for w in windows.get(incident.pk, ()))
