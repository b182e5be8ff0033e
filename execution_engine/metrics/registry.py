"""Every metric there is: a file in ``definitions``, and its name in one line here."""

from collections.abc import Mapping
from importlib import import_module

from .definition import MetricDefinition
from .signature import Signature

FILES = (
    # of the table
    "row_count",
    "profile",
    "compliance",
    "implication",
    "schema_match",
    "schema_drift",
    "query",
    "freshness",
    "unpartitioned_rows",
    # of a business metric
    "value",
    # of a column
    "completeness",
    "pattern_match",
    "data_type",
    "lengths",
    "approx_count_distinct",
    "value_share",
    "histogram",
    # of a column of times
    "age",
    # of a column of numbers
    "numeric",
    "quantile",
    "value_range",
    "sign",
    # of how often values and keys occur
    "uniqueness",
    "distribution",
    # of two columns or more
    "correlation",
    "less_than",
    "predictability",
    # of two tables
    "other_tables",
    "sample",
    "bloom",
)


def _read(files: tuple[str, ...]) -> dict[str, MetricDefinition]:
    """Each metric that a file defines, by its name; ValueError where two have the same."""
    found: dict[str, MetricDefinition] = {}
    for file in files:
        module = import_module(f"execution_engine.metrics.definitions.{file}")
        for metric in vars(module).values():
            if isinstance(metric, MetricDefinition) and found.setdefault(metric.name, metric) is not metric:
                raise ValueError(f"there are two metrics {metric.name}, one of them in {file}: rename it")
    return found


METRICS: Mapping[str, MetricDefinition] = _read(FILES)
DEFINITIONS = tuple(METRICS.values())
SIGNATURES: Mapping[str, Signature] = {name: metric.signature for name, metric in METRICS.items()}
GROUPABLE = tuple(name for name, metric in METRICS.items() if metric.groupable)
