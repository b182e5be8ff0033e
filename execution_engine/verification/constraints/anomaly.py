"""``has_no_anomalies``: a metric's value against its own past in a repository."""

from dataclasses import dataclass
from datetime import UTC
from math import inf

from execution_engine.anomalies.expectation import expected
from execution_engine.anomalies.series import Series
from execution_engine.anomalies.strategies import Interval, Strategy, strategy_text
from execution_engine.exact import Number
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .constraints import AskedMetric, Found, Judgement, shown, unable
from .levels import ConstraintStatus

_NO_REPOSITORY = "there are no earlier values: say use_repository(…) before run()"


@dataclass(frozen=True, kw_only=True)
class AnomalyConstraint:
    """The metric lies where the strategy expects it after its earlier values."""

    spec: MetricSpec
    strategy: Strategy
    hint: str = ""

    @property
    def text(self) -> str:
        """The metric and the strategy."""
        return f"has_no_anomalies({self.spec.text}, {strategy_text(self.strategy)})"

    @property
    def asks(self) -> tuple[AskedMetric, ...]:
        """The metric."""
        return (AskedMetric(spec=self.spec),)

    def judge(self, found: Found) -> Judgement:
        """Failure outside the interval expected; learning while there are too few earlier values."""
        measured = found.measured[self.asks[0]]
        failure = measured.failure or self._problem(found, measured.value)
        if failure is not None or measured.value is None:
            unknown = Failure(reason=Reason.UNDEFINED, detail=f"{self.spec.text} is NULL, as it has no values")
            return unable(failure or unknown, metric=self.spec.text)
        series = _series(found, self.asks[0])
        low, high = expected(self.strategy, series)
        bound = _text((low, high))
        said = f"{self.spec.text} = {shown(measured.value)}, wanted {bound}"
        return Judgement(
            status=ConstraintStatus.SUCCESS if low <= measured.value <= high else ConstraintStatus.FAILURE,
            message=f"{said} by {strategy_text(self.strategy)} after {len(series.values)} earlier values",
            metric=self.spec.text,
            bound=bound,
            value=measured.value,
            detail={"earlier": list(series.values[-100:])},
        )

    def _problem(self, found: Found, value: Number | None) -> Failure | None:
        if found.past is None and self.strategy.needed:
            return Failure(reason=Reason.INVALID, detail=f"{self.text}: {_NO_REPOSITORY}")
        known = len(_series(found, self.asks[0]).values)
        if known < self.strategy.needed:
            detail = f"{self.spec.text} has {known} of the {self.strategy.needed} earlier values needed"
            return Failure(reason=Reason.WARMING_UP, detail=detail)
        return None


def _series(found: Found, ask: AskedMetric) -> Series:
    if found.past is None:
        return Series(values=())
    past = found.past(ask)
    *when, at = (each.astimezone(UTC).replace(tzinfo=None) for each in (*(day for day, _ in past.series), past.at))
    return Series(values=tuple(float(value) for _, value in past.series), when=tuple(when), at=at)


def _text(interval: Interval) -> str:
    low, high = interval
    if low == -inf:
        return "anything" if high == inf else f"<= {shown(high)}"
    return f">= {shown(low)}" if high == inf else f"between {shown(low)} and {shown(high)}"
