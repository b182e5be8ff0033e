"""Constraints on a metric against its own past."""

from dataclasses import replace
from typing import Self

from execution_engine.metrics.spec import MetricSpec

from .anomaly import AnomalyConstraint
from .constrained import Constrained, metric
from .sql_text import both
from .strategies import Strategy

SIZE = metric("row_count")


class OverTime(Constrained):
    """The past comes from the repository that the suite uses."""

    def has_no_anomalies(self, of: MetricSpec, strategy: Strategy, *, hint: str = "", where: str | None = None) -> Self:
        """The metric lies where the strategy expects it after its earlier values."""
        spec = replace(of, where=both(self.where, both(of.where, where)))
        return self.adding(AnomalyConstraint(spec=spec, strategy=strategy, hint=hint))
