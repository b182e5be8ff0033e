"""``correlation(a, b)``: Pearson's correlation of the rows where both are there. Deequ: Correlation."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from execution_engine.metrics.definition import NOTE, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ColumnKind, Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic


def _value(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    """None where a column does not vary: SQL's corr and numpy's agree that nothing can be said. NaN stays NaN."""
    if found["comoments"] is None:
        return None
    _, _, _, xx, yy, xy = found["comoments"]
    return None if xx <= 0 or yy <= 0 else xy / sqrt(xx) / sqrt(yy)


def _detail(spec: MetricSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    if found["comoments"] is None:
        return {}
    constant = [name for name, square in zip(spec.columns, found["comoments"][3:5], strict=True) if square <= 0]
    told = f"the column {' and the column '.join(constant)} is constant: correlation is not defined"
    return {NOTE: told} if constant else {}


CORRELATION = MetricDefinition(
    signature=Signature(name="correlation", min_columns=2, max_columns=2, column_kind=ColumnKind.NUMERIC),
    kind=Kind.AGGREGATE,
    formula="Σ (a - ā)(b - b̄) / √(Σ (a - ā)² Σ (b - b̄)²)",
    source="Schelter et al. 2018, Table 2: Correlation; Pearson's r",
    meaning="how far two columns rise and fall together, from -1 to 1",
    dimension=Dimension.ACCURACY,
    statistics=lambda spec, write: {
        "comoments": Statistic(gather=Gather.COMOMENTS, of=tuple(write.number(name) for name in spec.columns))
    },
    value=_value,
    detail=_detail,
    plain_sql=False,
)
