"""How good we are: precision and recall of incidents in time, and the quality of data and of look-ups."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.windows import Window
from incident_manager.intervals import Intervals, clip, subtract, total, union
from incident_manager.lifecycle import How

REAL = frozenset({None, How.AUTO, How.ACCEPTED})  # None: still open
FALSE = frozenset({How.FORCED, How.REDEFINED})


@dataclass(frozen=True, kw_only=True)
class Episode:
    """A stretch in which an incident or a report was open; without an end it still is."""

    start: datetime
    end: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class DetectedIncident:
    """An incident that a test found; ``episodes`` run from FAIL to resolved, one more for each re-opening."""

    episodes: tuple[Episode, ...]
    how: How | None
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ConfirmedReport:
    """A user's report that was confirmed, from the report to the fix, and the windows it calls bad."""

    episode: Episode
    windows: tuple[Window, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Times of one or several dataset x category; ``open`` if any of it is still going on at the range's end."""

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
        """The share of time in which data was bad."""
        return _share(self.bad, self.total)

    @property
    def data_quality(self) -> float | None:
        """The data-level quality score, 1 for always good."""
        return None if self.bad_share is None else 1 - self.bad_share


def score(incidents: Iterable[DetectedIncident], reports: Iterable[ConfirmedReport], asked: Window) -> Score:
    """The score of one dataset and category over the asked range."""
    detected, confirmed = tuple(incidents), tuple(reports)
    real = _times(detected, REAL, asked)
    false = _times(detected, FALSE, asked)
    missed = union(window for report in confirmed for window in _missed(report, detected, asked))
    episodes = [e for incident in detected if incident.how is not How.WITHDRAWN for e in incident.episodes]
    episodes += [report.episode for report in confirmed]
    return Score(
        true_positive=total(real),
        false_positive=total(subtract(false, real)),
        false_negative=total(subtract(missed, real)),
        bad=total(union((*real, *missed))),
        total=asked.duration,
        open=any(episode.end is None and episode.start < asked.end for episode in episodes),
    )


def combine(scores: Iterable[Score]) -> Score:
    """The score of several datasets and categories together, each weighing by its time."""
    combined = Score()
    for one in scores:
        combined = Score(
            true_positive=combined.true_positive + one.true_positive,
            false_positive=combined.false_positive + one.false_positive,
            false_negative=combined.false_negative + one.false_negative,
            bad=combined.bad + one.bad,
            total=combined.total + one.total,
            open=combined.open or one.open,
        )
    return combined


@dataclass(frozen=True, kw_only=True)
class LookUp:
    """A consumer's question, with how each spoilt window that failed it was healed since (None: not yet)."""

    failed_by: tuple[How | None, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the data was called bad when asked."""
        return bool(self.failed_by)

    @property
    def failed_without_forced(self) -> bool:
        """The same, had nobody been misled by what was later forced as a false positive."""
        return any(how is not How.FORCED for how in self.failed_by)


@dataclass(frozen=True, kw_only=True)
class LookUpScore:
    """The look-ups of a range; shares and scores are None where there were none."""

    total: int
    failed: int
    failed_without_forced: int

    @property
    def failed_share(self) -> float | None:
        """The share that failed."""
        return self.failed / self.total if self.total else None

    @property
    def query_quality(self) -> float | None:
        """The query-level quality score, 1 for no failed look-up."""
        return 1 - self.failed / self.total if self.total else None

    @property
    def query_quality_without_forced(self) -> float | None:
        """The same without those that only failed by what was later forced."""
        return 1 - self.failed_without_forced / self.total if self.total else None


def score_look_ups(look_ups: Iterable[LookUp]) -> LookUpScore:
    """The query-level quality of these look-ups."""
    known = tuple(look_ups)
    return LookUpScore(
        total=len(known),
        failed=sum(look_up.failed for look_up in known),
        failed_without_forced=sum(look_up.failed_without_forced for look_up in known),
    )


def _times(incidents: Iterable[DetectedIncident], hows: frozenset[How | None], asked: Window) -> Intervals:
    return _open_times((e for incident in incidents if incident.how in hows for e in incident.episodes), asked)


def _open_times(episodes: Iterable[Episode], asked: Window) -> Intervals:
    """The time the episodes were open, clipped to the asked range; one without an end counts up to the range's."""
    ends = ((episode.start, asked.end if episode.end is None else episode.end) for episode in episodes)
    return clip((Window(start=start, end=end) for start, end in ends if start < end), asked)


def _missed(report: ConfirmedReport, detected: Iterable[DetectedIncident], asked: Window) -> Intervals:
    """When a report was the only one to know: its time less that of detected incidents on the same windows."""
    same = (e for incident in detected if _about(incident, report) for e in incident.episodes)
    return subtract(_open_times([report.episode], asked), _open_times(same, asked))


def _about(incident: DetectedIncident, report: ConfirmedReport) -> bool:
    if incident.how is How.WITHDRAWN:
        return False
    return any(own.overlaps(claimed) for own in incident.windows for claimed in report.windows)


def _share(part: timedelta, whole: timedelta) -> float | None:
    return part / whole if whole else None
