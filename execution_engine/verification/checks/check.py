"""A check: constraints of one level, added one after another."""

from dataclasses import replace
from typing import Self

from execution_engine.anomalies.strategies import Strategy
from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.assertion import AnomalyConstraint
from execution_engine.verification.constraints.constraints import both

from .constrained import Constrained, metric
from .of_keys import OfKeys
from .of_numbers import OfNumbers
from .of_rows import OfCompleteness, OfRows
from .of_texts import OfTexts

# Constraints on a metric against its own past.

SIZE = metric("row_count")
"""The metric of the number of rows.

Example:
    >>> SIZE.text
    'row_count()'
"""


class OverTime(Constrained):
    """The past comes from the repository that the suite uses."""

    def has_no_anomalies(self, of: MetricSpec, strategy: Strategy, *, hint: str = "", where: str | None = None) -> Self:
        """The value of a metric lies where the strategy expects it after the earlier values.

        The earlier values come from the repository that ``Verification.use_repository`` names. The status is
        ``learning`` while there are fewer than the strategy needs, and ``error`` where there is no repository.

        Parameters:
            of: the metric: ``SIZE``, or ``metric("mean", "fare")``.
            strategy: ``SimpleThreshold``, ``AbsoluteChange``, ``RelativeRateOfChange``, ``BatchNormal``,
                ``OnlineNormal``, ``Adaptive``, ``Predictive``, ``HoltWinters``, ``SeasonalTrend``, or an object with
                the members of ``Strategy``.

        Errors:
            AttributeError: ``of`` is a text. Write ``metric(…)``.

        Example:
            Check().has_no_anomalies(SIZE, OnlineNormal(std_devs=3))  # success
            Check().has_no_anomalies(metric("mean", "fare"), BatchNormal())  # learning
        """
        spec = replace(of, where=both(self.where, both(of.where, where)))
        return self.adding(AnomalyConstraint(spec=spec, strategy=strategy, hint=hint))


class Check(OfCompleteness, OfKeys, OfNumbers, OfTexts, OfRows, OverTime):
    """Constraints of one level on one dataset.

    A check is never changed: each method returns a new check with one constraint more. A method reads no data, and
    raises only what its arguments by themselves forbid. What the data forbids, such as a column that is missing or of
    another type, is found by ``Verification.run``, as a constraint of status ``error``. To bound one metric at two
    levels, write two checks.

    Parameters:
        level: how serious it is that a constraint fails.
        name: what results call the check.
        where: a condition of Spark SQL. All constraints look only at the rows that meet it.
        on: ``"whole"`` looks at all the data so far, ``"delta"`` only at the rows that were added
            (``Verification.add_up``).
        constraints: what the methods below have added. Leave it out.

    Errors:
        ValueError: ``on`` is another text.

    Example:
        >>> check = Check(Level.ERROR, "integrity").is_complete("id").has_size(at_least(1000))
        >>> [constraint.text for constraint in check.constraints]
        ['is_complete(id)', 'has_size()']
    """
