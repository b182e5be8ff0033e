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
from execution_engine.novelty.verdict import Cause, NoveltyStatus, NoveltyVerdict
from execution_engine.outcome import Failure, Reason

from .serialise import number_shown
from .tree import History, HistoryFunction

if TYPE_CHECKING:
    from execution_engine.novelty.days import Day
    from execution_engine.novelty.past import Past
    from execution_engine.profiles.profile import TableProfile

V = TypeVar("V", covariant=True)
EXPECTED = "expected"  # in the findings of a verdict: each anomaly's value, and between what it was expected
NOVEL = "novelty"  # in the findings of a verdict: what moved in each operand
MOST_SAID = 3  # causes of novelty in a sentence
MOST_TOLD = 10  # in the findings
MOST_DRAWN = 3  # of which the past is told too


@dataclass(frozen=True, kw_only=True)
class WithPast(Generic[V]):
    """A value now, and those of the windows before, the oldest first, None where one is not known.

    ``when`` are the local starts of the windows before, ``at`` that of the window now, without a zone.
    """

    now: V
    past: Sequence[V | None]
    when: Sequence[datetime]
    at: datetime


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchWithPast:
    """A batch and the accepted ones before it; ``windows`` are the keys of the last of these, in their order."""

    profile: "TableProfile"
    past: "Past"
    windows: Sequence[str]
    may_be_empty: bool = False  # no rows are no news
    day: "Day | None" = None  # of the batch
    novel_before: int = 0  # windows in a row directly before it that are novel, and that nobody has answered


@dataclass(frozen=True, kw_only=True)
class ScoredWindow:
    """An anomaly or novelty as a number, above 1 where the window is not as expected, and what led to it."""

    kind: str  # EXPECTED or NOVEL
    score: float
    sentence: str  # empty where there is nothing to say
    finding: Mapping[str, Any]  # as JSON


def past_of_group(
    key: GroupKey, windows: Sequence[Mapping[GroupKey, Number | None] | None], absent: Number | None
) -> list[Number | None]:
    """One group's past values; before it was first seen it has none, and then ``absent`` where it is missing."""
    first = next((at for at, groups in enumerate(windows) if groups and key in groups), len(windows))
    return [None if groups is None or at < first else groups.get(key, absent) for at, groups in enumerate(windows)]


def _warming_up(history: History, count: int, windows: str = "past windows") -> Failure:
    detail = f"{history.text} has {count} of the {history.needed} {windows} it needs; wait for more"
    return Failure(reason=Reason.WARMING_UP, detail=detail)


def deviation(values: Sequence[Number]) -> float:
    """The standard deviation of the population, as the metric of the same name; exactly 0 for equal values.

    Not statistics.pstdev: its fractions take 13 ms for a thousand values of all magnitudes.
    """
    if min(values) == max(values):
        return 0.0
    mean = statistics.fmean(values)
    return hypot(*(float(value) - mean for value in values)) / sqrt(len(values))


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
    numbers = [number_of(value) for value in values[-history.last :] if value is not None and isfinite(value)]
    if len(numbers) < max(1, history.needed):
        return _warming_up(history, len(numbers))
    try:
        return FUNCTIONS[history.function](numbers)
    except OverflowError:
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.text} is too large to be held")


def anomaly(history: History, values: WithPast[Number | None]) -> ScoredWindow | Failure | None:
    """The value now against the interval that the strategy of ``history`` expects; NULL stays NULL."""
    pairs = zip(values.when, values.past, strict=True)
    measured = [(when, float(value)) for when, value in pairs if value is not None and isfinite(value)]
    if len(measured) < max(1, history.needed):
        return _warming_up(history, len(measured))
    if values.now is None:
        return None
    if not isfinite(values.now):
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.metric.text} is {values.now}")
    detector = history.detector
    series = Series(
        values=tuple(value for _, value in measured), when=tuple(when for when, _ in measured), at=values.at
    )
    expected = detector.expects(series)
    if isnan(sum(expected)) or not any(map(isfinite, expected)):
        return Failure(reason=Reason.NOT_FINITE, detail=f"{history.text} expects no number: its past is too large")
    low, high = detector.interval_on_side(expected)
    bottom, top = (None if abs(end) == inf else number_shown(decimal_of(end)) for end in (low, high))
    if bottom is None:
        interval = "anything" if top is None else f"{top} or less"
    else:
        interval = f"{bottom} or more" if top is None else f"{bottom} to {top}"
    after = f"after {len(measured)} window{'' if len(measured) == 1 else 's'} ({detector.name})"
    return ScoredWindow(
        kind=EXPECTED,
        score=detector.score(float(values.now), expected),
        sentence=f"{history.metric.call} = {number_shown(decimal_of(values.now))}, expected {interval} {after}",
        finding={
            "metric": history.metric.call,
            "value": to_json(values.now),
            "low": None if low == -inf else low,
            "high": None if high == inf else high,
            "windows": len(measured),
            "strategy": detector.name,
        },
    )


def novelty(history: History, batch: BatchWithPast) -> ScoredWindow | Failure:
    """How novel the batch is in units of the threshold, or that too few before it were accepted.

    Where the threshold is 0, the score is 1 and more, or 0.
    """
    from execution_engine.novelty.judge import judge, without_secrets  # with it scipy, for what asks for novelty

    verdict = judge(batch.profile, batch.past, history.method, day=batch.day)
    if batch.may_be_empty and not batch.profile.rows:
        verdict = NoveltyVerdict(status=NoveltyStatus.LIKE, score=0.0, threshold=1.0)
    verdict = replace(verdict, causes=tuple(without_secrets(cause, batch.profile) for cause in verdict.causes))
    count = len(batch.past.batches)
    if verdict.status is NoveltyStatus.LEARNING or count < history.needed:
        return _warming_up(history, count, "accepted windows")
    assert verdict.score is not None
    assert verdict.threshold is not None
    score = 1 + verdict.score if verdict.is_novel else 0.0
    sentence = ""
    if verdict.causes:
        more = len(verdict.causes) - MOST_SAID
        causes = "; ".join([cause.text for cause in verdict.causes[:MOST_SAID]] + [f"and {more} more"] * (more > 0))
        sentence = f"unlike the {count} windows before: {causes}"
        if batch.novel_before >= FURTHER_WINDOWS:
            sentence += f"; {batch.novel_before + 1} novel windows in a row: has the table changed?"
    return ScoredWindow(
        kind=NOVEL,
        score=verdict.score / verdict.threshold if verdict.threshold else score,
        sentence=sentence,
        finding={
            "metric": history.metric.call,
            "method": history.method.value,
            "windows": count,
            "score": verdict.score,
            "threshold": verdict.threshold,
            "notes": list(verdict.notes),
            "causes": [
                _cause_as_json(cause, batch.windows if at < MOST_DRAWN else ())
                for at, cause in enumerate(verdict.causes[:MOST_TOLD])
            ],
        },
    )


def _cause_as_json(cause: Cause, windows: Sequence[str]) -> dict[str, Any]:
    """With the statistic in the ``windows`` before, by their keys; none where nothing was measured."""
    count = min(len(cause.before), len(windows))
    pairs = zip(windows[len(windows) - count :], cause.before[len(cause.before) - count :], strict=True)
    return {
        **cause.as_json(),
        "shown": cause.notation.value,
        "new": [str(value) for value in cause.new_values],
        "past": [[window, value] for window, value in pairs if isfinite(value)],
    }
