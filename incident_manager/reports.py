"""Users' reports: what is known of the same dataset and category joins its incident, and its owner hears of each."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from alerting.channels import is_reachable
from alerting.inhibition.sizes import broken_columns
from alerting.models import Notice, Standing
from alerting.notices.policy import Event
from alerting.notices.services import addresses
from alerting.services import tell
from alerting.state import LOG, State
from assay.catalog.edges import Columns, columns_reached
from assay.catalog.selectors import lineage_above
from assay.config import config
from assay.models import Dataset, DataTest, Scope, Severity
from assay.queue.claims import finish
from assay.time.windows import Window, partition_name
from execution_engine.language.serialise import from_json
from execution_engine.models import RunReason
from execution_engine.services import request_run
from incident_manager.incidents.services import note, resolve

from .intervals import Intervals, clip, overlap, subtract, union
from .models import EntryKind, Episode, Incident, Report, ReportState, Resolution, Saw, SpoiltWindow

UNSETTLED = (ReportState.OPEN, ReportState.CONFIRMED)
MOST = 5  # troubles that a reporter is shown
TEAM_HEARS_AFTER = timedelta(days=7)
WITHDRAWN_AFTER = timedelta(days=30)
LOOKED_AT_EVERY = timedelta(minutes=15)  # until the offered test holds
NOT_OF = "Incident {} cannot be what is reported of {}: take an open one of this dataset or of what feeds it."
SUBJECTS = {"new": "is it bad?", "known": "it is known", "team": "nobody has answered"}  # else what was decided


# What is known of reports: which wait for whom, and which trouble a new one may be about.


def split(report: Window, unhealed: Sequence[tuple[int, Window]]) -> tuple[dict[int, Intervals], Intervals]:
    """The parts of a report that incidents cover, by incident, and the rest that nobody knew of.

    Unhealed spoilt windows are given as (incident id, window); incidents may share a part.
    """
    by_incident = defaultdict[int, list[Window]](list)
    for incident_id, window in unhealed:
        if window.overlaps(report):
            by_incident[incident_id].append(window)
    covered = {incident_id: clip(windows, report) for incident_id, windows in sorted(by_incident.items())}
    return covered, subtract([report], [window for windows in covered.values() for window in windows])


def unhealed_windows(dataset: Dataset, window: Window, datacenter: str, category: str) -> list[tuple[int, Window]]:
    """The unhealed spoilt windows that tests found of the dataset in the category, with their incidents.

    What one copy lacks says nothing of the others, so of a report of all copies only where there is one.
    """
    copies = list(dataset.replicas.values_list("datacenter", flat=True))
    place = copies[0] if not datacenter and len(copies) == 1 else datacenter
    rows = _detected_windows({dataset.pk}, window).filter(datacenter__in=("", place), incident__category=category)
    return [(row.incident_id, row.window) for row in rows]


def _detected_windows(datasets: Collection[int], window: Window) -> QuerySet[SpoiltWindow]:
    return SpoiltWindow.objects.filter(
        dataset__in=datasets,
        incident__kind=EntryKind.DETECTED,
        healed_at__isnull=True,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )


def can_be_of(dataset: Dataset, incident: Incident) -> bool:
    """Whether a report of the dataset can be about an incident: an open one of itself, or found in what feeds it."""
    if incident.resolved_at is not None:
        return False
    return dataset.pk in datasets_reached(incident, lineage_above(dataset.pk))


def datasets_reached(incident: Incident, lineage: Mapping[int, Mapping[int, Columns]]) -> Collection[int]:
    """The datasets of a lineage in which what is wrong may show, by id: they read what is broken, however far below."""
    if incident.kind == EntryKind.REPORTED:
        return {incident.dataset_id}
    tests = DataTest.objects.filter(
        spoilt_windows__incident=incident, spoilt_windows__healed_at__isnull=True, revision__isnull=False
    )
    trees = [from_json(tree) for tree in tests.values_list("revision__tree", flat=True)]
    return columns_reached(incident.dataset_id, broken_columns(incident.category, trees), lineage)


@dataclass(frozen=True, kw_only=True)
class LikelyTrouble:
    """An open incident that a new report may be about; ``recipient_count``: how many people a message reached."""

    incident: Incident
    told: int
    reporter: str = ""  # who reported it; empty: a test found it
    same: bool = True  # joined by itself: of the same fault by its windows and category


def likely_troubles(
    dataset: Dataset, window: Window, *, datacenter: str, saw: str, hidden: Collection[int] = ()
) -> list[LikelyTrouble]:
    """What is known of these windows already; not of ``hidden`` datasets.

    First what a report would join by itself, then what else is wrong with the dataset, then what is with its upstreams,
    as far as it reads what is broken there.
    """
    category = Saw(saw).category
    incident_ids = {id_ for id_, _ in unhealed_windows(dataset, window, datacenter, category)}
    lineage = lineage_above(dataset.pk)
    detected = _detected_windows(lineage.keys(), window)
    if datacenter:
        detected = detected.filter(datacenter__in=("", datacenter))
    claims = Report.objects.filter(
        dataset=dataset,
        state__in=UNSETTLED,
        incident__spoilt_windows__healed_at__isnull=True,
        incident__spoilt_windows__window_start__lt=window.end,
        incident__spoilt_windows__window_end__gt=window.start,
    )
    claimed = {row.incident_id: row for row in claims.distinct() if row.incident_id}
    rows = Incident.objects.filter(pk__in={*incident_ids, *claimed, *detected.values_list("incident", flat=True)})
    sent = Notice.objects.filter(suppressed="").exclude(channel=LOG)
    troubles = []
    for incident in rows.exclude(dataset__in=hidden).select_related("dataset", "alert").order_by("-detected_at"):
        if dataset.pk not in datasets_reached(incident, lineage):
            continue
        same, notices = (
            incident.pk in incident_ids,
            sent.filter(alert=incident.alert) if incident.alert else sent.none(),
        )
        if (claim := claimed.get(incident.pk)) is not None:
            same = incident.category == category and claim.datacenter in ("", datacenter)
            notices = sent.filter(key__startswith=f"report:{claim.pk}:")
        recipient_count = notices.values("recipient").distinct().count()
        reporter = claim.reporter if claim else ""
        troubles.append(LikelyTrouble(incident=incident, told=recipient_count, reporter=reporter, same=same))
    return sorted(troubles, key=lambda trouble: (not trouble.same, trouble.incident.dataset_id != dataset.pk))[:MOST]


def waiting_for(name: str, teams: Collection[str]) -> QuerySet[Report]:
    """The reports that nobody has decided of, of datasets that are somebody's own or of one of their teams."""
    own = Q(dataset__owner=name) | Q(dataset__team__in=[team for team in teams if team])
    return Report.objects.filter(own, state=ReportState.OPEN)


def open_incidents_for(reports: Sequence[Report]) -> dict[int, list[Incident]]:
    """The open incidents that each open report may be joined to, by its id.

    Those of its own dataset, and those of its upstreams that have a bad window in common with it and are broken in what
    it reads.
    """
    waiting = [row for row in reports if row.state == ReportState.OPEN]
    if not waiting:
        return {}
    lineage = lineage_above(*{row.dataset_id for row in waiting})
    datasets = lineage.keys()
    bad = SpoiltWindow.objects.filter(
        dataset__in=datasets,
        healed_at__isnull=True,
        window_start__lt=max(row.window_end for row in waiting),
        window_end__gt=min(row.window_start for row in waiting),
    )
    windows = defaultdict[int, list[Window]](list)
    for spoilt in bad.only("incident", "window_start", "window_end"):
        windows[spoilt.incident_id].append(spoilt.window)
    incidents = Incident.objects.filter(dataset__in=datasets, resolved_at=None).select_related("dataset")

    open_incidents = list(incidents.order_by("-detected_at"))
    reached = {incident.pk: datasets_reached(incident, lineage) for incident in open_incidents}

    def may_join(row: Report, incident: Incident) -> bool:
        if incident.pk == row.incident_id or row.dataset_id not in reached[incident.pk]:
            return False
        if incident.dataset_id == row.dataset_id:
            return True
        return any(window.overlaps(row.window) for window in windows[incident.pk])

    return {row.pk: [incident for incident in open_incidents if may_join(row, incident)] for row in waiting}


# What is done with a report: it is taken, decided, joined, and its owner is reminded of it.


class UnableToDecideReport(ValueError):
    """A report that this cannot be done to any more."""


@transaction.atomic
def report(
    *,
    dataset: Dataset,
    window: Window,
    reporter: str,
    description: str,
    now: datetime,
    datacenter: str = "",
    saw: str = Saw.SOMETHING_ELSE,
    of: Incident | None = None,
) -> Report:
    """The report: its known part joined to incidents, the rest a reported incident; its owner hears of all of it.

    ``of`` is the open incident that its reporter says it is; raises UnableToDecide where it cannot be.
    """
    if of is not None and not can_be_of(dataset, of):
        raise UnableToDecideReport(NOT_OF.format(of.pk, dataset.full_name))
    Dataset.objects.select_for_update().get(pk=dataset.pk)  # of two reports at once the second must see the first
    row = Report.objects.create(
        dataset=dataset,
        datacenter=datacenter,
        reporter=reporter,
        description=description,
        saw=saw,
        window_start=window.start,
        window_end=window.end,
        created_at=now,
    )
    covered, unknown = split(window, unhealed_windows(dataset, window, datacenter, Saw(saw).category))
    row.joined.set(covered)
    if of is not None:  # whatever its category
        is_open = Report.objects.filter(incident=of, state=ReportState.OPEN).exists()
        unknown = _join(row, of, subtract(unknown, _unhealed(of)), row if is_open else None, now)
    unheard = _join_claims(row, unknown, now)
    for incident in row.joined.all():
        note(incident, "report joined", now=now, actor=reporter, text=f"{row.saw}: {description}")
    if unheard:
        row.incident = _open_reported(row, unheard, now)
        row.next_step_at = now + TEAM_HEARS_AFTER
    else:
        row.state, row.closed_at = ReportState.JOINED, now
    row.save()
    joined = list(row.joined.order_by("pk"))
    hear = dict.fromkeys([dataset.owner, *(incident.owner for incident in joined)])
    if row.incident is not None:  # a part of it is new
        _tell(row, [dataset.owner], _question(row), "new", now)
        del hear[dataset.owner]
    _tell(row, hear, f"It was added to {_named(joined)}. Nothing is asked of you.", "known", now)
    return row


def _question(row: Report) -> str:
    lines = ["Please confirm, reject or fix it."]
    if likely := _likely_incidents(row):
        offered = [f"- incident {incident.pk}: {_label(incident)}" for incident in likely]
        lines = ["If it is one of these open incidents, join it there:", *offered, "", *lines]
    return "\n".join([f"All reports: {config().public_url}/reports", *lines])


def _likely_incidents(row: Report, hidden: Collection[int] = ()) -> list[Incident]:
    """The open incidents that the report may be about, and has not joined."""
    joined_ids = {row.incident_id, *row.joined.values_list("pk", flat=True)}
    troubles = likely_troubles(row.dataset, row.window, datacenter=row.datacenter, saw=row.saw, hidden=hidden)
    return [trouble.incident for trouble in troubles if trouble.incident.pk not in joined_ids]


def _label(incident: Incident) -> str:
    return f"{incident.category} of {incident.dataset.full_name}"


def _named(incidents: Iterable[Incident]) -> str:
    return " and ".join(f"incident {incident.pk}{_finder(incident)}" for incident in incidents)


def _join(row: Report, incident: Incident, added: Intervals, claim: Report | None, now: datetime) -> Intervals:
    """Join an incident that does not cover the windows ``added`` yet; what is left of them is news to the owner.

    An incident that waits for the owner's word grows by them, in the words of ``claim``; another does not.
    """
    row.joined.add(incident)
    if claim is None:
        return added
    _claim(claim, incident, added, now)
    return ()


def _unhealed(incident: Incident) -> Intervals:
    return union([spoilt.window for spoilt in incident.spoilt_windows.filter(healed_at__isnull=True)])


def _join_claims(row: Report, unknown: Intervals, now: datetime) -> Intervals:
    """Join earlier reports of the same data in the same category that are not settled; what is left is news."""
    earlier = Report.objects.filter(
        dataset=row.dataset,
        datacenter__in=("", row.datacenter),
        incident__category=Saw(row.saw).category,
        state__in=UNSETTLED,
    )
    for claim in earlier.select_related("incident", "dataset"):
        assert claim.incident is not None
        covered = _unhealed(claim.incident)
        if any(overlap(unknown, window) for window in covered):
            waits = claim.state == ReportState.OPEN
            unknown = _join(row, claim.incident, subtract(unknown, covered), claim if waits else None, now)
    return unknown


def reply(row: Report, hidden: Collection[int] = ()) -> str:
    """What its reporter is told at once: who hears of it, and what is known; nothing of ``hidden`` datasets."""
    incident_names, owner = _named(row.joined.order_by("pk")), row.dataset.owner
    hears = f"{owner} is told now."
    if not is_reachable(owner, row.dataset):
        hears = f"No channel but the log reaches {owner}: tell them yourself."
    if row.incident_id is None:
        return f"This is known already as {incident_names}; your report was added to it. {hears}"
    new = f"It is incident {row.incident_id} now. {hears}"
    if incident_names:
        return f"A part of this is known already as {incident_names}. For the rest: {new}"
    likely = [f"{incident.pk} ({_label(incident)})" for incident in _likely_incidents(row, hidden)]
    return f"{new} It may be one of these open incidents: {', '.join(likely)}." if likely else new


def _finder(incident: Incident) -> str:
    if incident.kind == EntryKind.DETECTED:
        return ", which a test found"
    return f", which {incident.report.reporter} reported"


def _open_reported(row: Report, windows: Iterable[Window], now: datetime) -> Incident:
    dataset = row.dataset
    incident = Incident.objects.create(
        dataset=dataset,
        category=Saw(row.saw).category,
        kind=EntryKind.REPORTED,
        open_key=f"report:{row.pk}",
        tier=dataset.tier,
        owner=dataset.owner,
        team=dataset.team,
        detected_at=now,
    )
    Episode.objects.create(incident=incident, opened_at=now)
    _claim(row, incident, windows, now)
    note(incident, "reported", now=now, actor=row.reporter, text=f"{row.saw}: {row.description}")
    return incident


def _claim(
    row: Report, incident: Incident, windows: Iterable[Window], now: datetime, severity: Severity = Severity.SOFT
) -> None:
    """Note windows as bad by a user's word, which is hard once the owner has confirmed it."""
    for window in windows:
        SpoiltWindow.objects.create(
            incident=incident,
            dataset=row.dataset,
            datacenter=row.datacenter,
            severity=severity,
            window_start=window.start,
            window_end=window.end,
            spoilt_at=now,
        )


@transaction.atomic
def confirm_report(row: Report, *, author: str, now: datetime, offered: DataTest | None = None) -> Report:
    """The report, confirmed: it blocks as hard. Once ``offered``, the missing test, holds, it is fixed."""
    locked = _demand(row, ReportState.OPEN)
    SpoiltWindow.objects.filter(incident=locked.incident).update(severity=Severity.HARD)
    _decide(locked, ReportState.CONFIRMED, author, now)
    if offered is not None:
        offer(locked, offered, now=now)
    return locked


def offer(row: Report, test: DataTest, *, now: datetime) -> None:
    """Name the test that was missing, and run it over what the report claims."""
    row.offered, row.next_step_at = test, now + LOOKED_AT_EVERY
    row.save(update_fields=["offered", "next_step_at"])
    partitioning = row.dataset.partitioning
    if partitioning is None or test.scope != Scope.PARTITION:
        return
    parts = ((partitioning.at(claimed.start).start, claimed.end) for claimed in _claimed(row))
    for window in (window for start, end in parts for window in partitioning.between(start, end)):
        request_run(data_test=test, window=window, reason=RunReason.MANUAL, occasion=f"report:{row.pk}", now=now)


@transaction.atomic
def reject_report(row: Report, *, author: str, now: datetime, reason: str = "") -> Report:
    """The report, found wrong by the owner."""
    locked = _demand(row, ReportState.OPEN, ReportState.CONFIRMED)
    _decide(locked, ReportState.REJECTED, author, now)
    _close(locked, Resolution.REJECTED, author, now, reason)
    return locked


@transaction.atomic
def fix_report(row: Report, *, author: str, now: datetime) -> Report:
    """The report, with its data repaired."""
    locked = _demand(row, ReportState.OPEN, ReportState.CONFIRMED)
    _decide(locked, ReportState.FIXED, author, now)
    _close(locked, Resolution.FIXED, author, now)
    return locked


@transaction.atomic
def join_report(row: Report, incident: Incident, *, author: str, now: datetime) -> Report:
    """The report, joined by hand to an open incident of the same fault, whose fate it shares.

    What a test has found already is known by that incident; what it has not stays a claim that waits for the owner. To
    another report all of the claim goes over, and blocks at once where that one is confirmed. Raises UnableToDecide.
    """
    locked = _demand(row, ReportState.OPEN)
    own = locked.incident
    if own is None or own == incident or not can_be_of(locked.dataset, incident):
        raise UnableToDecideReport(NOT_OF.format(incident.pk, locked.dataset.full_name))
    claimed = _unhealed(own)
    left = subtract(claimed, _unhealed(incident))
    other = Report.objects.filter(incident=incident).first()
    if other is None and left == claimed:
        raise UnableToDecideReport(f"Incident {incident.pk} has no bad window in common with report {row.pk}.")
    own.spoilt_windows.filter(healed_at__isnull=True).update(healed_at=now, how=Resolution.WITHDRAWN)
    if other is not None:
        is_open = other.state == ReportState.OPEN
        _claim(locked, incident, left, now, severity=Severity.SOFT if is_open else Severity.HARD)
        left = ()
    _claim(locked, own, left, now)
    reporters = [locked, *own.joined_reports.all()]
    for earlier_report in reporters:
        earlier_report.joined.add(incident)
    note(incident, "report joined", now=now, actor=author, text=f"{locked.saw}: {locked.description}")
    text = f"{author} says: it is known as incident {incident.pk}{_finder(incident)}."
    _tell(locked, dict.fromkeys(earlier_report.reporter for earlier_report in reporters), text, "joined", now)
    if not left:
        locked.state, locked.decided_at, locked.decided_by = ReportState.JOINED, now, author
        locked.next_step_at = None
        locked.save(update_fields=["state", "decided_at", "decided_by", "next_step_at"])
        _close(locked, Resolution.WITHDRAWN, author, now, f"joined incident {incident.pk}")
        locked.closed_at = now
    return locked


def remind_report(row: Report, now: datetime) -> None:
    """After a week without a decision the team hears; after thirty days the report is withdrawn.

    A confirmed one is fixed once its missing test holds on all that it claims.
    """
    if row.state == ReportState.CONFIRMED and row.offered_id is not None:
        claimed = _claimed(row)
        passed = Standing.objects.filter(data_test=row.offered_id, state=State.PASS.value)
        passed = passed.filter(window_start__lt=claimed[-1].end, window_end__gt=claimed[0].start)
        if subtract(claimed, [standing.window for standing in passed]):
            return finish(row, next_step_at=now + LOOKED_AT_EVERY)
        fix_report(row, author="assay", now=now)
        finish(row, next_step_at=None)
    elif row.state != ReportState.OPEN:
        finish(row, next_step_at=None)
    elif now >= row.created_at + WITHDRAWN_AFTER:
        row.state = ReportState.WITHDRAWN
        _close(row, Resolution.WITHDRAWN, "assay", now, "nobody confirmed it")
        finish(row, state=ReportState.WITHDRAWN, closed_at=now, next_step_at=None)
    else:
        _tell(row, [row.dataset.team or row.dataset.owner], "Nobody has answered this report for a week.", "team", now)
        finish(row, next_step_at=row.created_at + WITHDRAWN_AFTER)


def _claimed(row: Report) -> Intervals:
    """What a report claims, with what those that joined it have added."""
    spoilt = SpoiltWindow.objects.filter(incident=row.incident_id) if row.incident_id else ()
    return union([row.window, *(window.window for window in spoilt)])


def _demand(row: Report, *states: ReportState) -> Report:
    locked = Report.objects.select_for_update().get(pk=row.pk)
    if locked.state not in states:
        raise UnableToDecideReport(f"Report {row.pk} is {locked.state}: this needs one that is {' or '.join(states)}.")
    return locked


def _decide(row: Report, state: ReportState, author: str, now: datetime) -> None:
    row.state, row.decided_at, row.decided_by, row.next_step_at = state, now, author, None
    row.save(update_fields=["state", "decided_at", "decided_by", "next_step_at"])
    joined = row.incident.joined_reports.values_list("reporter", flat=True) if row.incident else ()
    _tell(row, dict.fromkeys([row.reporter, *joined]), f"{author} says: {state.label.lower()}.", state.value, now)
    if row.incident is not None:
        note(row.incident, state.value, now=now, actor=author)


def _close(row: Report, how: Resolution, author: str, now: datetime, text: str = "") -> None:
    Report.objects.filter(pk=row.pk).update(closed_at=now)
    if row.incident is not None:
        SpoiltWindow.objects.filter(incident=row.incident, healed_at__isnull=True).update(healed_at=now, how=how)
        resolve(row.incident, how, now=now, actor=author, text=text)


def _tell(row: Report, recipients: Iterable[str], what: str, step: str, now: datetime) -> None:
    subject = f"Report {row.pk} on {row.dataset.full_name}: {SUBJECTS.get(step, step)}"
    when = partition_name(row.window, row.dataset.partitioning)
    body = f"{row.reporter} reports about {row.dataset.full_name}, {when}:\n\n{row.description}\n\n{what}\n"
    facts = {"report": row.pk, "dataset": row.dataset.full_name, "window": row.window.text, "state": row.state}
    places: set[object] = set()
    for recipient in recipients:
        dataset = row.dataset if recipient == row.dataset.owner else None
        reached = addresses(recipient, dataset=dataset, event=Event.REPORTED)
        at = [address for address in reached if address.where not in places]
        places.update(address.where for address in at)
        tell(
            event=Event.REPORTED,
            recipient=recipient,
            subject=subject,
            body=body,
            facts=facts,
            key=f"report:{row.pk}:{step}",
            at=at,
            now=now,
        )
