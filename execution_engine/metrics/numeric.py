"""``min max mean sum stddev`` of a column of numbers, nulls left out; NULL where nothing is left, as in SQL."""

from .definition import Expressions, Kind, MetricDefinition
from .signature import ColumnKind, Signature
from .spec import MetricSpec


def _of_a_number(name: str, function: str, *, portable: bool = True) -> MetricDefinition:
    def sql(spec: MetricSpec, write: Expressions) -> str:
        return f"{function}({write.number(spec.columns[0])})"

    signature = Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC)
    return MetricDefinition(signature=signature, kind=Kind.AGGREGATE, sql=sql, portable=portable)


MIN = _of_a_number("min", "min")
MAX = _of_a_number("max", "max")
MEAN = _of_a_number("mean", "avg")
SUM = _of_a_number("sum", "sum")
# Of the population, as Deequ's StandardDeviation; SQLite has no function for it.
STDDEV = _of_a_number("stddev", "stddev_pop", portable=False)
