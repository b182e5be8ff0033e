"""Constraints on a metric against its own past."""

from dataclasses import replace
from typing import Self

from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.anomaly import AnomalyConstraint
from execution_engine.verification.constraints.sql_text import both
from execution_engine.verification.constraints.strategies import Strategy

from .constrained import Constrained, metric

SIZE = metric("row_count")


class OverTime(Constrained):
    """The past comes from the repository that the suite uses."""

    def has_no_anomalies(self, of: MetricSpec, strategy: Strategy, *, hint: str = "", where: str | None = None) -> Self:
        """The metric lies where the strategy expects it after its earlier values."""
        spec = replace(of, where=both(self.where, both(of.where, where)))
        return self.adding(AnomalyConstraint(spec=spec, strategy=strategy, hint=hint))
