"""What a user's function sees of a column's distribution."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .constraints import AskedMetric, ConstraintStatus, Found, Judgement, name_of, unable

HoldsOfHistogram = Callable[["Histogram"], object]


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often each value of a column occurs. A function that ``has_histogram_values`` takes is given one.

    Fields:
        bins: the number of different values; null is one.
        counts: the number of rows with a value, by the value as Spark writes it, or None for null. Where there are more
            than 1,000 different values, only the most frequent 1,000 are here.
        ratios: the same as shares of all rows, from 0 to 1.

    Errors: none.

    Example:
        >>> found = Histogram(bins=2, counts={"rome": 3, None: 1}, ratios={"rome": 0.75, None: 0.25})
        >>> found.bins
        2
    """

    bins: int
    counts: Mapping[str | None, int] = field(default_factory=dict)
    ratios: Mapping[str | None, float] = field(default_factory=dict)

    def count(self, value: object) -> int:
        """The number of the rows that have a value; 0 for a value that is not among those kept.

        Parameters:
            value: the value, as a text, number or boolean; None for null. A float is written as Python writes it.

        Errors: none.

        Example:
            >>> found.count("rome"), found.count("oslo")
            (3, 0)
        """
        return self.counts.get(_key(value), 0)

    def ratio(self, value: object) -> float:
        """The share of the rows, from 0 to 1, that have a value; 0 for a value that is not among those kept.

        Parameters:
            value: the value, as a text, number or boolean; None for null. A float is written as Python writes it.

        Errors: none.

        Example:
            >>> found.ratio("rome"), found.ratio("oslo")
            (0.75, 0.0)
        """
        return self.ratios.get(_key(value), 0.0)


def _key(value: object) -> str | None:
    """The value as Spark writes it."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def histogram_of(measured: Measured) -> Histogram:
    """The histogram that a measurement's detail holds."""
    found = measured.detail.get("bins", [])
    return Histogram(
        bins=int(measured.value or 0),
        counts={each["value"]: int(each["count"]) for each in found},
        ratios={each["value"]: float(each["ratio"]) for each in found},
    )


@dataclass(frozen=True, kw_only=True)
class HistogramConstraint:
    """The user's function holds of a column's histogram."""

    column: str
    holds: HoldsOfHistogram
    spec: MetricSpec
    hint: str = ""

    @property
    def text(self) -> str:
        """The column."""
        return f"has_histogram_values({self.column})"

    @property
    def asks(self) -> tuple[AskedMetric, ...]:
        """The histogram."""
        return (AskedMetric(spec=self.spec),)

    def judge(self, found: Found) -> Judgement:
        """Success where the function returns a truth."""
        measured = found.measured[self.asks[0]]
        bound = f"meets {name_of(self.holds)}"
        if measured.failure is not None:
            return unable(measured.failure, metric=self.spec.text, bound=bound)
        try:
            met = bool(self.holds(histogram_of(measured)))
        except Exception as error:  # the user's own function may raise whatever it likes
            detail = f"{self.text}: the function raised {error!r}; mend it"
            return unable(Failure(reason=Reason.INVALID, detail=detail), metric=self.spec.text, bound=bound)
        return Judgement(
            status=ConstraintStatus.SUCCESS if met else ConstraintStatus.FAILURE,
            message=f"{self.spec.text} has {int(measured.value or 0)} bins; wanted: {bound}",
            metric=self.spec.text,
            bound=bound,
            value=measured.value,
            detail=measured.detail,
        )
