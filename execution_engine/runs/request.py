"""Ask for a run."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from assay.models import Category, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run, RunReason, Suspect, late_at
from execution_engine.outcome import Outcome, Reason
from execution_engine.planning.catalog_sources import is_expired
from execution_engine.planning.schedules import Slot, turn
from execution_engine.quarantine import ONE_BY_ONE

_GIVEN = (
    "data_test",
    "revision",
    "reason",
    "turn",
    "window_start",
    "window_end",
    "requested_at",
    "due_at",
    "late_at",
    "accept_from",
)


def request_run(
    *,
    data_test: DataTest,
    window: Window,
    reason: RunReason,
    occasion: str,
    now: datetime,
    due_at: datetime | None = None,
) -> Run | None:
    """The run of the test's newest revision over ``window``; the same reason and occasion give the same run.

    None where nothing may run: the test is retired, or judges no such window.
    """
    if not is_live(data_test) or not is_judged(data_test, window, now):
        return None
    new = _new_run(data_test, window, reason, occasion, now, due_at or now)
    run, _ = Run.objects.get_or_create(slot=new.slot, defaults={name: getattr(new, name) for name in _GIVEN})
    return run


def request_runs(
    wanted: Iterable[tuple[DataTest, Window, datetime]], *, reason: RunReason, occasion: str, now: datetime
) -> list[Run]:
    """Many runs of live tests as ``request_run`` asks for one, each with its due time, in one statement.

    They come back without their ids, those that were there already as if they were new.
    """
    runs = [
        _new_run(data_test, window, reason, occasion, now, due_at)
        for data_test, window, due_at in wanted
        if is_judged(data_test, window, now)
    ]
    return Run.objects.bulk_create(runs, ignore_conflicts=True)


def request_scheduled(due: Iterable[tuple[DataTest, Sequence[Slot]]], now: datetime) -> None:
    """The scheduled runs of live tests, each once, in one statement; none beyond retention.

    Of several slots of a test the newest is current; the others are made up for once all that is current is done.
    """
    runs = []
    for data_test, slots in due:
        for slot in slots:
            if is_judged(data_test, slot.window, now):
                occasion = slot.due_at.isoformat()
                run = _new_run(data_test, slot.window, RunReason.SCHEDULE, occasion, now, slot.due_at)
                run.turn = turn(data_test.dataset.tier, is_made_up_for=slot != slots[-1])
                runs.append(run)
    Run.objects.bulk_create(runs, ignore_conflicts=True)


def _new_run(
    data_test: DataTest, window: Window, reason: RunReason, occasion: str, now: datetime, due_at: datetime
) -> Run:
    match reason:  # from when on a measurement counts; None: any of this window, while the data is unchanged
        case RunReason.SCHEDULE:
            accept_from: datetime | None = due_at
        case RunReason.BACKTEST:
            accept_from = None
        case RunReason.REVISION:  # freshness is about the instant of looking, so an old look says nothing
            accept_from = due_at if data_test.category == Category.FRESHNESS else None
        case _:
            accept_from = now
    return Run(
        data_test=data_test,
        revision=data_test.revision,
        reason=reason,
        turn=turn(data_test.dataset.tier, is_made_up_for=reason == RunReason.BACKFILL),
        slot=f"{data_test.pk}:{window.text}:{reason}:{occasion}",
        window_start=window.start,
        window_end=window.end,
        requested_at=now,
        due_at=due_at,
        late_at=late_at(due_at=due_at, requested_at=now) if reason == RunReason.SCHEDULE else None,
        accept_from=accept_from,
    )


def is_live(data_test: DataTest) -> bool:
    """Whether a test runs at all: it is not retired, and has been written."""
    return data_test.retired_at is None and data_test.revision is not None


def is_judged(data_test: DataTest, window: Window, now: datetime) -> bool:
    """Whether a test judges a window at all: it is kept, and did not begin before the columns were declared."""
    return not is_expired(data_test.dataset, window, now) and not is_undeclared(data_test, window)


def is_undeclared(data_test: DataTest, window: Window) -> bool:
    """Whether a partition began before the columns were declared that the test holds it to."""
    if data_test.judges_from is None or data_test.scope == Scope.TABLE:
        return False
    return window.start < data_test.judges_from


# Lift a quarantine by hand.

MOST_RUNS = 200  # that lifting one asks for, the newest windows first; the rest wait for their schedule or a check


@transaction.atomic
def lift_quarantine(suspect: Suspect, *, now: datetime) -> list[Run]:
    """Let the metric be measured again, by itself at first; the runs that it had kept from it, requested anew."""
    since, suspect.quarantined_at = suspect.quarantined_at, None
    if since is None:
        return []
    suspect.ends = min(suspect.ends, ONE_BY_ONE)
    suspect.save(update_fields=["quarantined_at", "ends"])
    withheld = Run.objects.filter(
        outcome=Outcome.ERROR, error_reason=Reason.QUARANTINED, evaluated_at__gte=since, data_test__retired_at=None
    ).select_related("data_test__dataset", "data_test__revision")
    places = {(run.data_test_id, run.window): run for run in withheld.order_by("-window_end", "pk")[:MOST_RUNS]}
    occasion = f"lifted:{suspect.pk}:{now.isoformat()}"
    runs = (
        request_run(data_test=run.data_test, window=window, reason=RunReason.MANUAL, occasion=occasion, now=now)
        for (_, window), run in places.items()
    )
    return [run for run in runs if run is not None]
