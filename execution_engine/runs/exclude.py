"""Keep spoilt windows out of the histories that later windows are compared with; let in what users call right."""

from collections.abc import Sequence
from datetime import datetime

from assay.models import Dataset, DataTest
from assay.time.windows import Window
from execution_engine.models import Exclusion, Release


def exclude_window(
    *, dataset: Dataset, window: Window, datacenter: str = "", holder: str = "", test: DataTest | None = None
) -> None:
    """Leave the window out of every history until each ``holder`` that excluded it includes it again.

    ``test``: the one that found the window spoilt.
    """
    Exclusion.objects.get_or_create(
        dataset=dataset,
        datacenter=datacenter,
        window_start=window.start,
        window_end=window.end,
        holder=holder,
        defaults={"data_test": test},
    )


def include_windows(*, dataset: Dataset, holders: Sequence[str]) -> None:
    """Take back all that these holders excluded."""
    Exclusion.objects.filter(dataset=dataset, holder__in=holders).delete()


def release_window(*, test: DataTest, window: Window, until: datetime | None, is_wrong: bool = False) -> None:
    """A user says that what the test found novel is right: until then the batch is part of the past.

    ``is_wrong``: the user says that the data is bad, and the batch is never part of it.
    """
    said = {"until": until, "is_wrong": is_wrong}
    Release.objects.update_or_create(data_test=test, window_start=window.start, window_end=window.end, defaults=said)


def take_release_back(*, test: DataTest, window: Window) -> None:
    """Nobody says so any more."""
    Release.objects.filter(data_test=test, window_start=window.start, window_end=window.end).delete()
