"""``query("select …")``: the one number that a Spark SQL query gives (UDQ's query0)."""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.signature import ArgumentType, Signature

QUERY = MetricDefinition(
    signature=Signature(name="query", arguments=(ArgumentType.SQL,), takes_where=False),
    kind=Kind.COMPOUND,
    formula="the number in the one row of the query",
    source="UDQ: query0",
    portable=False,
)
