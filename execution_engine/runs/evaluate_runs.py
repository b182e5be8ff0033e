"""Evaluate a run whose measurements are all in."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from sys import float_info
from typing import TYPE_CHECKING, Any, cast

from django.db.models import Exists, OuterRef, Prefetch, Q

from assay.catalog.selectors import slas
from assay.models import Dataset, DataTest, Origin, Tallied
from assay.queue.claims import finish_all, tally
from assay.time.windows import Window
from execution_engine.exact import digits_of, to_json
from execution_engine.freshness.derive import failure_of
from execution_engine.language.evaluate import Groups, Value, ZeroDivision, evaluate, excess, with_notes
from execution_engine.language.past import WithPast
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, HistoryFunction, Metric, operands
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, GroupValues, UnableToReadGroups
from execution_engine.models import MAX_ATTEMPTS, Ask, Exclusion, Measurement, Release, Run, RunReason
from execution_engine.outcome import Failure, Reason
from execution_engine.parts.state_store import UnableToLoadState, state_of
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import UnableToPlan
from execution_engine.rows.requests import request_rows
from execution_engine.selectors import count_past, latest_measurements, latest_values

from .plan_runs import end_as_error, planner_of

if TYPE_CHECKING:
    from .accepted_past import AcceptedPasts


# Keep spoilt windows out of the histories that later windows are compared with; let in what users call right.


def exclude_window(
    *, dataset: Dataset, window: Window, datacenter: str = "", holder: str = "", test: DataTest | None = None
) -> None:
    """Leave the window out of every history until each ``holder`` that excluded it includes it again.

    ``test``: the one that found the window spoilt.
    """
    Exclusion.objects.get_or_create(
        dataset=dataset,
        datacenter=datacenter,
        window_start=window.start,
        window_end=window.end,
        holder=holder,
        defaults={"data_test": test},
    )


def include_windows(*, dataset: Dataset, holders: Sequence[str]) -> None:
    """Take back all that these holders excluded."""
    Exclusion.objects.filter(dataset=dataset, holder__in=holders).delete()


def release_window(*, test: DataTest, window: Window, until: datetime | None, is_wrong: bool = False) -> None:
    """A user says that what the test found novel is right: until then the batch is part of the past.

    ``is_wrong``: the user says that the data is bad, and the batch is never part of it.
    """
    defaults = {"until": until, "is_wrong": is_wrong}
    Release.objects.update_or_create(
        data_test=test, window_start=window.start, window_end=window.end, defaults=defaults
    )


def take_release_back(*, test: DataTest, window: Window) -> None:
    """Nobody says so any more."""
    Release.objects.filter(data_test=test, window_start=window.start, window_end=window.end).delete()


# The values of groups, read from the states that measurements ``by`` columns have left.

MAX_VALUES = 10 * MAX_GROUPS  # of all past windows of one operand together: some 100 MB

_TOO_MANY = "the past windows have more than {:,} groups together: look back on fewer windows, or group by less"


def groups_of(measurement: Measurement) -> Groups | Failure:
    """The value of each group of a measurement, or why there are none to read."""
    try:
        state = state_of(measurement)
    except UnableToLoadState as error:
        return Failure(reason=Reason.ENGINE_UNREACHABLE, detail=str(error))
    if not state:
        detail = f"{measurement.spec_text} was measured as a whole: the engine of this table cannot group"
        return Failure(reason=Reason.QUERY_FAILED, detail=detail)
    try:
        return GroupValues.from_bytes(state).groups
    except UnableToReadGroups as error:
        return Failure(reason=Reason.QUERY_FAILED, detail=f"{measurement.spec_text}: {error}")


def past_groups(dataset_id: int, datacenter: str, hashes: Mapping[Window, str]) -> list[Groups | None] | Failure:
    """The groups of each window under its spec hash, the oldest first; None where they are unknown or spoilt."""
    past: list[Groups | None] = []
    keys: dict[GroupKey, GroupKey] = {}  # each held once for all windows
    values = 0
    for measurement in latest_measurements(dataset_id, datacenter, hashes).values():
        groups = None if measurement is None else groups_of(measurement)
        group_values = None if groups is None or isinstance(groups, Failure) else groups
        past.append(
            None if group_values is None else {keys.setdefault(key, key): value for key, value in group_values.items()}
        )
        values += len(group_values or ())
        if values > MAX_VALUES:
            return Failure(reason=Reason.INVALID, detail=_TOO_MANY.format(MAX_VALUES))
    return past


ASKED = Prefetch("asks", queryset=Ask.objects.select_related("measurement").defer("measurement__state").order_by("pk"))
LOOKS_BACK = r"last\s*=|novelty\s*\(|anomaly\s*\("  # of an assertion
WRITTEN = (
    *("evaluated_at", "measured_at", "outcome", "error_reason", "transient", "sentence"),
    *("value", "exact", "excess", "operands", "findings", "snapshots"),
)


def has_its_past() -> Q:
    """A condition on runs: none of a back-fill that looks back on windows which the same back-fill still measures.

    The newest windows are measured first. Without their past they would only be *warming up*, for ever.
    """
    earlier = Run.objects.filter(
        data_test=OuterRef("data_test"),
        window_start__lt=OuterRef("window_start"),
        reason=RunReason.BACKFILL,
        ready_at=None,
        evaluated_at=None,
        revision__assertion__regex=LOOKS_BACK,
    )
    return ~Q(Exists(earlier), reason=RunReason.BACKFILL)


def evaluate_runs(runs: Sequence[Run], now: datetime, *, sources: Sources | None = None) -> None:
    """Give each run its outcome."""
    from .accepted_past import AcceptedPasts  # with it scipy, for which no gate should wait

    evaluated, sources, pasts = [], sources or Sources(now), AcceptedPasts(now)
    for run in runs:
        if run.attempts > MAX_ATTEMPTS:
            end_as_error(run, Failure(reason=Reason.LEASE_LOST, detail="evaluating it failed; see the log"), now)
            continue
        evaluated.append(run)
        judge(run, {ask.operand: ask.measurement for ask in run.asks.all()}, now, sources, pasts)
    pasts.save()
    finish_all(evaluated, *WRITTEN)
    request_rows(evaluated, now)
    for run in evaluated:
        tally(Tallied.RUNS, run.outcome)


def judge(
    run: Run, measurements: Mapping[str, Measurement], now: datetime, sources: Sources, pasts: "AcceptedPasts"
) -> None:
    """Set the outcome of a run by the measurements of its operands, and all that is told of it; nothing is written."""
    tree = from_json(run.revision.tree)
    verdict = evaluate(
        tree,
        {
            operand.text: _with_past(run, operand, measurements[operand.text], sources, pasts)
            if isinstance(operand, History)
            else _value(run, operand, measurements[operand.text])
            for operand in operands(tree)
        },
        zero=zero_of(run.data_test),
    )
    failure = verdict.failure
    is_short = failure is not None and failure.reason is Reason.WARMING_UP and run.reason != RunReason.BACKTEST
    spoilt: dict[str, None] = {}  # what of the past was measured and is left out as bad, in words
    for history in (operand for operand in operands(tree) if is_short and isinstance(operand, History)):
        with suppress(UnableToPlan):
            if wants := planner_of(run.data_test, run.window, None, sources).past(history):
                hashes = {want.window: want.spec_hash for want in wants}
                number, left_out = count_past(sources.dataset(wants[0].dataset).pk, wants[0].datacenter, hashes)
                if left_out:
                    spoilt[f"; {history.text}: {number} measured, {left_out} left out as spoilt"] = None
    run.evaluated_at = now
    run.measured_at = max((row.measured_at for row in measurements.values() if row.measured_at), default=now)
    run.outcome = verdict.outcome
    run.error_reason = failure.reason.value if failure else ""
    run.transient = failure is not None and failure.transient
    run.sentence = with_notes(verdict.sentence, (row.detail for row in measurements.values())) + "".join(spoilt)
    run.value = None if verdict.value is None else float(verdict.value)
    run.exact = digits_of(verdict.value)
    beyond = excess(tree, verdict)
    run.excess = None if beyond is None else min(beyond, float_info.max)  # a number that every database can hold
    run.operands = {text: to_json(value) for text, value in verdict.operands.items()}
    # what is worth telling beside the numbers, such as lost keys, by operand
    run.findings = {**{operand: row.detail for operand, row in measurements.items() if row.detail}, **verdict.findings}
    own = run.data_test.dataset
    run.snapshots = {
        f"{own if own.pk == row.dataset_id else row.dataset}@{row.datacenter}": row.snapshot
        for row in measurements.values()
        if row.snapshot
    }


def _value(run: Run, operand: Metric, measurement: Measurement) -> Value:
    definition = METRICS[operand.spec.name]
    if (failure := failure_of(measurement)) is not None:
        # there may be no file in which a column could be missing, as it should be
        is_zero = definition.zero_if_empty and failure.reason is Reason.NO_DATA
        is_allowed = run.data_test.origin == Origin.GENERATED and run.data_test.dataset.allow_empty
        return 0.0 if is_zero and is_allowed else failure
    if operand.spec.by:
        return groups_of(measurement)
    if not definition.waits_for_sla or measurement.detail["complete"]:
        return measurement.number
    # how late an incomplete window is; before its freshness SLA has passed that says nothing yet
    own = run.data_test.dataset
    due_at = measurement.window_end + slas(own if own.pk == measurement.dataset_id else measurement.dataset).freshness
    if measurement.measured_at is not None and measurement.measured_at < due_at:
        detail = f"{measurement.window.text} is not complete yet, and need not be before {due_at:%Y-%m-%d %H:%M} UTC"
        return Failure(reason=Reason.NOT_DUE, detail=detail)
    return measurement.value


def _with_past(run: Run, history: History, measurement: Measurement, sources: Sources, pasts: "AcceptedPasts") -> Value:
    """What a history is over: the past values, and for an anomaly the value now as well; for novelty profiles."""
    try:
        wants = planner_of(run.data_test, run.window, None, sources).past(history)
    except UnableToPlan as refused:
        return refused.failure
    if history.function is HistoryFunction.NOVELTY:
        return failure_of(measurement) or pasts.batch_with_past(run, history, measurement, wants, sources)
    past: Any = []  # the latest value of each past window, or those of its groups, the oldest first
    if wants:
        hashes = {want.window: want.spec_hash for want in wants}
        place = sources.dataset(wants[0].dataset).pk, wants[0].datacenter
        past = past_groups(*place, hashes) if history.metric.spec.by else list(latest_values(*place, hashes).values())
    if history.function is not HistoryFunction.ANOMALY or isinstance(past, Failure):
        return cast(Value, past)
    now: Any = _value(run, history.metric, measurement)
    if isinstance(now, Failure):
        return now
    zone = planner_of(run.data_test, run.window, None, sources).home.zone
    at, *when = (
        window.start.astimezone(zone).replace(tzinfo=None) for window in (run.window, *(want.window for want in wants))
    )
    return WithPast(now=now, past=past, when=when, at=at)


def zero_of(test: DataTest) -> ZeroDivision:
    """What a division by zero means: in standard tests what section 3 of their definition says, else NULL."""
    if test.origin != Origin.GENERATED:
        return ZeroDivision.NULL
    return ZeroDivision.STANDARD_ALLOW_EMPTY if test.dataset.allow_empty else ZeroDivision.STANDARD
