"""``query("select …")``: the one number that a Spark SQL query gives (UDQ's query0)."""

from execution_engine.metrics.definition import LAKE, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature

QUERY = MetricDefinition(
    signature=Signature(name="query", arguments=(ArgumentType.QUERY,), takes_where=False),
    kind=Kind.COMPOUND,
    formula="the number in the one row of the query",
    source="UDQ: query0",
    meaning="the one number that the query gives",
    dimension=Dimension.ACCURACY,
    taken_by={LAKE: "execution_engine.engines.spark.measures.query:measure_query"},
    tells_values=True,
)
