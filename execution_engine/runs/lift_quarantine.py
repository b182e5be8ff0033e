"""Lift a quarantine by hand."""

from datetime import datetime

from django.db import transaction

from execution_engine.models import Run, RunReason, Suspect
from execution_engine.outcome import Outcome, Reason
from execution_engine.quarantine.rules import ONE_BY_ONE

from .request import request_run

MOST_RUNS = 200  # that lifting one asks for, the newest windows first; the rest wait for their schedule or a check


@transaction.atomic
def lift_quarantine(suspect: Suspect, *, now: datetime) -> list[Run]:
    """Let the metric be measured again, by itself at first; the runs that it had kept from it, requested anew."""
    since, suspect.quarantined_at = suspect.quarantined_at, None
    if since is None:
        return []
    suspect.ends = min(suspect.ends, ONE_BY_ONE)
    suspect.save(update_fields=["quarantined_at", "ends"])
    kept_from_it = Run.objects.filter(
        outcome=Outcome.ERROR, error_reason=Reason.QUARANTINED, evaluated_at__gte=since, data_test__retired_at=None
    ).select_related("data_test__dataset", "data_test__revision")
    places = {(run.data_test_id, run.window): run for run in kept_from_it.order_by("-window_end", "pk")[:MOST_RUNS]}
    occasion = f"lifted:{suspect.pk}:{now.isoformat()}"
    runs = (
        request_run(data_test=run.data_test, window=window, reason=RunReason.MANUAL, occasion=occasion, now=now)
        for (_, window), run in places.items()
    )
    return [run for run in runs if run is not None]
