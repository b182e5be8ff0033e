"""``distinct_count(a, b)``: distinct rows of the columns, a null being a value like any other (SQL's DISTINCT)."""

from .definition import Kind, MetricDefinition
from .signature import Signature

DISTINCT_COUNT = MetricDefinition(
    signature=Signature(name="distinct_count", min_columns=1, max_columns=None), kind=Kind.GROUPING
)
