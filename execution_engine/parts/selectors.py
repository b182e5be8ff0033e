"""The state of a measurement, and whether a dataset's states are kept."""

from assay.config import config
from assay.models import Dataset, DataTest, Scope
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


def keeps_states(dataset: Dataset) -> bool:
    """Whether some live test reads more than one partition of it at once."""
    return DataTest.objects.filter(dataset=dataset, scope=Scope.TABLE, retired_at__isnull=True).exists()
