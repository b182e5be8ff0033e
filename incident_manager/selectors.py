"""What the incident manager knows: what is spoilt, what is claimed, and how good all that has been."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from assay.catalog.selectors import home
from assay.models import Dataset, DataTest
from assay.windows import Window
from incident_manager.lifecycle import How
from incident_manager.models import Incident, Kind, LookUp, Report, ReportState, Resolution, SpoiltWindow
from incident_manager.scores import (
    ConfirmedReport,
    DetectedIncident,
    Episode,
    LookUpScore,
    Score,
    combine,
    score,
    score_look_ups,
)
from incident_manager.scores import LookUp as Answered

Place = tuple[int, str]  # dataset id and category
CONFIRMED = (ReportState.CONFIRMED, ReportState.FIXED)
HOW = {how.value: how for how in How} | {Resolution.FIXED.value: How.AUTO, Resolution.REJECTED.value: How.FORCED}


def unhealed(dataset: Dataset, window: Window, datacenter: str = "") -> list[SpoiltWindow]:
    """The spoilt windows that overlap a range in one datacenter (home); claims that nobody confirmed are none."""
    place = datacenter or home(dataset).datacenter
    rows = SpoiltWindow.objects.filter(
        dataset=dataset,
        healed_at__isnull=True,
        datacenter__in=("", place),
        window_start__lt=window.end,
        window_end__gt=window.start,
    ).exclude(incident__report__state=ReportState.OPEN)
    related = rows.select_related("incident", "data_test").order_by("window_start", "pk")
    return [row for row in related if _overlaps(row, window)]


def known_wrong(dataset: Dataset, window: Window, place: str) -> tuple[list[SpoiltWindow], list[Report]]:
    """What ``unhealed`` and ``unconfirmed`` find, in one statement: an open report has spoilt windows of its own."""
    claimed = Q(
        incident__report__state=ReportState.OPEN,
        incident__report__window_start__lt=window.end,
        incident__report__window_end__gt=window.start,
    )
    rows = SpoiltWindow.objects.filter(
        claimed | Q(window_start__lt=window.end, window_end__gt=window.start),
        dataset=dataset,
        healed_at__isnull=True,
        datacenter__in=("", place),
    )
    related = rows.select_related("incident__report", "data_test").order_by("window_start", "pk")
    claims = {row.pk: report for row in related if (report := _open_report(row))}
    spoilt = [row for row in related if row.pk not in claims and _overlaps(row, window)]
    reports = {report.pk: report for report in claims.values() if report.window.overlaps(window)}
    return spoilt, sorted(reports.values(), key=lambda report: report.pk)


def _open_report(row: SpoiltWindow) -> Report | None:
    report: Report | None = getattr(row.incident, "report", None)
    return report if report is not None and report.state == ReportState.OPEN else None


def _overlaps(row: SpoiltWindow, window: Window) -> bool:
    """A whole table's overlaps where its worst partitions do, if it names any."""
    ranges = [Window.parse("/".join(pair)) for pair in row.partitions]
    return not ranges or any(each.overlaps(window) for each in ranges)


def unconfirmed(dataset: Dataset, window: Window, datacenter: str = "") -> QuerySet[Report]:
    """The reports that overlap a range and still wait for the owner's word."""
    places = ("", datacenter or home(dataset).datacenter)
    return Report.objects.filter(
        dataset=dataset,
        state=ReportState.OPEN,
        datacenter__in=places,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """The score of one dataset and category."""

    dataset: str
    category: str
    score: Score


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How good data and tests were over a range; ``end`` is never later than the asking."""

    start: datetime
    end: datetime
    rows: tuple[ScoreRow, ...]
    total: Score
    look_ups: LookUpScore


def scores(
    *,
    start: datetime,
    end: datetime,
    now: datetime,
    tier: int | None = None,
    team: str | None = None,
    owner: str | None = None,
    category: str | None = None,
    dataset: Dataset | None = None,
) -> Scores:
    """The scores of a range; tier, team and owner of an incident are those at its detection."""
    asked = Window(start=start, end=min(end, now))
    who = {"tier": tier, "team": team, "owner": owner}
    about = {name: value for name, value in who.items() if value is not None}
    incidents = _incidents(asked, about, category, dataset)
    by_place: dict[Place, list[Incident]] = defaultdict(list)
    for incident in incidents:
        by_place[incident.dataset_id, incident.category].append(incident)
    places = _tested(about, category, dataset) | set(by_place)
    names = dict(Dataset.objects.filter(pk__in={id_ for id_, _ in places}).values_list("pk", "full_name"))
    rows = tuple(
        ScoreRow(dataset=names[id_], category=kind, score=_score(by_place[id_, kind], asked))
        for id_, kind in sorted(places, key=lambda place: (names[place[0]], place[1]))
    )
    look_ups = _look_ups(asked, about, dataset)
    return Scores(
        start=asked.start, end=asked.end, rows=rows, total=combine(row.score for row in rows), look_ups=look_ups
    )


def _incidents(
    asked: Window, about: Mapping[str, Any], category: str | None, dataset: Dataset | None
) -> QuerySet[Incident]:
    rows = Incident.objects.filter(Q(resolved_at__isnull=True) | Q(resolved_at__gt=asked.start), **about)
    rows = rows.filter(detected_at__lt=asked.end)
    if category is not None:
        rows = rows.filter(category=category)
    if dataset is not None:
        rows = rows.filter(dataset=dataset)
    return rows.select_related("report").prefetch_related("episodes", "spoilt_windows")


def _tested(about: Mapping[str, Any], category: str | None, dataset: Dataset | None) -> set[Place]:
    """Every live dataset and category that matches: its time counts, good or bad."""
    tests = DataTest.objects.filter(
        retired_at__isnull=True, **{f"dataset__{name}": value for name, value in about.items()}
    )
    if category is not None:
        tests = tests.filter(category=category)
    if dataset is not None:
        tests = tests.filter(dataset=dataset)
    return set(tests.values_list("dataset", "category").distinct())


def _score(incidents: Iterable[Incident], asked: Window) -> Score:
    known = list(incidents)
    detected = [_detected(incident) for incident in known if incident.kind == Kind.DETECTED]
    reported = [claim for incident in known if incident.kind == Kind.REPORTED for claim in _confirmed(incident)]
    return score(detected, reported, asked)


def _episodes(incident: Incident) -> tuple[Episode, ...]:
    rows = sorted(incident.episodes.all(), key=lambda row: row.opened_at)
    return tuple(Episode(start=row.opened_at, end=row.closed_at) for row in rows)


def _windows(incident: Incident) -> tuple[Window, ...]:
    return tuple(row.window for row in incident.spoilt_windows.all())


def _detected(incident: Incident) -> DetectedIncident:
    how = HOW[incident.resolution] if incident.resolution else None
    return DetectedIncident(episodes=_episodes(incident), how=how, windows=_windows(incident))


def _confirmed(incident: Incident) -> list[ConfirmedReport]:
    report: Report | None = getattr(incident, "report", None)
    if report is None or report.state not in CONFIRMED:
        return []
    return [ConfirmedReport(episode=episode, windows=_windows(incident)) for episode in _episodes(incident)]


def _look_ups(asked: Window, about: Mapping[str, Any], dataset: Dataset | None) -> LookUpScore:
    rows = LookUp.objects.filter(at__gte=asked.start, at__lt=asked.end)
    rows = rows.filter(**{f"dataset__{name}": value for name, value in about.items()})
    if dataset is not None:
        rows = rows.filter(dataset=dataset)
    found = list(rows.values_list("incidents", flat=True))
    ids = {id_ for incidents in found for id_ in incidents}
    resolutions = dict(Incident.objects.filter(pk__in=ids).values_list("pk", "resolution"))
    hows = {id_: HOW[how] if how else None for id_, how in resolutions.items()}
    return score_look_ups(Answered(failed_by=tuple(hows.get(id_) for id_ in incidents)) for incidents in found)
