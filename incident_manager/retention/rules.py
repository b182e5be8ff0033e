"""What has had its time, and what must stay although it has (pure)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from assay.time.windows import Window

WHOLE_PROFILES = timedelta(days=2)  # then what is kept of a profile is enough to make a past anew
PROFILES = timedelta(days=90)


@dataclass(frozen=True, kw_only=True)
class RetentionTerms:
    """Until when rows have had their time; None: they are kept for ever."""

    results: datetime | None
    states: datetime | None


def terms(now: datetime, *, run_days: int, state_days: int) -> RetentionTerms:
    """The terms at ``now``; states never outlive the results that they belong to."""
    results = now - timedelta(days=run_days) if run_days else None
    states = now - timedelta(days=state_days) if state_days else None
    return RetentionTerms(results=results, states=max((at for at in (results, states) if at), default=None))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Where something is wrong, so that all that is known of it stays: the verdict rests on it."""

    tests: Mapping[int, Sequence[Window]] = field(default_factory=dict)  # of partitions, with what a streak reaches
    tables: Collection[int] = ()  # tests of whole tables
    datasets: Mapping[int, Sequence[Window]] = field(default_factory=dict)

    def holds_test(self, data_test: int, window: Window) -> bool:
        """Whether the verdict on a window of this test rests on what is known of ``window``."""
        return data_test in self.tables or _overlaps(self.tests.get(data_test, ()), window)

    def holds_dataset(self, dataset: int, window: Window) -> bool:
        """Whether anything of this dataset is wrong in ``window``."""
        return _overlaps(self.datasets.get(dataset, ()), window)


def _overlaps(windows: Sequence[Window], window: Window) -> bool:
    return any(each.overlaps(window) for each in windows)


def streak_reach(*, sustain: timedelta, period: timedelta) -> timedelta:
    """How far around a window its streak looks; none where windows come more rarely than the sustain."""
    return 2 * (sustain + period) if period < sustain else timedelta(0)


def is_past(instants: Sequence[datetime | None], before: datetime) -> bool:
    """Whether all of these instants were before; one that has not come yet was not."""
    return all(instant is not None and instant < before for instant in instants)


@dataclass(frozen=True, kw_only=True)
class HistoryReach:
    """From which window on values of one metric of a dataset serve as history: of today's windows, or of all kept."""

    history: timedelta = timedelta(0)  # that an assertion asks for, of any window that is still judged
    usual: timedelta = timedelta(0)  # that tells what is usual now

    def needs(self, window: Window, *, before: datetime, now: datetime) -> bool:
        """Whether a window whose own results have had their time is history of one that has not."""
        return window.end > min(before - self.history, now - self.usual)


def without_needed(candidates: Collection[int], users: Mapping[int, Collection[int]]) -> set[int]:
    """Those candidates that nothing builds on but other candidates, which go with them."""
    gone = set(candidates)
    while needed := {row for row in gone if any(user not in gone for user in users.get(row, ()))}:
        gone -= needed
    return gone
