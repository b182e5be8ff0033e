"""Keep spoilt windows out of the histories that later windows are compared with."""

from collections.abc import Sequence

from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.models import Exclusion


def exclude_window(*, dataset: Dataset, window: Window, datacenter: str = "", holder: str = "") -> None:
    """Leave the window out of every history until each ``holder`` that excluded it includes it again."""
    Exclusion.objects.get_or_create(
        dataset=dataset, datacenter=datacenter, window_start=window.start, window_end=window.end, holder=holder
    )


def include_windows(*, dataset: Dataset, holders: Sequence[str]) -> None:
    """Take back all that these holders excluded."""
    Exclusion.objects.filter(dataset=dataset, holder__in=holders).delete()
