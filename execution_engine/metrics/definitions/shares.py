"""Metrics that are a share of the rows, with what makes a row count for them."""

from collections.abc import Callable, Mapping
from typing import Any

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic

Condition = Callable[[MetricSpec, Expressions], str]


def share_of_rows(
    signature: Signature,
    *,
    met: Condition,
    formula: str,
    source: str,
    meaning: str,
    dimension: Dimension,
    among: Condition | None = None,
    problem: Callable[[MetricSpec], str | None] | None = None,
    plain_sql: bool = True,
) -> MetricDefinition:
    """The metric ``rows that meet a condition / rows``, or / rows ``among`` which it is asked; NULL without any.

    A row where the condition is NULL does not meet it.
    """

    def statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
        condition = met(spec, write)
        if among is None:
            return {"met": count_of(write, condition), "rows": ROWS}
        asked = among(spec, write)
        return {"met": count_of(write, f"({asked}) and ({condition})"), "rows": count_of(write, asked)}

    def breaks(spec: MetricSpec, write: Expressions) -> str:
        broken = f"not coalesce({met(spec, write)}, false)"
        return broken if among is None else f"({among(spec, write)}) and {broken}"

    return MetricDefinition(
        signature=signature,
        kind=Kind.AGGREGATE,
        formula=formula,
        source=source,
        meaning=meaning,
        dimension=dimension,
        statistics=statistics,
        value=share,
        breaks=breaks,
        problem=problem,
        plain_sql=plain_sql,
    )


def count_of(write: Expressions, condition: str) -> Statistic:
    """How many rows meet the SQL condition."""
    return Statistic(gather=Gather.COUNT, of=(write.met(condition),))


def share(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    """``met / rows``; None without rows."""
    return found["met"] / found["rows"] if found["rows"] else None
