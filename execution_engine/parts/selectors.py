"""The state of a measurement, and which datasets' states are kept."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, QuerySet

from assay.config import config
from assay.models import DataTest, Scope
from execution_engine.models import Measurement

from .state_store import StoredState, load_state


def state_of(measurement: Measurement) -> bytes:
    """The measurement's state, wherever it is kept; raises UnableToReadState."""
    if not measurement.state_path:
        return bytes(measurement.state or b"")
    stored = StoredState(
        path=measurement.state_path, length=measurement.state_length, checksum=measurement.state_checksum
    )
    return load_state(config().states, stored)


def keeps_states(dataset_id: str) -> Exists:
    """The same of one dataset as a condition, for a query of rows with a column of that name."""
    return Exists(_reading_all().filter(dataset=OuterRef(dataset_id)))


def keeping_states(ids: Collection[int]) -> set[int]:
    """Those of the datasets (ids) of which some live test reads more than one partition at once."""
    return set(_reading_all().filter(dataset__in=ids).values_list("dataset_id", flat=True))


def _reading_all() -> QuerySet[DataTest]:
    return DataTest.objects.filter(scope=Scope.TABLE, retired_at__isnull=True)
