"""``freshness(complete=0.999)``: seconds from a window's end until it is complete, 0 once it is."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.signature import ArgumentType, Signature, ValueType

FRESHNESS = MetricDefinition(
    signature=Signature(
        name="freshness",
        options={"complete": ArgumentType.NUMBER},
        returns=ValueType.DURATION,
        takes_where=False,
    ),
    kind=Kind.DERIVED,
    formula="0 once the window is complete, else the time since its end, in seconds",
    source="UDQ: freshness",
)
