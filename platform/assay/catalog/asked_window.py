"""The window that a person or a pipeline means: a partition's key, or two instants."""

from datetime import datetime, timedelta

from assay.models import Dataset
from assay.time.windows import UnableToPartition, UnableToReadWindow, Window


def asked_window(dataset: Dataset, text: str) -> Window:
    """The window of a partition key, or of ``START/END`` in ISO 8601; raises UnableToReadWindow."""
    if "/" in text:
        return Window.parse(text).taken()
    if dataset.partitioning is None:
        raise UnableToReadWindow(f"{dataset.full_name} has no partitions: give the window as START/END in ISO 8601")
    try:
        return dataset.partitioning.window(text).taken()
    except UnableToPartition as error:
        raise UnableToReadWindow(f"{dataset.full_name}: {error} Or give START/END in ISO 8601.") from None


def latest_ended(dataset: Dataset, now: datetime) -> Window:
    """The last partition that has ended; for a table without partitions the day up to now."""
    if dataset.partitioning is None:
        return Window(start=now - timedelta(days=1), end=now)
    current = dataset.partitioning.at(now)
    return dataset.partitioning.previous(current)[0]
