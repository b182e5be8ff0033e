"""Spoilt windows: spoilt by a FAIL, healed when their own test holds, or as a user or a new revision says."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from alerting.models import Flip, Standing
from alerting.state import State
from alerting.verdicts.selectors import spoilt_place, verdict
from alerting.verdicts.sustain import Verdict
from assay.catalog.selectors import home
from assay.models import Category, DataTest, Revision, Scope
from assay.time.windows import Window
from execution_engine.freshness.rules import share_asked
from execution_engine.language.serialise import from_json
from execution_engine.services import exclude_window, include_windows
from incident_manager.models import Incident, Resolution, SpoiltWindow

from .lifecycle import healing
from .services import incident_for, resolve_healed
from .timeline import note

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
    incident = incident_for(test, failed_at=flip.at, now=now)
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
    found = standing.last_run.findings.get("partitions") if standing.last_run else None
    return list(found) if isinstance(found, list) else []


def heal_by_standing(flip: Flip, standing: Standing, now: datetime) -> None:
    """Heal what the standing says is right again."""
    spoilt = list(spoilt_of(standing.data_test, flip.window))
    if not spoilt:
        return
    said = verdict(standing, standing.data_test, now)
    for window in spoilt:
        # the revision that found the window spoilt
        flips = standing.flips.filter(new=State.FAIL.value, at=window.spoilt_at).select_related("revision")
        first = flips.order_by("pk").first()
        by = first.revision if first else standing.revision
        renewed = by.pk != standing.revision_id
        how = healing(said, new_revision=renewed, repaired=renewed and _is_repaired(said, by, standing))
        if how is not None:
            heal([window], Resolution(how.value), now=now)


def _is_repaired(said: Verdict, by: Revision, standing: Standing) -> bool:
    """Whether freshness, which a new revision has looked at anew, is found complete as the old one asked for."""
    if standing.data_test.category != Category.FRESHNESS or said.value != 0:
        return False
    return share_asked(from_json(standing.revision.tree)) >= share_asked(from_json(by.tree))


def heal(
    windows: Iterable[SpoiltWindow], how: Resolution, *, now: datetime, actor: str = "assay", noted: bool = True
) -> None:
    """Write that windows are healed, in timelines too if ``noted``, and resolve the incidents that have none left."""
    found = list(windows)
    for some in (found[start : start + AT_ONCE] for start in range(0, len(found), AT_ONCE)):
        keys = [window.pk for window in some]
        SpoiltWindow.objects.filter(pk__in=keys, healed_at__isnull=True).update(healed_at=now, how=how)
        for dataset in {window.dataset for window in some}:
            include_windows(dataset=dataset, holders=[_holder(window) for window in some if window.dataset == dataset])
    for incident, own in by_incident(found):
        if noted:
            _note_healed(incident, own, how, now=now, actor=actor)
        resolve_healed(incident, now, actor=actor)


def by_incident(windows: Iterable[SpoiltWindow]) -> Iterable[tuple[Incident, list[SpoiltWindow]]]:
    """Windows as those of each incident."""
    found: dict[int, list[SpoiltWindow]] = defaultdict(list)
    for window in windows:
        found[window.incident_id].append(window)
    return [(own[0].incident, own) for own in found.values()]


def _note_healed(
    incident: Incident, windows: list[SpoiltWindow], how: Resolution, *, now: datetime, actor: str
) -> None:
    """A line for each window; of many for the first ones, and one that counts the others."""
    said = how.said
    for window in windows[:MOST_NOTED]:
        note(incident, "healed", now=now, actor=actor, text=f"{window.window.text}: {said}")
    if (more := len(windows) - MOST_NOTED) > 0:
        note(incident, "healed", now=now, actor=actor, text=f"{more} more windows: {said}")


def _holder(window: SpoiltWindow) -> str:
    return f"spoilt:{window.pk}"
