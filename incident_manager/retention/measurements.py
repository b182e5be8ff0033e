"""Measurements: those that no run asks for, nothing builds on, and no history looks back to."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Q

from execution_engine.metrics.registry import METRICS
from execution_engine.models import Ask, Measurement

from .rules import HistoryReach, without_needed
from .verdicts import window_of
from .walk_table import Keeping, PrunedTable, deleting, result_past, rows_of, state_past

KEPT = frozenset(name for name, metric in METRICS.items() if metric.keeps_first)
HAS_STATE = Q(state__isnull=False) | ~Q(state_path="")
# without a state it cannot be taken for a measurement of the same data: it has no fingerprint any more either
FORGOTTEN = {"state": None, "state_path": "", "state_length": 0, "state_checksum": "", "fingerprint": ""}

Row = dict[str, Any]


def _going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    idle = {row["pk"] for row in rows if not _is_history(row, keeping)}
    asked = set(Ask.objects.filter(measurement__in=idle).values_list("measurement_id", flat=True))
    return without_needed(idle - asked, users_of(idle - asked))


def _is_history(row: Row, keeping: Keeping) -> bool:
    """Whether verdicts to come, or those in trouble, look back to it."""
    window, before = window_of(row), keeping.terms.results
    assert before is not None
    if keeping.kept.holds_dataset(row["dataset_id"], window):
        return True
    reach = keeping.reaches().get((row["dataset_id"], name_of(row)), HistoryReach())
    return reach.needs(window, before=before, now=keeping.now)


def name_of(row: Row) -> str:
    """The name of a measurement's metric."""
    return str(row["spec_text"]).partition("(")[0]


def users_of(keys: Collection[int]) -> dict[int, list[int]]:
    """The ids of the measurements that build on these."""
    link = Measurement.inputs.through
    found: defaultdict[int, list[int]] = defaultdict(list)
    pairs = link.objects.filter(to_measurement__in=keys).values_list("to_measurement_id", "from_measurement_id")
    for part, user in pairs:
        found[part].append(user)
    return found


def _states_going(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All but the samples, and what something builds on that is not measured yet."""
    found = {row["pk"] for row in rows if row["has_state"] and name_of(row) not in KEPT}
    users = users_of(found)
    waiting = Measurement.objects.filter(pk__in={pk for each in users.values() for pk in each}, measured_at=None)
    pending = set(waiting.values_list("pk", flat=True))
    return {pk for pk in found if pending.isdisjoint(users.get(pk, ()))}


MEASUREMENTS = PrunedTable(
    name="measurements",
    rows=rows_of(Measurement, "dataset_id", "spec_text", "window_start", "window_end", "measured_at"),
    is_old=result_past("measured_at"),
    going=_going,
    remove=deleting(Measurement),
)
STATES = PrunedTable(
    name="states",
    rows=lambda: Measurement.objects.values("pk", "spec_text", "requested_at", has_state=HAS_STATE),
    is_old=state_past("requested_at"),
    going=_states_going,
    remove=lambda keys: Measurement.objects.filter(pk__in=keys).update(**FORGOTTEN),
    goes_on=True,
)
