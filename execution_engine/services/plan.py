"""Plan a run: which measurements its assertion needs, and who takes them."""

from datetime import datetime

from assay.models import Tallied
from assay.queue import finish
from assay.tallies import tally
from execution_engine.language.operands import operands
from execution_engine.language.serialise import from_json
from execution_engine.models import Ask, Measurement, Run, RunReason
from execution_engine.outcome import Failure, Outcome, Reason
from execution_engine.planning import Planner, UnableToPlan, Want
from execution_engine.services.ask import ask
from execution_engine.sources import Sources

MAX_ATTEMPTS = 3  # of a run or scan whose worker dies


def plan(run: Run, now: datetime, *, sources: Sources | None = None) -> None:
    """Ask for the run's measurements; what can never be measured ends the run as an error."""
    sources = sources or Sources(now)
    if run.attempts > MAX_ATTEMPTS:
        end_as_error(run, Failure(reason=Reason.LEASE_LOST, detail="planning it failed; see the log"), now)
        return
    accept_from = _accept_from(run)
    try:
        wants = _wants(run, accept_from, sources)
    except UnableToPlan as refused:
        end_as_error(run, refused.failure, now)
        return
    asked = ask(list(wants.values()), sources=sources, now=now)
    Ask.objects.bulk_create(
        Ask(run=run, operand=operand, measurement=asked[want.key]) for operand, want in wants.items()
    )
    is_ready = all(asked[want.key].measured_at for want in wants.values())
    finish(run, planned_at=now, accept_from=accept_from, ready_at=now if is_ready else None)


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
    )


def _wants(run: Run, accept_from: datetime | None, sources: Sources) -> dict[str, Want]:
    planner = planner_of(run, accept_from, sources)
    return {operand.text: planner.want(operand) for operand in operands(from_json(run.revision.tree))}


def _accept_from(run: Run) -> datetime | None:
    """From when on a measurement counts; a scheduled run is satisfied by an early held one, while no data changed."""
    if run.reason != RunReason.SCHEDULE:
        return run.accept_from
    early = Run.objects.filter(
        revision=run.revision_id,
        window_start=run.window_start,
        window_end=run.window_end,
        reason__in=(RunReason.TRIGGER, RunReason.MANUAL),
        evaluated_at__isnull=False,
        outcome=Outcome.HELD,
    ).order_by("-measured_at")
    held = early.first()
    if held is None:
        return run.accept_from
    taken = Measurement.objects.filter(asks__run=held, measured_at__isnull=False).order_by("measured_at")
    first = taken.values_list("measured_at", flat=True).first()
    return first if first and run.accept_from and first < run.accept_from else run.accept_from
