"""Constraints on columns of numbers and on the distribution of values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self, Unpack

from execution_engine.verification.constraints.constraints import Expected, both
from execution_engine.verification.constraints.histogram import HistogramConstraint, HoldsOfHistogram

from .constrained import Constrained, Said, call, columns_of, metric


class OfNumbers(Constrained):
    """Statistics of one column or of two; nulls are left out.

    Where there is no value at all, a statistic is an ``error`` and not a success.

    Shared parameters:
        a: the name of the first column.
        b: the name of the second column.
        q: the share of the values that lie below the quantile: a number from 0 to 1. Any other number is found when the
            check runs, as an ``error``.
    """

    def has_min(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The least value of a column of numbers meets ``expected``.

        Example:
            Check().has_min("fare", at_least(0))  # failure
        """
        return self._of("has_min", "min", column, expected, **said)

    def has_max(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The greatest value of a column of numbers meets ``expected``.

        Example:
            Check().has_max("fare", at_most(20))  # success
        """
        return self._of("has_max", "max", column, expected, **said)

    def has_mean(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The mean of a column of numbers meets ``expected``.

        Example:
            Check().has_mean("fare", between(9, 10))  # success
            Check().has_mean("city", between(9, 10))  # error
        """
        return self._of("has_mean", "mean", column, expected, **said)

    def has_sum(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The sum of a column of numbers meets ``expected``. Whole numbers and decimals keep every digit.

        Example:
            Check().has_sum("tip", 21)  # success
        """
        return self._of("has_sum", "sum", column, expected, **said)

    def has_standard_deviation(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The standard deviation of a column of numbers, of the population (divided by n), meets ``expected``.

        Example:
            Check().has_standard_deviation("fare", below(7))  # success
        """
        return self._of("has_standard_deviation", "stddev", column, expected, **said)

    def has_quantile(self, column: str, q: float, expected: Expected, **said: Unpack[Said]) -> Self:
        """The exact quantile of a column of numbers, linear between neighbours as in numpy, meets ``expected``.

        Example:
            Check().has_quantile("fare", 0.5, 8)  # success
        """
        spec = metric("quantile", column, arguments=(q,))
        return self.bounded(call("has_quantile", column, q), spec, expected, **said)

    def has_approx_quantile(self, column: str, q: float, expected: Expected, **said: Unpack[Said]) -> Self:
        """A quantile of a column of numbers, whose rank is within 0.7 % of ``q``, meets ``expected``.

        It takes less memory than ``has_quantile``, and adds up over deltas.

        Example:
            Check().has_approx_quantile("fare", 0.5, between(4, 12))  # success
        """
        spec = metric("approx_quantile", column, arguments=(q,))
        return self.bounded(call("has_approx_quantile", column, q), spec, expected, **said)

    def has_entropy(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The entropy of the values of a column of any type, in nats, meets ``expected``.

        Example:
            Check().has_entropy("city", above(0.6))  # success
        """
        return self._of("has_entropy", "entropy", column, expected, **said)

    def has_mutual_information(self, a: str, b: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The mutual information of two columns of any type, in nats, meets ``expected``.

        Example:
            Check().has_mutual_information("city", "country", above(0.6))  # success
        """
        return self.bounded(call("has_mutual_information", a, b), metric("mutual_information", a, b), expected, **said)

    def has_correlation(self, a: str, b: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """Pearson's correlation of two columns of numbers, from -1 to 1, meets ``expected``.

        Example:
            Check().has_correlation("fare", "tip", above(0.9))  # success
        """
        return self.bounded(call("has_correlation", a, b), metric("correlation", a, b), expected, **said)

    def has_ratio_of(self, column: str, value: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows that have one value, from 0 to 1, meets ``expected``.

        Parameters:
            value: the value as a text, also where the column holds no texts: ``"9"``.

        Example:
            Check().has_ratio_of("city", "rome", at_most(0.5))  # success
        """
        spec = metric("ratio_of", column, arguments=(value,))
        return self.bounded(call("has_ratio_of", column, value), spec, expected, **said)

    def has_histogram_values(
        self, column: str, holds: HoldsOfHistogram, *, hint: str = "", where: str | None = None
    ) -> Self:
        """Your own function holds of the histogram of a column of any type.

        Parameters:
            holds: a function that takes a ``Histogram`` and returns whether it is good. Where it raises, the status is
                ``error``.

        Errors: none.

        Example:
            Check().has_histogram_values("city", lambda found: found.ratio("rome") <= 0.5)  # success
        """
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
        """A model predicts a column of any type from others, and its score, from 0 to 1, meets ``expected``.

        The model, a naive Bayes model over the words of the inputs, learns from four fifths of the rows, and is scored
        on the rest. A hash of the row says which rows are held out, so that the score is the same each time.

        Parameters:
            column: the column that the model predicts.
            inputs: the columns that it predicts from: one name, or several.
            score: ``"f1"``, ``"precision"`` or ``"recall"``, each as the mean of the classes. Any other text is found
                when the check runs, as an ``error``.

        Example:
            Check().has_predictability("country", "city", at_least(0.9), score="recall")  # success
        """
        names = columns_of(inputs)
        spec = replace(metric("predictability", column, *names), options=(("score", score),))
        return self.bounded(call("has_predictability", column, *names), spec, expected, **said)

    def _of(self, text: str, name: str, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(call(text, column), metric(name, column), expected, **said)
