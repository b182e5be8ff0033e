"""Measurements: those that no run asks for, nothing builds on, and no history looks back to."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet

from assay.database.bulk import update_each
from execution_engine.metrics.definitions.profile import PROFILE
from execution_engine.metrics.registry import METRICS
from execution_engine.models import Ask, Measurement
from execution_engine.parts.row_states import STATE, keep_state, state_of
from execution_engine.parts.state_store import UnableToLoadState

from . import rules
from .rules import HistoryReach, without_needed
from .verdicts import window_of
from .walk_table import Keeping, PrunedTable, deleting, everything, result_past, rows_of, state_past

KEPT = frozenset(name for name, metric in METRICS.items() if metric.kept_while_missed) | {PROFILE.name}
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


def _reduce_profiles(keys: Collection[int]) -> int:
    """Keep of each profile what a past is made anew from; one that cannot be read stays as it is."""
    from execution_engine.profiles.column import KEPT as OF_A_PROFILE  # with it numpy, for which no gate should wait
    from execution_engine.profiles.stored import from_bytes, to_bytes

    reduced = []
    for row in Measurement.objects.filter(pk__in=keys):
        with suppress(UnableToLoadState, ValueError):
            keep_state(row, to_bytes(from_bytes(state_of(row)).reduced(OF_A_PROFILE)))
            reduced.append(row)
    update_each(reduced, STATE)
    return len(reduced)


def _profiles() -> QuerySet[Any, Any]:
    """Those that have states."""
    rows = Measurement.objects.filter(HAS_STATE, spec_text__startswith=f"{PROFILE.name}(")
    return rows.values("pk", "requested_at")


def _older_than(age: timedelta) -> Callable[[Row, Keeping], bool]:
    return lambda row, keeping: row["requested_at"] < keeping.now - age


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
WHOLE_PROFILES = PrunedTable(
    name="whole_profiles",
    rows=_profiles,
    is_old=_older_than(rules.WHOLE_PROFILES),
    going=everything,
    remove=_reduce_profiles,
    goes_on=True,
)
PROFILES = PrunedTable(
    name="profiles",
    rows=_profiles,
    is_old=_older_than(rules.PROFILES),
    going=everything,
    remove=lambda keys: Measurement.objects.filter(pk__in=keys).update(**FORGOTTEN),
    goes_on=True,
)
