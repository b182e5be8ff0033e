"""Constraints on columns of numbers and on the distribution of values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self, Unpack

from execution_engine.verification.constraints.bounds import Expected
from execution_engine.verification.constraints.histogram import HistogramConstraint, HoldsOfHistogram
from execution_engine.verification.constraints.sql_text import both

from .constrained import Constrained, Said, call, columns_of, metric


class OfNumbers(Constrained):
    """Statistics of one column or of two; nulls are left out."""

    def has_min(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The least value."""
        return self._of("has_min", "min", column, expected, **said)

    def has_max(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The greatest value."""
        return self._of("has_max", "max", column, expected, **said)

    def has_mean(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The mean."""
        return self._of("has_mean", "mean", column, expected, **said)

    def has_sum(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The sum."""
        return self._of("has_sum", "sum", column, expected, **said)

    def has_standard_deviation(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The standard deviation of the population."""
        return self._of("has_standard_deviation", "stddev", column, expected, **said)

    def has_quantile(self, column: str, q: float, expected: Expected, **said: Unpack[Said]) -> Self:
        """The exact q-quantile."""
        spec = metric("quantile", column, arguments=(q,))
        return self.bounded(call("has_quantile", column, q), spec, expected, **said)

    def has_approx_quantile(self, column: str, q: float, expected: Expected, **said: Unpack[Said]) -> Self:
        """A value whose rank is within 0.7 % of q."""
        spec = metric("approx_quantile", column, arguments=(q,))
        return self.bounded(call("has_approx_quantile", column, q), spec, expected, **said)

    def has_entropy(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The entropy in nats."""
        return self._of("has_entropy", "entropy", column, expected, **said)

    def has_mutual_information(self, a: str, b: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The mutual information in nats."""
        return self.bounded(call("has_mutual_information", a, b), metric("mutual_information", a, b), expected, **said)

    def has_correlation(self, a: str, b: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """Pearson's correlation."""
        return self.bounded(call("has_correlation", a, b), metric("correlation", a, b), expected, **said)

    def has_ratio_of(self, column: str, value: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows that have one value, written as a text."""
        spec = metric("ratio_of", column, arguments=(value,))
        return self.bounded(call("has_ratio_of", column, value), spec, expected, **said)

    def has_histogram_values(
        self, column: str, holds: HoldsOfHistogram, *, hint: str = "", where: str | None = None
    ) -> Self:
        """The user's function holds of the histogram: ``lambda histogram: histogram.ratio("phone") <= 0.5``."""
        spec = replace(metric("histogram", column), where=both(self.where, where))
        return self.adding(HistogramConstraint(column=column, holds=holds, spec=spec, hint=hint))

    def has_predictability(
        self,
        column: str,
        inputs: str | Sequence[str],
        expected: Expected,
        *,
        score: str = "f1",
        **said: Unpack[Said],
    ) -> Self:
        """How well the column follows from the inputs: ``precision``, ``recall`` or ``f1`` on rows held out."""
        names = columns_of(inputs)
        spec = replace(metric("predictability", column, *names), options=(("score", score),))
        return self.bounded(call("has_predictability", column, *names), spec, expected, **said)

    def _of(self, text: str, name: str, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(call(text, column), metric(name, column), expected, **said)
