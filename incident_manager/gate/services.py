"""The gate: say what a pipeline may read, and have measured what nobody has judged."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from alerting.notices.policy import Event
from alerting.services import tell
from alerting.state import State
from assay.catalog.selectors import home, slas
from assay.catalog.services import UnableToComplete, record_completion
from assay.edge.control_characters import name_fault
from assay.models import Binding, DataChange, Dataset, DataTest, Strength
from assay.time.windows import Partitioning, Window
from execution_engine.models import Run, RunReason
from execution_engine.services import request_runs
from incident_manager.incidents.services import note
from incident_manager.intervals import Intervals
from incident_manager.models import GateOverride, Incident
from incident_manager.quality.look_ups import ToRead, facts_of_ranges
from incident_manager.quality.rules import Facts, QualityAnswer, QualityStatus, ReasonKind, judge, worst

from .rules import (
    Because,
    GateAnswer,
    GateDecision,
    Override,
    Policy,
    UnableToOverride,
    bound,
    decide,
    demand_sound,
    gathered,
    overridden_all,
    usual,
)

# The gate's answer for JSON, as the API and the commands give it.


def as_json(answer: GateAnswer) -> dict[str, Any]:
    """The decision and all reasons, strictest first."""
    return {
        "decision": answer.decision.value,
        "status": answer.status.value,
        "reasons": [
            {
                "decision": reason.decision.value,
                "dataset": reason.dataset,
                "datacenter": reason.datacenter or None,
                "window": reason.window.text,
                "text": reason.text,
                "test": reason.test,
                "incident": reason.incident_id,
                "report": reason.report_id,
            }
            for reason in answer.reasons
        ],
    }


# Overrides of the gate: given, ended, and those that last.


@transaction.atomic
def override(
    *,
    dataset: Dataset,
    window: Window,
    reason: str,
    author: str,
    now: datetime,
    pipeline: str = "",
    ends_at: datetime | None = None,
) -> GateOverride:
    """From now on the gate only warns where it would block; raises UnableToOverride.

    Without a pipeline it is for all of them. The incidents of the window say so in their timelines, and the owner is
    told, unless the owner gave it.
    """
    until = ends_at or now + usual(dataset.tier)
    draft = Override(window=window, author=author, ends_at=until, reason=reason)
    demand_sound(draft, tier=dataset.tier, partitioning=dataset.partitioning, now=now)
    row = GateOverride.objects.create(
        dataset=dataset,
        pipeline=pipeline,
        window_start=window.start,
        window_end=window.end,
        starts_at=now,
        ends_at=until,
        author=author,
        reason=reason,
    )
    spoilt = Q(
        spoilt_windows__healed_at=None,
        spoilt_windows__window_start__lt=window.end,
        spoilt_windows__window_end__gt=window.start,
    )
    for incident in Incident.objects.filter(spoilt, dataset=dataset, resolved_at=None).distinct():
        note(incident, "gate overridden", now=now, actor=author, text=row.description)
    if dataset.owner != author:
        tell(
            event=Event.OVERRIDDEN,
            recipient=dataset.owner,
            dataset=dataset,
            subject=f"{dataset.full_name}: {author} lets pipelines read it although the gate blocks",
            body=f"{row.description}\n\nThe data stays bad for everybody who looks it up. "
            "The dataset's page can end this.\n",
            facts={"dataset": dataset.full_name, "window": window.text, "override": row.pk, "pipeline": pipeline},
            key=f"override:{row.pk}",
            now=now,
        )
    return row


@transaction.atomic
def end_override(row: GateOverride, *, now: datetime) -> GateOverride:
    """The override, ended now: the gate blocks again; raises UnableToOverride where it had ended."""
    locked = GateOverride.objects.select_for_update().get(pk=row.pk)
    if locked.ends_at <= now:
        text = f"Override {row.pk} already ended at {locked.ends_at:%Y-%m-%d %H:%M} UTC."
        raise UnableToOverride(text, field="ends_at")
    locked.ends_at = now
    locked.save(update_fields=["ends_at"])
    return locked


def lasting(dataset: Dataset, *, now: datetime) -> QuerySet[GateOverride]:
    """The overrides of a dataset that have not ended, the newest first."""
    return GateOverride.objects.filter(dataset=dataset, ends_at__gt=now).order_by("-pk")


def overrides_of(pipeline: str, datasets: Iterable[Dataset], *, now: datetime) -> Mapping[int, list[Override]]:
    """What lasts now for a pipeline, by the dataset's id, the oldest first."""
    rows = GateOverride.objects.filter(dataset__in={dataset.pk for dataset in datasets}, ends_at__gt=now)
    overrides: dict[int, list[Override]] = defaultdict(list)
    for row in rows.order_by("pk"):
        if row.pipeline in ("", pipeline):  # compared here, whatever a database's collation
            overrides[row.dataset_id].append(
                Override(window=row.window, author=row.author, ends_at=row.ends_at, reason=row.reason)
            )
    return overrides


log = structlog.get_logger(__name__)

AGAIN_AFTER_MINUTES = 5  # a gate that is asked over and over has an unjudged window measured this often
MOST_MEASURED = 400  # windows of tests that one request has measured, the newest first
DATASETS_ONLY_INCIDENTS = "incident"
INSTANT = timedelta(microseconds=1)
LARGER = (
    f"not all of it is tested now: a request has at most {MOST_MEASURED} windows tested, the newest first; "
    f"ask again for a smaller range"
)


def gate(
    *, datasets: Iterable[Dataset], window: Window, datacenter: str = "", pipeline: str = "", now: datetime
) -> GateAnswer:
    """May ``pipeline`` read the window of these datasets now?"""
    to_read = [ToRead(dataset=dataset, window=window, datacenter=datacenter) for dataset in datasets]
    return gate_of(to_read, pipeline=pipeline, now=now)


def gate_of(to_read: Sequence[ToRead], *, pipeline: str = "", now: datetime) -> GateAnswer:
    """May ``pipeline`` read all of it now? What has ended and was never judged is tested at once.

    Nothing is locked while the answer is worked out; what is to be tested is written at its end, in one statement.
    """
    reasons: list[Because] = []
    statuses: list[QualityStatus] = []
    requests: list[tuple[int, Window]] = []
    for reading, facts, answer, gated in _answered(to_read, pipeline, now):
        reasons += gated.reasons
        statuses.append(answer.status)
        left = MOST_MEASURED - len(requests)
        windows = list(islice(_unjudged_windows(reading.dataset, facts, answer), left + 1))
        requests += windows[:left]
        if len(windows) > left:
            name = reading.dataset.full_name
            reasons.append(Because(decision=GateDecision.ALLOW, dataset=name, windows=(reading.window,), text=LARGER))
    if requests:
        slot = now.replace(minute=now.minute - now.minute % AGAIN_AFTER_MINUTES, second=0, microsecond=0)
        live = DataTest.objects.filter(retired_at=None, revision__isnull=False).select_related("dataset", "revision")
        tests = live.in_bulk({test for test, _ in requests})
        due = [(tests[test], window, now) for test, window in requests if test in tests]
        request_runs(due, reason=RunReason.TRIGGER, occasion=f"gate:{slot:%Y%m%dT%H%M}", now=now)
    answer_of_all = gathered(reasons, status=worst(statuses))
    log.info(
        "gate",
        pipeline=pipeline,
        asked=[f"{reading.dataset.full_name} {reading.window.text}" for reading in to_read],
        decision=answer_of_all.decision.value,
    )
    return answer_of_all


def foresee(to_read: Sequence[ToRead], *, pipeline: str = "", now: datetime) -> list[tuple[QualityAnswer, GateAnswer]]:
    """The quality of each and what the gate would answer on it now; nothing is tested for it, nothing is written."""
    return [(answer, gated) for *_, answer, gated in _answered(to_read, pipeline, now)]


def gates_of(answers: Sequence[tuple[Dataset, QualityAnswer]], *, now: datetime) -> list[GateAnswer]:
    """What the gate says to each of these answers, whoever the pipeline is; in at most one statement."""
    decided = [(dataset, decide([(answer, policy_of(dataset))])) for dataset, answer in answers]
    blocked = [dataset for dataset, gated in decided if gated.decision is GateDecision.BLOCK]
    overrides = overrides_of("", blocked, now=now) if blocked else {}
    return [overridden_all(gated, overrides.get(dataset.pk, ())) for dataset, gated in decided]


def _answered(
    to_read: Sequence[ToRead], pipeline: str, now: datetime
) -> Iterator[tuple[ToRead, Facts, QualityAnswer, GateAnswer]]:
    """Of each: what is known, what it comes to, and what the gate says to it."""
    bindings = bindings_of(pipeline, [reading.dataset for reading in to_read])
    overrides = overrides_of(pipeline, [reading.dataset for reading in to_read], now=now)
    for reading, facts in zip(to_read, facts_of_ranges(to_read, now=now), strict=True):
        strong = bindings.get(reading.dataset.pk, {})
        answer = judge(bound(facts, strong), reading.range)
        decided = decide([(answer, replace(policy_of(reading.dataset), bound=strong))])
        yield reading, facts, answer, overridden_all(decided, overrides.get(reading.dataset.pk, ()))


def unreadable_in(dataset: Dataset, datacenter: str) -> str | None:
    """Why there is nothing to read in a datacenter, or anywhere if none is named; None where there is."""
    places = [replica.datacenter for replica in dataset.replicas.all()]
    if not places:
        return f"{dataset} has no replica to read; add one to its metadata."
    if datacenter and datacenter not in places:
        return f"{dataset} has no replica in {datacenter!r}; it has {', '.join(places)}."
    return None


def policy_of(dataset: Dataset) -> Policy:
    """What a dataset asks of its gate."""
    return Policy(fail_closed=slas(dataset).fail_closed, only_incidents=dataset.gate_on == DATASETS_ONLY_INCIDENTS)


def bindings_of(pipeline: str, datasets: Iterable[Dataset]) -> Mapping[int, Mapping[str, bool]]:
    """To which tests of each dataset a pipeline is bound, by id and name, and whether strongly."""
    if not pipeline:
        return {}
    rows = Binding.objects.filter(pipeline=pipeline, dataset__in={dataset.pk for dataset in datasets})
    bindings: dict[int, dict[str, bool]] = defaultdict(dict)
    for row in rows:
        if row.pipeline == pipeline:  # whatever a database's collation
            bindings[row.dataset_id][row.test] = row.strength == Strength.STRONG
    return bindings


def _unjudged_windows(dataset: Dataset, facts: Facts, answer: QualityAnswer) -> Iterator[tuple[int, Window]]:
    """The windows that have ended and that tests of each partition, by their ids, have given no verdict on.

    The newest come first.
    """
    partitioning = dataset.partitioning
    if partitioning is None:
        return
    tests = {test.name: test.id for test in facts.tests if test.judges_from is not None}
    for reason in answer.reasons:
        # nobody has a word on it yet; one that is broken is not due, and what is UNKNOWN has its own checks
        unjudged = (ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET)
        is_open = reason.state is State.PENDING or (reason.state is None and reason.kind in unjudged)
        if reason.test in tests and not reason.source and is_open and reason.kind in (ReasonKind.BROKEN, *unjudged):
            yield from ((tests[reason.test], window) for window in newest_first(partitioning, reason.windows))


def newest_first(partitioning: Partitioning, intervals: Intervals) -> Iterator[Window]:
    """The partitions that overlap a set of instants, one at a time, however many there are."""
    for interval in reversed(intervals):
        window = partitioning.at(interval.end - INSTANT)
        while window.end > interval.start:
            yield window
            window = partitioning.at(window.start - INSTANT)


# What a pipeline has written: recorded, and answered once it is judged; for the API and the command alike.

MOST_OUTPUTS = 50  # of one completion
MOST_REASONS = 10  # of what is not judged yet, as one answer lists them
LONGEST_NAME = 200  # characters, of a pipeline


class UnableToName(UnableToComplete):
    """A pipeline whose name cannot be kept."""


@dataclass(frozen=True, kw_only=True)
class WrittenWindow:
    """A window that a pipeline has written, in a datacenter or at home; ``rows`` and ``mode`` as it tells them."""

    dataset: Dataset
    window: Window
    datacenter: str = ""
    rows: int | None = None
    mode: str = ""


@transaction.atomic
def complete(pipeline: str, written: Sequence[WrittenWindow], *, run: str = "", now: datetime) -> list[DataChange]:
    """All that a pipeline has written, recorded together; raises UnableToComplete. Its live tests are triggered."""
    if not pipeline or len(pipeline) > LONGEST_NAME:
        raise UnableToName(f"A pipeline's name has 1 to {LONGEST_NAME} characters.")
    if fault := name_fault(pipeline):
        raise UnableToName(f"The pipeline cannot be named so: {fault}.")
    if len(written) > MOST_OUTPUTS:
        raise UnableToComplete(f"One completion has at most {MOST_OUTPUTS} outputs: tell of them in parts.")
    return [
        record_completion(
            dataset=output.dataset,
            datacenter=output.datacenter or home(output.dataset).datacenter,
            window=output.window,
            pipeline=pipeline,
            run=run,
            rows=output.rows,
            mode=output.mode,
            now=now,
        )
        for output in written
    ]


def unjudged(changes: Iterable[DataChange], *, now: datetime) -> list[str]:
    """What the completions wait for: a sentence for each window and test that is to be judged; empty: all is judged."""
    reasons = []
    for change in changes:
        dataset, window = change.dataset, change.window
        if DataChange.objects.filter(pk=change.pk, followed_at=None).exists():
            reasons.append(f"{dataset.full_name} {window.text}: no worker has asked for its tests yet")
            continue
        left = Run.objects.filter(  # also those that were requested before it: one that waits serves it too
            data_test__dataset=dataset,
            window_start__lt=window.end,
            window_end__gt=window.start,
            reason__in=(RunReason.TRIGGER, RunReason.REVISION),  # by another revision where the test changed meanwhile
            judged_at=None,
            due_at__lte=now,
        )
        for run in left.select_related("data_test").order_by("pk"):
            if run.planned_at is None:
                stage = "no worker has planned its run yet"
            elif run.ready_at is None:
                stage = f"its data in {run.data_test.datacenter} is not read yet"
            else:
                stage = "its result is in, and not judged yet"
            reasons.append(f"{dataset.full_name}/{run.data_test.name} {run.window.text}: {stage}")
    return reasons


def answer_on(changes: Iterable[DataChange], *, pipeline: str, now: datetime) -> GateAnswer:
    """The gate's answer on what was completed."""
    to_read = [ToRead(dataset=change.dataset, window=change.window, datacenter=change.datacenter) for change in changes]
    return gate_of(to_read, pipeline=pipeline, now=now)
