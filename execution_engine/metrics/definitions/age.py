"""``age(column, "instant")``: seconds from the newest value of a column of times to an instant given in SQL.

The engine has no clock: the instant is the caller's, often a template such as ``timestamp '{window.end:datetime}'``.
"""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ArgumentType, ColumnKind, Signature, ValueType
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic


def _statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
    newest, instant = write.column(spec.columns[0]), write.condition(str(spec.arguments[0]))
    since = f"(unix_micros(cast({instant} as timestamp)) - unix_micros(cast({newest} as timestamp))) / 1e6"
    return {"age": Statistic(gather=Gather.MIN, of=(since,))}


AGE = MetricDefinition(
    signature=Signature(
        name="age",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.TEMPORAL,
        arguments=(ArgumentType.SQL,),
        returns=ValueType.DURATION,
    ),
    kind=Kind.AGGREGATE,
    tells_values=True,
    formula="instant - max d(column); negative where a value lies behind the instant",
    source="Great Expectations and Soda: freshness of a column",
    meaning="how long ago the newest time in the column was: a length of time, such as 4h",
    dimension=Dimension.TIMELINESS,
    statistics=_statistics,
    value=lambda spec, found: None if found["age"] is None else float(found["age"]),
    plain_sql=False,
)
