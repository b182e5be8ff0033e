"""How good we are: what scores are made of, and the shares that their times come to."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.time.windows import Window
from incident_manager.incidents.lifecycle import How
from incident_manager.intervals import Intervals, clip, subtract

REAL = frozenset({None, How.AUTO, How.ACCEPTED})  # None: still open
FALSE = frozenset({How.FORCED, How.REDEFINED})


@dataclass(frozen=True, kw_only=True)
class OpenTime:
    """A stretch in which an incident or a report was open; without an end it still is."""

    start: datetime
    end: datetime | None = None

    def meets(self, other: "OpenTime") -> bool:
        """Whether both were open at once."""
        return (other.end is None or self.start < other.end) and (self.end is None or other.start < self.end)


@dataclass(frozen=True, kw_only=True)
class DetectedIncident:
    """An incident that a test found; ``episodes`` run from FAIL to resolved, one more for each re-opening."""

    episodes: tuple[OpenTime, ...]
    how: How | None
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ConfirmedReport:
    """A user's report that was confirmed, from the report to the fix, and the windows it calls bad."""

    episode: OpenTime
    windows: tuple[Window, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Times of one or several datasets; ``total`` is the time in which they were tested, ``bad`` the bad part of it.

    ``open`` if any of it is still going on at the range's end: what is open counts as right, so that precision and
    recall are provisional until it has ended.
    """

    true_positive: timedelta = timedelta(0)
    false_positive: timedelta = timedelta(0)
    false_negative: timedelta = timedelta(0)
    bad: timedelta = timedelta(0)
    total: timedelta = timedelta(0)
    open: bool = False

    @property
    def precision(self) -> float | None:
        """The share of the alerted time that was really bad; None if nothing was alerted."""
        return _share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float | None:
        """The share of the bad time that was alerted; None if nothing was bad."""
        return _share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def bad_share(self) -> float | None:
        """The share of the tested time in which data was bad; None if it was never tested."""
        return _share(self.bad, self.total)

    @property
    def data_quality(self) -> float | None:
        """The data-level quality score, 1 for always good; None if it was never tested."""
        return None if self.bad_share is None else 1 - self.bad_share


@dataclass(frozen=True, kw_only=True)
class QueryScore:
    """The queries of a range; shares and scores are None where there were none."""

    total: int
    failed: int
    failed_without_forced: int

    @property
    def failed_share(self) -> float | None:
        """The share that failed."""
        return self.failed / self.total if self.total else None

    @property
    def quality(self) -> float | None:
        """The query-level quality score, 1 for no failed query."""
        return 1 - self.failed / self.total if self.total else None

    @property
    def quality_without_forced(self) -> float | None:
        """The same without those that only failed by what was later forced."""
        return 1 - self.failed_without_forced / self.total if self.total else None


def score_queries(total: int, failed: Iterable[Iterable[How | None]]) -> QueryScore:
    """The query-level quality of so many queries.

    ``failed`` has one item for each query that any of its tables failed: how each incident behind that has ended since
    (None: not yet).
    """
    hows = [set(each) for each in failed]
    return QueryScore(total=total, failed=len(hows), failed_without_forced=sum(how != {How.FORCED} for how in hows))


def missed(report: ConfirmedReport, detected: Iterable[DetectedIncident], asked: Window) -> Intervals:
    """When a report was the only one to know: its time less that of the dataset's incidents on the same windows."""
    same = (episode for incident in detected if _about(incident, report) for episode in incident.episodes)
    return subtract(_open_times([report.episode], asked), _open_times(same, asked))


def _about(incident: DetectedIncident, report: ConfirmedReport) -> bool:
    if incident.how is How.WITHDRAWN:
        return False
    return any(own.overlaps(claimed) for own in incident.windows for claimed in report.windows)


def _open_times(episodes: Iterable[OpenTime], asked: Window) -> Intervals:
    """The time the episodes were open, clipped to the asked range; one without an end counts up to the range's."""
    ends = ((episode.start, asked.end if episode.end is None else episode.end) for episode in episodes)
    return clip((Window(start=start, end=end) for start, end in ends if start < end), asked)


def _share(part: timedelta, whole: timedelta) -> float | None:
    return part / whole if whole else None
