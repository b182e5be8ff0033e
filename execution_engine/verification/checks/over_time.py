"""Constraints on a metric against its own past."""

from dataclasses import replace
from typing import Self

from execution_engine.anomalies.strategies import Strategy
from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.anomaly import AnomalyConstraint
from execution_engine.verification.constraints.sql_text import both

from .constrained import Constrained, metric

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
