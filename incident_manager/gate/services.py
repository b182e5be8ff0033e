"""The gate: say what a pipeline may read, and have measured what nobody has judged."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

import structlog

from alerting.state import State
from assay.catalog.selectors import home, slas
from assay.models import Binding, Dataset, DataTest, Strength
from assay.time.windows import Partitioning, Window
from execution_engine.models import RunReason
from execution_engine.services import request_runs
from incident_manager.intervals import Intervals
from incident_manager.quality.facts import Facts
from incident_manager.quality.rules import Answer, AnswerReason, AskedRange, ReasonKind, Status, judge, worst
from incident_manager.quality.selectors import known_of_all

from .bindings import bound
from .overrides import overridden
from .overriding import overrides_of
from .rules import Because, GateAnswer, GateDecision, Policy, decide, gathered

log = structlog.get_logger(__name__)

AGAIN_AFTER_MINUTES = 5  # a gate that is asked over and over has an unjudged window measured this often
MOST_MEASURED = 400  # windows of tests that one request has measured, the newest first
DATASETS_ONLY_INCIDENTS = "incident"
INSTANT = timedelta(microseconds=1)
LARGER = (
    f"not all of it is tested now: a request has at most {MOST_MEASURED} windows tested, the newest first; "
    f"ask again for a smaller range"
)


@dataclass(frozen=True, kw_only=True)
class ToRead:
    """A window of a dataset that a pipeline is about to read in a datacenter; at home, if none is named."""

    dataset: Dataset
    window: Window
    datacenter: str = ""


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
    statuses: list[Status] = []
    wanted: list[tuple[int, Window]] = []
    for each, facts, answer, said in _answered(to_read, pipeline, now):
        reasons += said
        statuses.append(answer.status)
        left = MOST_MEASURED - len(wanted)
        found = list(islice(_unjudged(each.dataset, facts, answer), left + 1))
        wanted += found[:left]
        if len(found) > left:
            name = each.dataset.full_name
            reasons.append(Because(decision=GateDecision.ALLOW, dataset=name, windows=(each.window,), text=LARGER))
    _have_measured(wanted, now)
    answer_of_all = gathered(reasons, status=worst(statuses))
    log.info(
        "gate",
        pipeline=pipeline,
        asked=[f"{each.dataset.full_name} {each.window.text}" for each in to_read],
        decision=answer_of_all.decision.value,
    )
    return answer_of_all


def foresee(to_read: Sequence[ToRead], *, pipeline: str = "", now: datetime) -> list[tuple[Answer, GateAnswer]]:
    """The quality of each and what the gate would answer on it now; nothing is tested for it, nothing is written."""
    return [
        (answer, gathered(reasons, status=answer.status)) for *_, answer, reasons in _answered(to_read, pipeline, now)
    ]


def _answered(
    to_read: Sequence[ToRead], pipeline: str, now: datetime
) -> Iterator[tuple[ToRead, Facts, Answer, tuple[Because, ...]]]:
    """Of each: what is known, what it comes to, and what the gate says to it."""
    bindings = bindings_of(pipeline, [each.dataset for each in to_read])
    overrides = overrides_of(pipeline, [each.dataset for each in to_read], now=now)
    for each, facts in zip(to_read, _known(to_read, now), strict=True):
        strong = bindings.get(each.dataset.pk, {})
        answer = judge(
            bound(facts, strong),
            AskedRange(window=each.window, datacenter=each.datacenter or home(each.dataset).datacenter),
        )
        decided = decide([(answer, replace(policy_of(each.dataset), bound=strong))]).reasons
        lasting = overrides.get(each.dataset.pk, ())
        yield each, facts, answer, tuple(because for one in decided for because in overridden(one, lasting))


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
    found: dict[int, dict[str, bool]] = defaultdict(dict)
    for row in rows:
        if row.pipeline == pipeline:  # whatever a database's collation
            found[row.dataset_id][row.test] = row.strength == Strength.STRONG
    return found


def _known(to_read: Sequence[ToRead], now: datetime) -> Iterator[Facts]:
    """What is known of each; datasets over the same window are read together."""
    alike: dict[Window, dict[int, Dataset]] = defaultdict(dict)
    for each in to_read:
        alike[each.window][each.dataset.pk] = each.dataset
    known = {window: known_of_all(datasets.values(), window, now=now) for window, datasets in alike.items()}
    return (known[each.window][each.dataset.pk] for each in to_read)


def _unjudged(dataset: Dataset, facts: Facts, answer: Answer) -> Iterator[tuple[int, Window]]:
    """The windows that have ended and that tests of each partition, by their ids, have given no verdict on.

    The newest come first.
    """
    partitioning = dataset.partitioning
    if partitioning is None:
        return
    tests = {test.name: test.id for test in facts.tests if test.judges_from is not None}
    for reason in answer.reasons:
        if reason.test in tests and not reason.source and _is_to_be_measured(reason):
            yield from ((tests[reason.test], window) for window in newest_first(partitioning, reason.windows))


def _is_to_be_measured(reason: AnswerReason) -> bool:
    """Whether nobody has a word on it yet; what is UNKNOWN has its own checks."""
    if reason.kind is ReasonKind.BROKEN:
        return reason.state is State.PENDING  # before it is due
    return reason.kind in (ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET) and reason.state in (None, State.PENDING)


def newest_first(partitioning: Partitioning, intervals: Intervals) -> Iterator[Window]:
    """The partitions that overlap a set of instants, one at a time, however many there are."""
    for interval in reversed(intervals):
        window = partitioning.at(interval.end - INSTANT)
        while window.end > interval.start:
            yield window
            window = partitioning.at(window.start - INSTANT)


def _have_measured(wanted: list[tuple[int, Window]], now: datetime) -> None:
    if not wanted:
        return
    slot = now.replace(minute=now.minute - now.minute % AGAIN_AFTER_MINUTES, second=0, microsecond=0)
    live = DataTest.objects.filter(retired_at=None, revision__isnull=False).select_related("dataset", "revision")
    tests = live.in_bulk({test for test, _ in wanted})
    due = [(tests[test], window, now) for test, window in wanted if test in tests]
    request_runs(due, reason=RunReason.TRIGGER, occasion=f"gate:{slot:%Y%m%dT%H%M}", now=now)
