"""The six dimensions of quality, and of which of them each metric tells.

They are those of Apache Griffin, as "Banyu's data quality centre" (2021) lists them.
"""

from collections.abc import Mapping
from enum import StrEnum


class Dimension(StrEnum):
    """What of data is good or bad."""

    ACCURACY = "accuracy"  # values are what really was
    COMPLETENESS = "completeness"  # nothing is missing
    TIMELINESS = "timeliness"  # it is there in time
    UNIQUENESS = "uniqueness"  # nothing is there twice
    VALIDITY = "validity"  # values have the form, type and range that they should have
    CONSISTENCY = "consistency"  # copies and tables do not contradict each other


_METRICS: Mapping[Dimension, tuple[str, ...]] = {
    Dimension.ACCURACY: (
        *("sum", "mean", "stddev", "quantile", "approx_quantile", "histogram", "ratio_of", "most_frequent_share"),
        *("entropy", "mutual_information", "correlation", "predictability", "profile", "query"),
    ),
    Dimension.COMPLETENESS: (
        *("row_count", "completeness", "unpartitioned_rows", "sample", "sample_size", "sample_found"),
    ),
    Dimension.TIMELINESS: ("freshness", "age"),
    Dimension.UNIQUENESS: (
        *("distinct_count", "count_distinct", "approx_count_distinct", "uniqueness", "distinctness"),
        "unique_value_ratio",
    ),
    Dimension.VALIDITY: (
        *("compliance", "satisfies_if", "schema_match", "schema_drift", "pattern_match", "consistent_type"),
        *("min", "max", "min_length", "max_length", "in_range", "non_negative", "positive", "less_than"),
    ),
    Dimension.CONSISTENCY: ("referential_integrity", "accuracy", "key_digest", "bloom_filter", "keys_found"),
}
SIZE = "row_count"  # most shares are divided by it, so it tells only where nothing else does
OF_METRIC: Mapping[str, Dimension] = {name: dimension for dimension, names in _METRICS.items() for name in names}
