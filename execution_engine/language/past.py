"""The functions over past windows: means and medians, what is expected after them, and how unlike them a window is."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import hypot, inf, isfinite, isnan, sqrt
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from execution_engine.anomalies.series import Series
from execution_engine.exact import Number, decimal_of, number_of, to_json
from execution_engine.metrics.states.group_values import GroupKey
from execution_engine.novelty.days import FURTHER_WINDOWS
from execution_engine.novelty.verdict import Cause, Status, Verdict
from execution_engine.outcome import Failure, Reason

from .serialise import number_shown
from .tree import History, HistoryFunction

if TYPE_CHECKING:
    from execution_engine.novelty.days import Day
    from execution_engine.novelty.past import Past
    from execution_engine.profiles.profile import Profile


# How far the value of a window lies from what is expected after the windows before it.

V = TypeVar("V", covariant=True)
EXPECTED = "expected"  # in the findings of a verdict: each anomaly's value, and between what it was expected


@dataclass(frozen=True, kw_only=True)
class WithPast(Generic[V]):
    """A value now, and those of the windows before, the oldest first, None where one is not known.

    ``when`` are the local starts of the windows before, ``at`` that of the window now, without a zone.
    """

    now: V
    past: Sequence[V | None]
    when: Sequence[datetime]
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    """A value and what was expected: ``score`` is above 1 where it lies outside ``low`` to ``high``."""

    metric: str
    value: Number
    low: float
    high: float
    score: float
    windows: int  # that it was expected after
    strategy: str

    @property
    def sentence(self) -> str:
        """``row_count() = 120, expected 950 to 1060 after 58 windows (batch_normal)``."""
        low, high = (None if abs(end) == inf else number_shown(decimal_of(end)) for end in (self.low, self.high))
        expected = "anything"
        if low is not None:
            expected = f"{low} or more" if high is None else f"{low} to {high}"
        elif high is not None:
            expected = f"{high} or less"
        after = f"after {self.windows} window{'' if self.windows == 1 else 's'}"
        return f"{self.metric} = {number_shown(decimal_of(self.value))}, expected {expected} {after} ({self.strategy})"

    @property
    def finding(self) -> dict[str, Any]:
        """As JSON, an open end being null."""
        return {
            "metric": self.metric,
            "value": to_json(self.value),
            "low": None if self.low == -inf else self.low,
            "high": None if self.high == inf else self.high,
            "windows": self.windows,
            "strategy": self.strategy,
        }


def anomaly(history: History, given: WithPast[Number | None]) -> Anomaly | Failure | None:
    """The value now against the interval that the strategy of ``history`` expects; NULL stays NULL."""
    known = [
        (when, float(value))
        for when, value in zip(given.when, given.past, strict=True)
        if value is not None and isfinite(value)
    ]
    if len(known) < max(1, history.needed):
        detail = f"{history.text} has {len(known)} of the {history.needed} past windows it needs; wait for more"
        return Failure(reason=Reason.WARMING_UP, detail=detail)
    if given.now is None:
        return None
    if not isfinite(given.now):
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.metric.text} is {given.now}")
    detector, now = history.detector, float(given.now)
    series = Series(values=tuple(value for _, value in known), when=tuple(when for when, _ in known), at=given.at)
    expected = detector.expects(series)
    if isnan(sum(expected)) or not any(map(isfinite, expected)):
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.text} expects no number: its past is too large")
    low, high = detector.wanted(expected)
    return Anomaly(
        metric=history.metric.call,
        value=given.now,
        low=low,
        high=high,
        score=detector.score(now, expected),
        windows=len(known),
        strategy=detector.name,
    )


def past_of_group(
    key: GroupKey, windows: Sequence[Mapping[GroupKey, Number | None] | None], absent: Number | None
) -> list[Number | None]:
    """One group's past values; before it was first seen it has none, and then ``absent`` where it is missing."""
    first = next((at for at, groups in enumerate(windows) if groups and key in groups), len(windows))
    return [None if groups is None or at < first else groups.get(key, absent) for at, groups in enumerate(windows)]


# The functions over past windows: seed 003's moving means, medians and deviations.


def deviation(values: Sequence[Number]) -> float:
    """The standard deviation of the population; exactly 0 for equal values.

    Not statistics.pstdev: its fractions take 13 ms for a thousand values of all magnitudes.
    """
    if min(values) == max(values):
        return 0.0
    mean = statistics.fmean(values)
    return hypot(*(float(value) - mean for value in values)) / sqrt(len(values))


# stddev is that of the population (numpy's ddof=0), as the metric of the same name is.
FUNCTIONS: dict[HistoryFunction, Callable[[Sequence[Number]], Number]] = {
    HistoryFunction.MEAN: statistics.fmean,
    HistoryFunction.MEDIAN: lambda values: statistics.median(map(float, values)),
    HistoryFunction.STDDEV: deviation,
    HistoryFunction.MIN: min,
    HistoryFunction.MAX: max,
    HistoryFunction.LAST: lambda values: values[-1],
    HistoryFunction.LAG: lambda values: values[-1],
}


def aggregate(history: History, values: Sequence[Number | None]) -> Number | Failure:
    """The function of the past values, newest last, without the missing ones; too few are ``warming up``.

    The values of ``lag`` are the one it asks for, or none.
    """
    known = [number_of(value) for value in values[-history.last :] if value is not None and isfinite(value)]
    if len(known) < max(1, history.needed):
        detail = f"{history.text} has {len(known)} of the {history.needed} past windows it needs; wait for more"
        return Failure(reason=Reason.WARMING_UP, detail=detail)
    try:
        return FUNCTIONS[history.function](known)
    except OverflowError:
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.text} is too large to be held")


# How unlike the batches before it a window's rows are, by what is kept of each.

NOVEL = "novelty"  # in the findings of a verdict: what moved in each operand
MOST_SAID = 3  # causes in a sentence
MOST_TOLD = 10  # in the findings
MOST_DRAWN = 3  # of which the past is told too


@dataclass(frozen=True, kw_only=True, eq=False)
class BesidePast:
    """A batch and the accepted ones before it; ``windows`` are the keys of the last of these, in their order."""

    profile: "Profile"
    past: "Past"
    windows: Sequence[str]
    may_be_empty: bool = False  # no rows are no news
    day: "Day | None" = None  # of the batch
    novel_before: int = 0  # windows in a row directly before it that are novel, and that nobody has answered


@dataclass(frozen=True, kw_only=True, eq=False)
class Novelty:
    """The verdict on a batch as a number: above 1 it is novel."""

    metric: str
    verdict: Verdict
    batches: int
    method: str
    drawn: Mapping[int, list[list[Any]]]
    novel_before: int = 0

    @property
    def score(self) -> float:
        """The score in units of the threshold; where the threshold is 0, 1 and the score, or 0."""
        assert self.verdict.score is not None
        assert self.verdict.threshold is not None
        if self.verdict.threshold:
            return self.verdict.score / self.verdict.threshold
        return 1 + self.verdict.score if self.verdict.is_novel else 0.0

    @property
    def sentence(self) -> str:
        """What moved most; empty where the batch is like those before it."""
        if not self.verdict.causes:
            return ""
        said = "; ".join(cause.text for cause in self.verdict.causes[:MOST_SAID])
        more = len(self.verdict.causes) - MOST_SAID
        sentence = f"unlike the {self.batches} windows before: {said}{f'; and {more} more' if more > 0 else ''}"
        if self.novel_before >= FURTHER_WINDOWS:
            sentence += f"; {self.novel_before + 1} novel windows in a row: has the table changed?"
        return sentence

    @property
    def finding(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "metric": self.metric,
            "method": self.method,
            "windows": self.batches,
            "score": self.verdict.score,
            "threshold": self.verdict.threshold,
            "notes": list(self.verdict.notes),
            "causes": [
                {**_told(cause), "past": self.drawn.get(at, [])}
                for at, cause in enumerate(self.verdict.causes[:MOST_TOLD])
            ],
        }


def novelty(history: History, given: BesidePast) -> Novelty | Failure:
    """The verdict on the window, or that too few before it were accepted."""
    from execution_engine.novelty.judge import (
        judge,
        without_secrets,  # with it scipy, for what asks for novelty
    )

    found = judge(given.profile, given.past, history.method, day=given.day)
    if given.may_be_empty and not given.profile.rows:
        found = Verdict(status=Status.LIKE, score=0.0, threshold=1.0)
    found = replace(found, causes=tuple(without_secrets(cause, given.profile) for cause in found.causes))
    known = len(given.past.batches)
    if found.status is Status.LEARNING or known < history.needed:
        detail = f"{history.text} has {known} of the {history.needed} accepted windows it needs; wait for more"
        return Failure(reason=Reason.WARMING_UP, detail=detail)
    drawn = {at: _past_of(cause, given) for at, cause in enumerate(found.causes[:MOST_DRAWN])}
    return Novelty(
        metric=history.metric.call,
        verdict=found,
        batches=known,
        method=history.method.value,
        drawn=drawn,
        novel_before=given.novel_before,
    )


def _past_of(cause: Cause, given: BesidePast) -> list[list[Any]]:
    """The statistic in the windows before, by their keys; none where nothing was measured."""
    count = min(len(cause.before), len(given.windows))
    pairs = zip(given.windows[len(given.windows) - count :], cause.before[len(cause.before) - count :], strict=True)
    return [[window, value] for window, value in pairs if isfinite(value)]


def _told(cause: Cause) -> dict[str, Any]:
    return {
        "column": cause.column,
        "statistic": cause.statistic,
        "shown": cause.shown.value,
        "value": cause.value,
        "expected": cause.expected,
        "low": cause.low,
        "high": cause.high,
        "z": cause.z if isfinite(cause.z) else None,
        "new": [str(value) for value in cause.new_values],
        "text": cause.text,
    }
