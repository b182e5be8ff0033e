"""The window that a person or a pipeline means: a partition's key, or two instants."""

from collections.abc import Sequence
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


def parse_windows(datasets: Sequence[Dataset], text: str, now: datetime) -> list[Window]:
    """What one text means for each of several datasets; raises UnableToReadWindow.

    A key names a partition of those that have partitions. The others, such as a dimension beside its fact, are meant
    as they lie now.
    """
    is_key = "/" not in text and any(dataset.partitioning for dataset in datasets)
    return [
        latest_ended(dataset, now) if is_key and dataset.partitioning is None else asked_window(dataset, text)
        for dataset in datasets
    ]


def latest_ended(dataset: Dataset, now: datetime) -> Window:
    """The last partition that has ended; for a table without partitions the day up to now."""
    if dataset.partitioning is None:
        return Window(start=now - timedelta(days=1), end=now)
    current = dataset.partitioning.at(now)
    return dataset.partitioning.previous(current)[0]
