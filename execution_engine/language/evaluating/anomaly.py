"""How far the value of a window lies from what is expected after the windows before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf, isfinite, isnan
from typing import Any, Generic, TypeVar

from execution_engine.anomalies.series import Series
from execution_engine.exact import Number, to_json
from execution_engine.language.tree import History
from execution_engine.metrics.states.group_values import GroupKey
from execution_engine.outcome import Failure, Reason

from .number import quantity
from .sentence import number_shown

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
        low, high = (None if abs(end) == inf else number_shown(quantity(end)) for end in (self.low, self.high))
        expected = "anything"
        if low is not None:
            expected = f"{low} or more" if high is None else f"{low} to {high}"
        elif high is not None:
            expected = f"{high} or less"
        after = f"after {self.windows} window{'' if self.windows == 1 else 's'}"
        return f"{self.metric} = {number_shown(quantity(self.value))}, expected {expected} {after} ({self.strategy})"

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


def of_group(given: WithPast[Any], key: GroupKey, absent: Number | None) -> WithPast[Number | None]:
    """One group's value and past; before it was first seen it has none."""
    first = next((at for at, groups in enumerate(given.past) if groups and key in groups), len(given.past))
    past = [None if groups is None or at < first else groups.get(key, absent) for at, groups in enumerate(given.past)]
    return WithPast(now=given.now.get(key, absent), past=past, when=given.when, at=given.at)
