"""Plan runs: which measurements their assertions need, and who takes them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import structlog
from django.db.models import Min

from assay.models import Scope, Tallied
from assay.queue.claims import finish, finish_all, tally
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import operands
from execution_engine.models import MAX_ATTEMPTS, Ask, Run, RunReason
from execution_engine.outcome import Failure, Outcome, Reason
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Planner, UnableToPlan, Want
from execution_engine.planning.turns import is_made_up_for
from execution_engine.scans.ask import ask, flatten

from .shown_results import objection_to

log = structlog.get_logger(__name__)


Place = tuple[int, Window]  # revision, window


def plan_runs(runs: Sequence[Run], now: datetime, *, sources: Sources | None = None) -> None:
    """Ask for what the runs measure, shared among them; what can never be measured ends its run as an error."""
    sources = sources or Sources(now)
    sources.know(run.data_test.dataset for run in runs)
    earlier = _taken_early(runs)
    wanted: dict[Run, dict[str, Want]] = {}
    for run in runs:
        accept_from = _accept_from(run, earlier)
        wants = _wants(run, accept_from, sources)
        if isinstance(wants, Failure):
            end_as_error(run, wants, now)
        else:
            run.planned_at, run.accept_from, wanted[run] = now, accept_from, wants
    for late in (False, True):
        alike = {run: wants for run, wants in wanted.items() if is_made_up_for(run.turn) is late}
        if alike:
            _ask(alike, sources, now, are_made_up_for=late)


def _ask(wanted: Mapping[Run, Mapping[str, Want]], sources: Sources, now: datetime, *, are_made_up_for: bool) -> None:
    wants_of_all = [want for wants in wanted.values() for want in wants.values()]
    asked = ask(wants_of_all, sources=sources, now=now, are_made_up_for=are_made_up_for)
    Ask.objects.bulk_create(
        Ask(run=run, operand=operand, measurement=asked[want.key])
        for run, wants in wanted.items()
        for operand, want in wants.items()
    )
    for run, wants in wanted.items():
        run.ready_at = now if all(asked[want.key].measured_at for want in wants.values()) else None
    finish_all(list(wanted), "planned_at", "accept_from", "ready_at")


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


def planner_of(run: Run, accept_from: datetime | None, sources: Sources) -> Planner:
    """The planner of a run whose test and dataset are loaded."""
    dataset = run.data_test.dataset
    home = sources(dataset.full_name)
    assert home is not None
    return Planner(
        home=home,
        datacenter=run.data_test.datacenter,
        window=run.window,
        accept_from=accept_from,
        source_of=sources,
        whole_table=run.data_test.scope == Scope.TABLE,
    )


def _wants(run: Run, accept_from: datetime | None, sources: Sources) -> dict[str, Want] | Failure:
    """What each operand of the run needs, or why it is not to be measured."""
    if run.attempts > MAX_ATTEMPTS:
        return Failure(reason=Reason.LEASE_LOST, detail="planning it failed; see the log")
    planner, asked = planner_of(run, accept_from, sources), operands(from_json(run.revision.tree))
    told = objection_to(asked, run.data_test.dataset.full_name, sources)
    if told is not None:  # readers and sensitive columns may be others than when the test was written
        return Failure(reason=Reason.INVALID, detail=told)
    try:
        wants = {operand.text: planner.want(operand) for operand in asked}
    except UnableToPlan as refused:
        return refused.failure
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Nobody foresaw it, and it would come again: the end of this run, and of no other.
        log.exception("planning failed", run=run.pk)
        return Failure(reason=Reason.INVALID, detail=f"it cannot be planned over {run.window.text}: {error!r}"[:1000])
    return sources.quarantine.failure(run.revision, flatten(wants.values())) or wants


def _accept_from(run: Run, earlier: Mapping[Place, datetime]) -> datetime | None:
    """From when on a measurement counts; a scheduled run is satisfied by an early one, while no data changed."""
    first = earlier.get((run.revision_id, run.window)) if run.reason == RunReason.SCHEDULE else None
    return first if first and run.accept_from and first < run.accept_from else run.accept_from


def _taken_early(runs: Sequence[Run]) -> dict[Place, datetime]:
    """When the first measurement was taken for what was sound early of these runs, by revision and window."""
    held = _sound_early(runs)
    if not held:
        return {}
    asks = Ask.objects.filter(run__in=held.values(), measurement__measured_at__isnull=False)
    first = dict(asks.values_list("run").annotate(Min("measurement__measured_at")))
    return {place: first[run.pk] for place, run in held.items() if run.pk in first}


def _sound_early(runs: Sequence[Run]) -> dict[Place, Run]:
    """The newest run that somebody asked for before its schedule did, by revision and window, where it held.

    One that only had too little past to say counts as well. If the newest of them did not hold, none counts: pipelines
    may tell of other rows while no file changes.
    """
    scheduled = [run for run in runs if run.reason == RunReason.SCHEDULE]
    if not scheduled:
        return {}
    found = Run.objects.filter(
        revision__in={run.revision_id for run in scheduled},
        window_start__in={run.window_start for run in scheduled},
        reason__in=(RunReason.TRIGGER, RunReason.MANUAL),
        evaluated_at__isnull=False,
    )
    newest = {(run.revision_id, run.window): run for run in found.order_by("measured_at", "pk")}
    return {
        place: run
        for place, run in newest.items()
        if run.outcome == Outcome.HELD or run.error_reason == Reason.WARMING_UP
    }
