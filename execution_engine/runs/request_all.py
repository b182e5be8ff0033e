"""Ask for runs of many tests of one dataset over one window, as people do when they want to know now."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run, RunReason

from .request import is_live, is_undeclared, request_runs
from .schedule import whole_window


@dataclass(frozen=True, kw_only=True)
class RequestedRuns:
    """The runs, and by the names of other tests why they do not run."""

    runs: tuple[Run, ...]
    left_out: Mapping[str, str]


def request_all(
    dataset: Dataset, window: Window, *, names: Collection[str] = (), occasion: str, now: datetime
) -> RequestedRuns:
    """Runs of these live tests, or of all that judge a partition where none is named; one occasion asks once.

    A test of the whole table runs over all of it, and only if it is named or the dataset has no partitions.
    """
    tests = dataset.data_tests.filter(retired_at__isnull=True).order_by("name").select_related("dataset", "revision")
    if names:
        tests = tests.filter(name__in=names)
    elif dataset.partitioning:
        tests = tests.filter(scope=Scope.PARTITION)
    over = {test: _over(test, window, now) for test in tests}
    due = [(test, part, now) for test, part in over.items() if part and is_live(test)]
    asked = request_runs(due, reason=RunReason.MANUAL, occasion=occasion, now=now)
    found = Run.objects.filter(slot__in=[run.slot for run in asked]).select_related("data_test__dataset", "revision")
    runs = tuple(found.order_by("data_test__name"))
    running = {run.data_test_id for run in runs}
    left_out = {test.name: _why_not(test, part) for test, part in over.items() if test.pk not in running}
    known = {test.name for test in over}
    unknown = {name: f"{dataset.full_name} has no live test of this name" for name in names if name not in known}
    return RequestedRuns(runs=runs, left_out=left_out | unknown)


def _over(test: DataTest, window: Window, now: datetime) -> Window | None:
    """The window asked for; of a test of a whole table that has partitions, all of it that is due."""
    is_whole = test.scope == Scope.TABLE and test.dataset.partitioning is not None
    return whole_window(test, now) if is_whole else window


def _why_not(test: DataTest, over: Window | None) -> str:
    if test.revision is None:
        return "it has no assertion yet"
    if over is None:
        return "no partition of the table is due yet"
    if is_undeclared(test, over):
        return "the window began before the dataset's columns were declared as they are"
    return "the window is beyond the dataset's retention"
