"""Plan runs: which measurements their assertions need, and who takes them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

import structlog
from django.db.models import Min

from assay.models import DataTest, Scope, Tallied
from assay.queue.claims import finish, finish_all, tally
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import metric_of, operands
from execution_engine.metrics.registry import METRICS
from execution_engine.models import MAX_ATTEMPTS, Ask, Measurement, Run, RunReason
from execution_engine.outcome import Failure, Outcome, Reason
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Planner, UnableToPlan, Want
from execution_engine.planning.schedules import is_made_up_for
from execution_engine.scans.ask import ask, flatten

from .request import TIMELY
from .shown_results import objection_to

log = structlog.get_logger(__name__)


def plan_runs(runs: Sequence[Run], now: datetime, *, sources: Sources | None = None) -> None:
    """Ask for what the runs measure, shared among them; what can never be measured ends its run as an error."""
    sources = sources or Sources(now)
    sources.know(run.data_test.dataset for run in runs)
    early = _taken_early(runs)
    wants_by_run: dict[Run, dict[str, Want]] = {}
    for run in runs:
        # a scheduled run is satisfied by an early measurement, while no data changed
        first = early.get((run.revision_id, run.window)) if run.reason == RunReason.SCHEDULE else None
        accept_from = first if first and run.accept_from and first < run.accept_from else run.accept_from
        wants = _wants(run, accept_from, sources)
        if isinstance(wants, Failure):
            end_as_error(run, wants, now)
        else:
            run.planned_at, run.accept_from, wants_by_run[run] = now, accept_from, wants
    rows: dict[tuple[str, str, str, str], Measurement] = {}
    for late in (False, True):
        alike = [wants for run, wants in wants_by_run.items() if is_made_up_for(run.turn) is late]
        if alike:
            flat = [want for wants in alike for want in wants.values()]
            rows |= ask(flat, sources=sources, now=now, are_made_up_for=late)
    Ask.objects.bulk_create(
        Ask(run=run, operand=operand, measurement=rows[want.key])
        for run, wants in wants_by_run.items()
        for operand, want in wants.items()
    )
    for run, wants in wants_by_run.items():
        run.ready_at = now if all(rows[want.key].measured_at for want in wants.values()) else None
    finish_all(list(wants_by_run), "planned_at", "accept_from", "ready_at")


def end_as_error(run: Run, failure: Failure, now: datetime) -> None:
    """Give the run its terminal outcome without a measurement."""
    finish(
        run,
        planned_at=run.planned_at or now,
        ready_at=run.ready_at or now,
        evaluated_at=now,
        measured_at=now,
        outcome=Outcome.ERROR,
        error_reason=failure.reason.value,
        transient=failure.transient,
        sentence=str(failure),
    )
    tally(Tallied.RUNS, Outcome.ERROR)


def planner_of(
    test: DataTest,
    window: Window,
    accept_from: datetime | None,
    sources: Sources,
    as_of: Mapping[str, str] = MappingProxyType({}),
) -> Planner:
    """The planner of a test whose dataset is loaded, over one window; ``as_of`` says when its tables are read of."""
    home = sources(test.dataset.full_name)
    assert home is not None
    return Planner(
        home=home,
        datacenter=test.datacenter,
        window=window,
        accept_from=accept_from,
        source_of=sources,
        whole_table=test.scope == Scope.TABLE,
        as_of=as_of,
    )


def _wants(run: Run, accept_from: datetime | None, sources: Sources) -> dict[str, Want] | Failure:
    if run.attempts > MAX_ATTEMPTS:
        return Failure(reason=Reason.LEASE_LOST, detail="planning it failed; see the log")
    planner, test_operands = (
        planner_of(run.data_test, run.window, accept_from, sources, run.as_of),
        operands(from_json(run.revision.tree)),
    )
    objection = objection_to(test_operands, run.data_test.dataset.full_name, sources)
    timely = [operand.text for operand in test_operands if METRICS[metric_of(operand).spec.name].waits_for_sla]
    if run.as_of and timely:
        return Failure(reason=Reason.INVALID, detail=f"{timely[0]} {TIMELY}")
    if objection is not None:  # readers and sensitive columns may be others than when the test was written
        return Failure(reason=Reason.INVALID, detail=objection)
    try:
        wants = {operand.text: planner.want(operand) for operand in test_operands}
    except UnableToPlan as refused:
        return refused.failure
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Nobody foresaw it, and it would come again: the end of this run, and of no other.
        log.exception("planning failed", run=run.pk)
        return Failure(reason=Reason.INVALID, detail=f"it cannot be planned over {run.window.text}: {error!r}"[:1000])
    return sources.quarantine.failure(run.revision, flatten(wants.values())) or wants


def _taken_early(runs: Sequence[Run]) -> dict[tuple[int, Window], datetime]:
    """When the first measurement was taken for what was sound early of these runs, by revision and window.

    That is the newest run that somebody asked for before its schedule did, where it held or only had too little past
    to say. If the newest of them did not hold, none counts: pipelines may tell of other rows while no file changes.
    """
    scheduled = [run for run in runs if run.reason == RunReason.SCHEDULE]
    if not scheduled:
        return {}
    earlier = Run.objects.filter(
        revision__in={run.revision_id for run in scheduled},
        window_start__in={run.window_start for run in scheduled},
        reason__in=(RunReason.TRIGGER, RunReason.MANUAL),
        evaluated_at__isnull=False,
    )
    newest = {(run.revision_id, run.window): run for run in earlier.order_by("measured_at", "pk")}
    sound = {
        place: run.pk
        for place, run in newest.items()
        if run.outcome == Outcome.HELD or run.error_reason == Reason.WARMING_UP
    }
    if not sound:
        return {}
    asks = Ask.objects.filter(run__in=sound.values(), measurement__measured_at__isnull=False)
    first = dict(asks.values_list("run").annotate(Min("measurement__measured_at")))
    return {place: first[pk] for place, pk in sound.items() if pk in first}
