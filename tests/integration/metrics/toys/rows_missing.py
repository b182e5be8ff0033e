"""``rows_missing(datacenter='…')``: rows that a replica lacks. A toy: derived from measurements of two datacenters."""

from collections.abc import Sequence
from typing import Any

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.definition import SERVICE, At, Dimension, Input, MetricDefinition, MetricKind, Signature
from execution_engine.metrics.definitions.row_count import ALL_ROWS


def derive(measurement: Any, inputs: Sequence[Any]) -> Measured:
    """The inputs are known by their datacenters."""
    rows = {each.datacenter: each.value for each in inputs}
    here = rows.pop(measurement.datacenter)
    return Measured(value=here - sum(rows.values()))


ROWS_MISSING = MetricDefinition(
    signature=Signature(name="rows_missing", takes_where=False, needs_datacenter=True),
    kind=MetricKind.DERIVED,
    formula="|D| - |D'|, D' the rows in the other datacenter",
    source="a toy",
    meaning="how many rows are missing",
    dimension=Dimension.COMPLETENESS,
    inputs=tuple(Input(spec=lambda call, of: ALL_ROWS, at=at) for at in (At.HERE, At.THERE)),
    taken_by={SERVICE: f"{__name__}:derive"},
)
