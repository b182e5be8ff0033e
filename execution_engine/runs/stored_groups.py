"""The values of groups, read from the states that measurements ``by`` columns have left."""

from collections.abc import Mapping

from assay.time.windows import Window
from execution_engine.language.evaluating.groups import Groups
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, GroupValues, UnableToReadGroups
from execution_engine.models import Measurement
from execution_engine.outcome import Failure, Reason
from execution_engine.parts.row_states import state_of
from execution_engine.parts.state_store import UnableToLoadState
from execution_engine.selectors import latest_measurements

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
    found: list[Groups | None] = []
    keys: dict[GroupKey, GroupKey] = {}  # each held once for all windows
    values = 0
    for measurement in latest_measurements(dataset_id, datacenter, hashes).values():
        groups = None if measurement is None else groups_of(measurement)
        known = None if groups is None or isinstance(groups, Failure) else groups
        found.append(None if known is None else {keys.setdefault(key, key): value for key, value in known.items()})
        values += len(known or ())
        if values > MAX_VALUES:
            return Failure(reason=Reason.INVALID, detail=_TOO_MANY.format(MAX_VALUES))
    return found
