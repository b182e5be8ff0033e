"""What a score is, by arithmetic on intervals: a dataset and a category at a time, as slow as it is plain.

``incident_manager.scores.rules`` computes the same of many datasets at once, and is held to this.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from assay.time.windows import Window
from incident_manager.incidents.lifecycle import FALSE, REAL, How
from incident_manager.intervals import Intervals, clip, subtract, total, union
from incident_manager.scores.rules import Score


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
class Record:
    """What counts for one dataset and category; ``tested`` begins with its first test (None: nothing tested it yet)."""

    incidents: tuple[DetectedIncident, ...] = ()
    reports: tuple[ConfirmedReport, ...] = ()
    tested: Window | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetScore:
    """The score of one dataset: of the whole, and of each category by itself."""

    whole: Score
    by_category: Mapping[str, Score]


def score(record: Record, asked: Window, *, detected: Iterable[DetectedIncident]) -> Score:
    """The score of one dataset and category over the asked range.

    ``detected`` are the detected incidents of the dataset, of any category: on the windows of a report they shorten
    what was missed.
    """
    real, missed = _real(record, asked), _missed(record, tuple(detected), asked)
    false = _times(record.incidents, FALSE, asked)
    tested = _tested([record], asked)
    return Score(
        true_positive=total(real),
        false_positive=total(subtract(false, real)),
        false_negative=total(subtract(missed, real)),
        bad=_bad_in(tested, (*real, *missed)),
        total=tested.duration if tested else timedelta(0),
        open=any(episode.end is None and episode.start < asked.end for episode in _episodes(record)),
    )


def score_dataset(
    records: Mapping[str, Record], asked: Window, *, detected: Iterable[DetectedIncident]
) -> DatasetScore:
    """The score of a dataset from its records by category.

    Times of precision and recall are added up over the categories. The data is bad while any category says so: an hour
    that is bad in two categories is one bad hour, and one more category does not make the data better.
    """
    known = tuple(detected)
    by_category = {category: score(record, asked, detected=known) for category, record in records.items()}
    tested = _tested(records.values(), asked)
    bad = [w for record in records.values() for w in (*_real(record, asked), *_missed(record, known, asked))]
    whole = replace(
        combine(by_category.values()), bad=_bad_in(tested, bad), total=tested.duration if tested else timedelta(0)
    )
    return DatasetScore(whole=whole, by_category=by_category)


def combine(scores: Iterable[Score]) -> Score:
    """The score of several datasets together, each weighing by its time."""
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


def _episodes(record: Record) -> Iterable[OpenTime]:
    for incident in record.incidents:
        if incident.how is not How.WITHDRAWN:
            yield from incident.episodes
    for report in record.reports:
        yield report.episode


def _tested(records: Iterable[Record], asked: Window) -> Window | None:
    """The part of the asked range from the first test of any of the records to the end of the last."""
    known = [record.tested for record in records if record.tested]
    if not known:
        return None
    span = Window(start=min(window.start for window in known), end=max(window.end for window in known))
    return next(iter(clip([span], asked)), None)


def _bad_in(tested: Window | None, bad: Iterable[Window]) -> timedelta:
    return total(clip(bad, tested)) if tested else timedelta(0)


def _real(record: Record, asked: Window) -> Intervals:
    return _times(record.incidents, REAL, asked)


def _missed(record: Record, detected: tuple[DetectedIncident, ...], asked: Window) -> Intervals:
    """When reports were the only ones to know: their time less that of detected incidents on the same windows."""
    return union(window for report in record.reports for window in missed(report, detected, asked))


def missed(report: ConfirmedReport, detected: Iterable[DetectedIncident], asked: Window) -> Intervals:
    """When a report was the only one to know: its time less that of the dataset's incidents on the same windows."""
    same = (episode for incident in detected if _about(incident, report) for episode in incident.episodes)
    return subtract(_open_times([report.episode], asked), _open_times(same, asked))


def _about(incident: DetectedIncident, report: ConfirmedReport) -> bool:
    if incident.how is How.WITHDRAWN:
        return False
    return any(own.overlaps(claimed) for own in incident.windows for claimed in report.windows)


def _times(incidents: Iterable[DetectedIncident], hows: frozenset[How | None], asked: Window) -> Intervals:
    return _open_times((e for incident in incidents if incident.how in hows for e in incident.episodes), asked)


def _open_times(episodes: Iterable[OpenTime], asked: Window) -> Intervals:
    """The time the episodes were open, clipped to the asked range; one without an end counts up to the range's."""
    ends = ((episode.start, asked.end if episode.end is None else episode.end) for episode in episodes)
    return clip((Window(start=start, end=end) for start, end in ends if start < end), asked)
