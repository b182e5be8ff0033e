"""Incidents: one open per dataset and category, opened by a FAIL, resolved when nothing of it is spoilt any more."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import structlog
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from alerting.models import Alert, Flip, Standing
from alerting.services import close_alert, open_alert, release_after, search_worst, wake
from alerting.state import State, WaiverKind
from alerting.verdicts.evidence import of_the_past, spoilt_place, verdict
from assay.catalog.selectors import home
from assay.database.statements import rows_of
from assay.models import Category, DataTest, Scope, Severity
from assay.queue.claims import finish
from assay.time.windows import Window
from execution_engine.freshness.rules import share_asked
from execution_engine.language.serialise import from_json
from execution_engine.models import RunReason
from execution_engine.selectors import period
from execution_engine.services import exclude_window, include_windows, request_run
from incident_manager.models import Entry, EntryKind, Episode, Incident, Resolution, SpoiltWindow

from .lifecycle import ENDED, How, healing, reopens, resolution

# An incident's timeline.

log = structlog.get_logger(__name__)

ASSAY = "assay"


def note(incident: Incident, event: str, *, now: datetime, actor: str = ASSAY, text: str = "") -> None:
    """Add one line to the timeline."""
    Entry.objects.create(incident=incident, at=now, actor=actor, event=event, text=text)
    log.info("incident", incident=incident.pk, entry=event, actor=actor)


class UnableToResolve(ValueError):
    """An incident that cannot be ended this way."""


class HasEnded(UnableToResolve):
    """Nothing can be done to an incident that has ended."""


class WrongEnd(UnableToResolve):
    """The end that a user wants of a waiver cannot be."""


def incident_for(test: DataTest, *, failed_at: datetime, now: datetime, is_past: bool = False) -> Incident:
    """The open incident that a FAIL belongs to: joined, re-opened or new.

    What ``is_past`` re-opens nothing that was current, nor the other way round. A current FAIL that joins an incident
    of the past makes it current.
    """
    key = f"{test.dataset_id}:{test.category}"
    if (joined := _open(key)) is not None:
        if joined.is_past and not is_past:
            make_current(joined, failed_at, now)
        if joined.alert is not None and test.revision is not None:
            wake(joined.alert, now, hard=test.revision.severity == Severity.HARD)
        return joined
    ended = Incident.objects.filter(
        dataset=test.dataset_id,
        category=test.category,
        kind=EntryKind.DETECTED,
        is_past=is_past,
        resolved_at__isnull=False,
    )
    reopened = ended.order_by("-resolved_at", "-pk").first()
    if reopened is not None:
        assert reopened.resolved_at is not None
        how = ENDED[reopened.resolution]
        if not reopens(how, ended_at=reopened.resolved_at, failed_at=failed_at, period=period(test)):
            reopened = None
    try:
        with transaction.atomic():
            return _begin(test, key, reopened, is_past, failed_at, now)
    except IntegrityError:  # another worker was first
        raced = _open(key)
        if raced is None:
            raise
        return raced


def _open(key: str) -> Incident | None:
    return Incident.objects.select_for_update().filter(open_key=key).first()


def make_current(incident: Incident, failed_at: datetime, now: datetime) -> None:
    """Let an open incident of the past be one of today from ``failed_at`` on; scores count it from then."""
    incident.is_past, incident.detected_at = False, failed_at
    incident.save(update_fields=["is_past", "detected_at"])
    Episode.objects.filter(incident=incident, closed_at__isnull=True).update(opened_at=failed_at)
    note(incident, "current", now=now, text="a window that is not of the past fails too")


def _begin(
    test: DataTest, key: str, reopened: Incident | None, is_past: bool, failed_at: datetime, now: datetime
) -> Incident:
    dataset = test.dataset
    if reopened is not None:
        incident = reopened
        incident.open_key, incident.resolved_at, incident.resolution = key, None, ""
    else:
        incident = Incident(
            dataset=dataset,
            category=test.category,
            open_key=key,
            is_past=is_past,
            tier=dataset.tier,
            owner=dataset.owner,
            team=dataset.team,
            detected_at=failed_at,
        )
    incident.alert = open_alert(dataset=dataset, category=test.category, owner=dataset.owner, now=now)
    incident.save()
    Episode.objects.create(incident=incident, opened_at=failed_at)
    text = f"{test.name} fails{', found by a back-fill of the past' if is_past else ''}"
    note(incident, "reopened" if reopened else "opened", now=now, text=text)
    return incident


def resolve_healed(incident: Incident, now: datetime, *, actor: str = ASSAY, text: str = "") -> bool:
    """Resolve an incident once none of its windows is spoilt; whether it is."""
    Incident.objects.select_for_update().get(pk=incident.pk)  # two that heal its last windows at once must not miss it
    windows = SpoiltWindow.objects.filter(incident=incident).values_list("healed_at", "how")
    how = resolution([How(how) if healed_at else None for healed_at, how in windows])
    if how is not None:
        resolve(incident, Resolution(how.value), now=now, actor=actor, text=text)
    return how is not None


def resolve(incident: Incident, how: Resolution, *, now: datetime, actor: str = ASSAY, text: str = "") -> None:
    """End an incident: its episode and alert too, and what its alert kept silent is looked at again."""
    ended = Incident.objects.filter(pk=incident.pk, resolved_at__isnull=True)
    if not ended.update(resolved_at=now, resolution=how, open_key=None):
        return
    incident.refresh_from_db()
    Episode.objects.filter(incident=incident, closed_at__isnull=True).update(closed_at=now)
    note(incident, "resolved", now=now, actor=actor, text=f"{how.word}: {text}" if text else how.word)
    if incident.alert is not None:
        close_alert(incident.alert, how=how, now=now)
        for effect in Alert.objects.filter(cause=incident.alert, closed_at__isnull=True, inhibited_at__isnull=False):
            release_after(effect, now)
            rerun_effect(effect, incident, now)


def rerun_effect(effect: Alert, cause: Incident, now: datetime) -> None:
    """Run what an ended cause explained again: only a result from now on can say whether it is still broken."""
    spoilt = SpoiltWindow.objects.filter(incident__alert=effect, healed_at__isnull=True, data_test__isnull=False)
    for window in spoilt.select_related("data_test__dataset", "data_test__revision", "incident"):
        assert window.data_test is not None
        occasion = f"resolved:{cause.pk}:{now.isoformat()}"
        request_run(
            data_test=window.data_test, window=window.window, reason=RunReason.TRIGGER, occasion=occasion, now=now
        )
    for incident in Incident.objects.filter(alert=effect):
        note(incident, "cause resolved", now=now, text=f"incident {cause.pk} has ended")


def demand_open(incident: Incident) -> Incident:
    """The incident, locked; raises HasEnded."""
    locked = Incident.objects.select_for_update().get(pk=incident.pk)
    if locked.resolved_at is not None:
        raise HasEnded(f"Incident {incident.pk} has ended at {locked.resolved_at:%Y-%m-%d %H:%M} UTC already.")
    return locked


# Spoilt windows: spoilt by a FAIL, healed when their own test holds, or as a user or a new revision says.

AT_ONCE = 400  # windows that one statement writes
MOST_NOTED = 50  # windows that are healed together, with a line each in the timeline


def spoilt_of(test: DataTest, window: Window | None) -> QuerySet[SpoiltWindow]:
    """The unhealed windows of a test: the one asked for, or all (a whole table has one, which moves)."""
    rows = SpoiltWindow.objects.filter(data_test=test, healed_at__isnull=True).select_related("incident", "dataset")
    if window is None or test.scope == Scope.TABLE:
        return rows
    return rows.filter(window_start=window.start, window_end=window.end)


def spoil(flip: Flip, standing: Standing, now: datetime) -> None:
    """Write that a window is spoilt, in the incident that its FAIL opens or joins."""
    test = standing.data_test
    if spoilt_of(test, flip.window).exists():
        return
    incident = incident_for(test, failed_at=flip.at, now=now, is_past=bool(of_the_past([standing])))
    spoilt = SpoiltWindow.objects.create(
        incident=incident,
        dataset=test.dataset,
        data_test=test,
        datacenter=spoilt_place(test, home(test.dataset).datacenter),
        severity=standing.revision.severity,
        whole_table=test.scope == Scope.TABLE,
        partitions=worst_partitions(standing),
        window_start=flip.window_start,
        window_end=flip.window_end,
        spoilt_at=flip.at,
    )
    note(incident, "spoilt", now=now, text=f"{test.name} {spoilt.window.text}: {standing.sentence}")
    if incident.alert is not None:
        search_worst(incident.alert, now)
    if test.scope == Scope.PARTITION:
        # what history operands leave out while the window is spoilt
        exclude_window(
            dataset=spoilt.dataset,
            datacenter=spoilt.datacenter,
            window=spoilt.window,
            holder=_holder(spoilt),
            test=test,
        )


def move(standing: Standing) -> None:
    """Let the spoilt window of a whole table follow its newest run."""
    rows = SpoiltWindow.objects.filter(data_test=standing.data_test_id, healed_at__isnull=True)
    rows.update(
        window_start=standing.window_start, window_end=standing.window_end, partitions=worst_partitions(standing)
    )


def worst_partitions(standing: Standing) -> list[list[str]]:
    """The ranges that a whole-table test names as the worst, if its metric allows."""
    partitions = standing.last_run.findings.get("partitions") if standing.last_run else None
    return list(partitions) if isinstance(partitions, list) else []


def heal_by_standing(flip: Flip, standing: Standing, now: datetime) -> None:
    """Heal what the standing says is right again."""
    spoilt = list(spoilt_of(standing.data_test, flip.window))
    if not spoilt:
        return
    judged = verdict(standing, standing.data_test, now)
    for window in spoilt:
        # the revision that found the window spoilt
        flips = standing.flips.filter(new=State.FAIL.value, at=window.spoilt_at).select_related("revision")
        first = flips.order_by("pk").first()
        by = first.revision if first else standing.revision
        renewed = by.pk != standing.revision_id
        # freshness, which a new revision has looked at anew, is found complete as the old one asked for
        repaired = renewed and standing.data_test.category == Category.FRESHNESS and judged.value == 0
        repaired = repaired and share_asked(from_json(standing.revision.tree)) >= share_asked(from_json(by.tree))
        how = healing(judged, new_revision=renewed, repaired=repaired)
        if how is not None:
            heal([window], Resolution(how.value), now=now)


def heal(
    windows: Iterable[SpoiltWindow], how: Resolution, *, now: datetime, actor: str = "assay", noted: bool = True
) -> None:
    """Write that windows are healed, in timelines too if ``noted``, and resolve the incidents that have none left."""
    spoilt_windows = list(windows)
    for batch in (spoilt_windows[start : start + AT_ONCE] for start in range(0, len(spoilt_windows), AT_ONCE)):
        keys = [window.pk for window in batch]
        SpoiltWindow.objects.filter(pk__in=keys, healed_at__isnull=True).update(healed_at=now, how=how)
        for dataset in {window.dataset for window in batch}:
            include_windows(dataset=dataset, holders=[_holder(window) for window in batch if window.dataset == dataset])
    for incident, own in by_incident(spoilt_windows):
        if noted:  # a line for each window; of many for the first ones, and one that counts the others
            for window in own[:MOST_NOTED]:
                note(incident, "healed", now=now, actor=actor, text=f"{window.window.text}: {how.word}")
            if (more := len(own) - MOST_NOTED) > 0:
                note(incident, "healed", now=now, actor=actor, text=f"{more} more windows: {how.word}")
        if not resolve_healed(incident, now, actor=actor) and incident.alert is not None:
            search_worst(incident.alert, now)  # the worst may have been among them


def by_incident(windows: Iterable[SpoiltWindow]) -> Iterable[tuple[Incident, list[SpoiltWindow]]]:
    """Windows as those of each incident."""
    windows_by_incident: dict[int, list[SpoiltWindow]] = defaultdict(list)
    for window in windows:
        windows_by_incident[window.incident_id].append(window)
    return [(own[0].incident, own) for own in windows_by_incident.values()]


def _holder(window: SpoiltWindow) -> str:
    return f"spoilt:{window.pk}"


# Handle the flips of standings: what each does to incidents and their spoilt windows.

WAIVED_HOW = {WaiverKind.FORCED.value: Resolution.FORCED, WaiverKind.ACCEPTED.value: Resolution.ACCEPTED}
RELATED = ("data_test__dataset", "data_test__revision", "revision", "waiver", "last_run")


def handle_flip(flip: Flip, now: datetime) -> None:
    """Carry out one flip, after those of the same standing that came before it."""
    list(Standing.objects.select_for_update().filter(pk=flip.standing_id).values_list("pk"))
    (standing,) = rows_of(Standing, [flip.standing_id], related=RELATED)
    earlier = Flip.objects.filter(standing=standing, handled_at__isnull=True, pk__lt=flip.pk).order_by("pk")
    for due_flip in (*earlier, flip):
        carry_out(due_flip, standing, now)
    earlier.update(handled_at=now, epoch=F("epoch") + 1)
    finish(flip, handled_at=now)


def carry_out(flip: Flip, standing: Standing, now: datetime) -> None:
    """What one flip does; done twice it does the same."""
    if standing.data_test.retired_at is not None:
        return
    if flip.waived:
        if standing.waiver is not None:
            heal(spoilt_of(standing.data_test, flip.window), WAIVED_HOW[standing.waiver.kind], now=now)
    elif flip.new == State.UNTESTED:
        heal(spoilt_of(standing.data_test, flip.window), Resolution.WITHDRAWN, now=now)
    elif flip.new == State.FAIL:
        spoil(flip, standing, now)
    else:
        heal_by_standing(flip, standing, now)
    if standing.data_test.scope == Scope.TABLE:
        move(standing)
