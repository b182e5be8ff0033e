"""The gate: gather what is known of everything a pipeline is about to read, and have what is not known measured."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Prefetch

from alerting.models import Standing, WaiverKind
from alerting.selectors import spoilt_place
from alerting.standing import State
from assay.catalog.selectors import home, slas
from assay.config import config
from assay.models import Dataset, DataTest, Scope, Severity
from assay.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome, Reason
from execution_engine.schedules import PARTITION
from execution_engine.services import is_expired, request_run
from incident_manager.gate import Check, GateAnswer, Policy, Question, Reported, Spoilt, judge_gate
from incident_manager.models import SpoiltWindow
from incident_manager.pruning.rules import has_had_its_time
from incident_manager.selectors import unconfirmed, unhealed

log = structlog.get_logger(__name__)

AGAIN_AFTER_MINUTES = 5  # a gate that is asked over and over has an unjudged window measured this often
DATASETS_ONLY_INCIDENTS = "incident"


@transaction.atomic
def gate(
    *, datasets: Iterable[Dataset], window: Window, datacenter: str = "", pipeline: str = "", now: datetime
) -> GateAnswer:
    """May ``pipeline`` read the window of these datasets now? What has ended and was never judged is tested at once."""
    answer = judge_gate([question(dataset, window, datacenter, now) for dataset in datasets])
    log.info("gate", pipeline=pipeline, window=window.text, decision=answer.decision.value)
    return answer


def question(dataset: Dataset, window: Window, datacenter: str, now: datetime) -> Question:
    """What the gate needs to know of one dataset."""
    at_home = home(dataset).datacenter
    place = datacenter or at_home
    return Question(
        dataset=dataset.full_name,
        window=window,
        datacenter=place,
        policy=Policy(fail_closed=slas(dataset).fail_closed, only_incidents=dataset.gate_on == DATASETS_ONLY_INCIDENTS),
        checks=tuple(_checks(dataset, window, at_home, now)),
        spoilt=tuple(_spoilt(row) for row in unhealed(dataset, window, place)),
        reports=tuple(
            Reported(report_id=row.pk, window=row.window, confirmed=False, datacenter=row.datacenter or None)
            for row in unconfirmed(dataset, window, place)
        ),
    )


def _spoilt(row: SpoiltWindow) -> Spoilt:
    return Spoilt(
        incident_id=row.incident_id,
        category=row.incident.category,
        hard=row.severity == Severity.HARD,
        window=row.window,
        datacenter=row.datacenter or None,
        whole_table=row.whole_table,
    )


def _checks(dataset: Dataset, window: Window, at_home: str, now: datetime) -> Iterable[Check]:
    partitioning = dataset.partitioning
    windows: Sequence[Window] = ()
    if partitioning is not None:
        windows = partitioning.between(partitioning.at(window.start).start, window.end)
    standings = Standing.objects.filter(window_start__lt=window.end, window_end__gt=window.start)
    tests = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True, revision__isnull=False)
    related = tests.select_related("dataset", "revision").prefetch_related(
        Prefetch("standings", queryset=standings.select_related("waiver", "revision"), to_attr="asked")
    )
    for test in related.order_by("name"):
        rows: list[Standing] = test.asked
        if test.scope == Scope.PARTITION and test.revision and test.revision.schedule == PARTITION:
            rows = [row for row in rows if row.state != State.PENDING or row.last_outcome]
            known = {row.window: row.state for row in rows}
            for each in windows:
                if each not in known:
                    yield _unjudged(test, each, at_home, now)
                elif known[each] == State.PENDING:  # broken before it is due
                    _have_it_measured(test, each, now)
        yield from (_judged(test, row, at_home) for row in rows)


def _judged(test: DataTest, row: Standing, at_home: str) -> Check:
    waiver = row.waiver
    forced = waiver is not None and waiver.kind == WaiverKind.FORCED
    return Check(
        test=test.name,
        category=test.category,
        window=row.window,
        hard=row.revision.severity == Severity.HARD,
        state=State(row.state),
        outcome=Outcome(row.last_outcome) if row.last_outcome else None,
        datacenter=spoilt_place(test, at_home) or None,
        whole_table=test.scope == Scope.TABLE,
        waived=waiver.reason if waiver is not None and forced else None,
        accepted=waiver.reason if waiver is not None and not forced else None,
    )


def _unjudged(test: DataTest, window: Window, at_home: str, now: datetime) -> Check:
    """A window without a standing: one that nothing is known of any more, or not due yet and measured now."""
    assert test.revision is not None
    untested = window.end <= test.created_at or _is_forgotten(test, window, now)
    if not untested:
        _have_it_measured(test, window, now)
    return Check(
        test=test.name,
        category=test.category,
        window=window,
        hard=test.revision.severity == Severity.HARD,
        state=State.UNTESTED if untested else State.PENDING,
        datacenter=spoilt_place(test, at_home) or None,
        not_there_yet=not untested and _was_incomplete(test, window),
    )


def _is_forgotten(test: DataTest, window: Window, now: datetime) -> bool:
    """Whether its data is kept no more, or what was known of it: it was at rest then."""
    return is_expired(test.dataset, window, now) or has_had_its_time(window, now, run_days=config().run_retention)


def _have_it_measured(test: DataTest, window: Window, now: datetime) -> None:
    if window.end > now:
        return
    slot = now.replace(minute=now.minute - now.minute % AGAIN_AFTER_MINUTES, second=0, microsecond=0)
    occasion = f"gate:{slot:%Y%m%dT%H%M}"
    request_run(data_test=test, window=window, reason=RunReason.TRIGGER, occasion=occasion, now=now)


def _was_incomplete(test: DataTest, window: Window) -> bool:
    """Whether the newest look at the window, before it was due, found it incomplete."""
    runs = Run.objects.filter(
        data_test=test, window_start=window.start, window_end=window.end, evaluated_at__isnull=False
    )
    newest = runs.order_by("-evaluated_at", "-pk").first()
    return newest is not None and newest.error_reason == Reason.NOT_DUE
