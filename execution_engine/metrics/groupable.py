"""Which metrics can be measured ``by`` columns, and what they are where a group has no rows."""

from collections.abc import Mapping

from .registry import METRICS

# What is computed from the rows of one scan alone; a query, a filter or a sample knows no groups.
GROUPABLE_KINDS = ("aggregate", "sketch", "grouping")

GROUPABLE = tuple(name for name, metric in METRICS.items() if metric.kind.value in GROUPABLE_KINDS)

OVER_NO_ROWS: Mapping[str, float] = {  # of all other metrics NULL
    "row_count": 0.0,
    "distinct_count": 0.0,
    "count_distinct": 0.0,
    "approx_count_distinct": 0.0,
}
