"""Ask for runs of many tests of one dataset, as people do when they want to know now: of one window, or of the past."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.catalog.place_limits import MOST, reach
from assay.catalog.selectors import begins_at
from assay.database.statements import in_parts
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Run, RunReason

from .request import is_live, is_undeclared, request_runs
from .schedule import whole_window

MOST_RUNS = 2000  # of one request, whose answer lists them


class UnableToRequest(ValueError):
    """A range that cannot be run as it was asked for; the message says how to ask."""


@dataclass(frozen=True, kw_only=True)
class RequestedRuns:
    """The runs, and by the names of other tests why they do not run."""

    runs: tuple[Run, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a back-fill costs: each test of a partition runs over each of the partitions."""

    partitions: int
    tests: int

    @property
    def runs(self) -> int:
        """How many runs it asks for."""
        return self.partitions * self.tests


def request_all(
    dataset: Dataset, window: Window, *, names: Collection[str] = (), occasion: str, now: datetime
) -> RequestedRuns:
    """Runs of these live tests, or of all that judge a partition where none is named; one occasion asks once.

    A test of a partition runs over each partition of a longer window by itself: a back-fill, the newest first, after
    all that is current. A test of the whole table runs over all of it, and only if it is named or the dataset has no
    partitions. Raises UnableToRequest.
    """
    tests = _tests_of(dataset, names)
    parts = partitions_to_run(dataset, window, now)
    over: dict[DataTest, Sequence[Window]] = dict.fromkeys(tests, parts)
    for test in tests:
        if test.scope == Scope.TABLE and test.dataset.partitioning is not None:
            whole = whole_window(test, now)  # all of it that is due, as one
            over[test] = (whole,) if whole else ()
    if (number := sum(map(len, over.values()))) > MOST_RUNS:
        raise UnableToRequest(
            f"{window.text} has {len(parts)} partitions, which makes {number} runs: one request has at most "
            f"{MOST_RUNS}. Ask for it in parts."
        )
    # partition by partition, so that the newest are claimed first
    live = [test for test in over if is_live(test)]
    whole_tables = [(test, own, now) for test in live for own in over[test] if over[test] is not parts]
    single = [(test, part, now) for part in parts for test in live if over[test] is parts]
    reason = RunReason.BACKFILL if len(parts) > 1 else RunReason.MANUAL
    slots = [
        run.slot
        for wanted, why in ((whole_tables, RunReason.MANUAL), (single, reason))
        for run in request_runs(wanted, reason=why, occasion=occasion, now=now)
    ]
    runs = [
        run
        for part in in_parts(slots)
        for run in Run.objects.filter(slot__in=part).select_related("data_test__dataset", "revision")
    ]
    runs.sort(key=lambda run: (-run.window_start.timestamp(), run.data_test.name))
    running = {run.data_test_id for run in runs}
    left_out = {test.name: _why_not(test, own) for test, own in over.items() if test.pk not in running}
    known = {test.name for test in over}
    unknown = {name: f"{dataset.full_name} has no live test of this name" for name in names if name not in known}
    return RequestedRuns(runs=tuple(runs), left_out=left_out | unknown)


def partitions_to_run(dataset: Dataset, window: Window, now: datetime) -> Sequence[Window]:
    """The partitions of a window that are run by themselves, the newest first; itself where it is one, or has none.

    Of a longer window those that have ended, that are kept, and that begin no earlier than the table does. Raises
    UnableToRequest where there is none, or it cuts through one.
    """
    partitioning = dataset.partitioning
    if partitioning is None or partitioning.tile(window, 1) == (window,):
        return (window,)
    within = reach(window, partitioning, now=now, begins_at=begins_at(dataset), retention=dataset.retention)
    if within:
        first, last = partitioning.at(window.start), partitioning.at(window.end)
        if first.start != window.start or last.start != window.end:
            end = window.end if last.start == window.end else last.end
            whole = Window(start=first.start, end=end)
            raise UnableToRequest(f"{window.text} cuts through a partition: name whole ones, such as {whole.text}")
    tiles = tuple(partitioning.between(within.start, within.end)) if within else ()
    ended = [tile for tile in reversed(tiles) if tile.end <= now]
    if not ended:
        raise UnableToRequest(f"no partition of {dataset.full_name} in {window.text} has ended and is kept")
    return ended


def last_partitions(dataset: Dataset, number: int, now: datetime) -> Window:
    """The window of the last partitions that have ended; raises UnableToRequest where a dataset has no partitions."""
    if not 0 < number <= MOST:
        raise UnableToRequest(f"the number of partitions is from 1 to {MOST}, not {number}")
    if dataset.partitioning is None:
        raise UnableToRequest(f"{dataset.full_name} has no partitions: its tests judge the whole table")
    before = dataset.partitioning.previous(dataset.partitioning.at(now), number)
    return Window(start=before[0].start, end=before[-1].end)


def cost_of(dataset: Dataset, window: Window, now: datetime) -> Cost | None:
    """What a back-fill of a window costs; None where there is nothing to run."""
    try:
        parts = partitions_to_run(dataset, window, now)
    except UnableToRequest:
        return None
    tests = sum(map(is_live, _tests_of(dataset, ())))
    return Cost(partitions=len(parts), tests=tests) if tests else None


def _tests_of(dataset: Dataset, names: Collection[str]) -> list[DataTest]:
    tests = dataset.data_tests.filter(retired_at__isnull=True).order_by("name").select_related("dataset", "revision")
    if names:
        tests = tests.filter(name__in=names)
    elif dataset.partitioning:
        tests = tests.filter(scope=Scope.PARTITION)
    return list(tests)


def _why_not(test: DataTest, over: Sequence[Window]) -> str:
    if test.revision is None:
        return "it has no assertion yet"
    if not over:
        return "no partition of the table is due yet"
    if all(is_undeclared(test, window) for window in over):
        return "the window began before the dataset's columns were declared as they are"
    return "the window is beyond the dataset's retention"
