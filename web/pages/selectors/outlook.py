"""What an incident means for others, and what happens next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from assay.models import Dataset, LineageEdge
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from incident_manager.models import EntryKind, Incident

from .incident import SpoiltShown

MOST_NAMES = 5


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How many of the runs that somebody asked for last have been judged."""

    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class EndedRerun:
    """What came of the runs that somebody asked for last, which are all judged."""

    author: str
    at: datetime
    held: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Who reads the data, and what comes next: a test at an instant, runs on their way, or a person's word."""

    readers: Sequence[str]
    more_readers: int
    next_at: datetime | None
    waits_for_owner: bool
    progress: Progress | None
    ended: EndedRerun | None = None

    @property
    def every(self) -> int:
        """After how many seconds the page looks again."""
        return 3 if self.progress else 20


def outlook(incident: Incident, windows: Sequence[SpoiltShown]) -> Outlook:
    """In five statements."""
    downstreams = LineageEdge.objects.filter(upstream=incident.dataset_id)
    names = list(
        Dataset.objects.filter(pk__in=downstreams.values("downstream"))
        .values_list("full_name", flat=True)
        .order_by("full_name")
    )
    bad = [spoilt for spoilt in windows if spoilt.row.healed_at is None]
    checks = [spoilt.standing.next_check_at for spoilt in bad if spoilt.standing and spoilt.standing.next_check_at]
    return Outlook(
        readers=names[:MOST_NAMES],
        more_readers=max(0, len(names) - MOST_NAMES),
        next_at=None if incident.resolved_at else min(checks, default=None),
        waits_for_owner=incident.kind == EntryKind.REPORTED and not incident.resolved_at,
        progress=(progress := None if incident.resolved_at else _progress(bad)),
        ended=None if progress else _ended(incident, windows),
    )


def _ended(incident: Incident, windows: Sequence[SpoiltShown]) -> EndedRerun | None:
    """The runs that were last asked for on this page, once all of them are judged."""
    asked = next((entry for entry in reversed(incident.timeline.all()) if entry.event == "rerun"), None)
    if asked is None:
        return None
    tests = {spoilt.row.data_test_id for spoilt in windows if spoilt.row.data_test_id}
    runs = Run.objects.filter(data_test__in=tests, reason=RunReason.MANUAL, requested_at=asked.at)
    found = list(runs.values_list("judged_at", "outcome"))
    judged = [at for at, _ in found if at is not None]
    if not found or len(judged) < len(found):
        return None
    held = sum(outcome == Outcome.HELD for _, outcome in found)
    return EndedRerun(author=asked.actor, at=max(judged), held=held, total=len(found))


def _progress(bad: Sequence[SpoiltShown]) -> Progress | None:
    """Of the runs that were asked for together last, while some are not judged."""
    asked = Run.objects.filter(
        data_test__in={spoilt.row.data_test_id for spoilt in bad if spoilt.row.data_test_id},
        window_start__in={spoilt.row.window_start for spoilt in bad},
        reason=RunReason.MANUAL,
    )
    last = asked.aggregate(last=Max("requested_at"))["last"]
    if last is None:
        return None
    judged = list(asked.filter(requested_at=last).values_list("judged_at", flat=True))
    done = sum(at is not None for at in judged)
    return Progress(done=done, total=len(judged)) if done < len(judged) else None
