"""Every metric there is, by the families of ``definitions``. A new family is a file there and one line here."""

from collections.abc import Mapping
from importlib import import_module

from .definition import MetricDefinition, Signature

FILES = (
    "row_count",
    "shares",
    "patterns",
    "schema",
    "profile",
    "freshness",
    "numeric",
    "uniqueness",
    "predictability",
    "other_tables",
    "sample",
    "bloom",
)


def _read(files: tuple[str, ...]) -> dict[str, MetricDefinition]:
    """Each metric that a file defines, by its name; ValueError where two have the same."""
    metrics: dict[str, MetricDefinition] = {}
    for file in files:
        module = import_module(f"execution_engine.metrics.definitions.{file}")
        for metric in vars(module).values():
            if isinstance(metric, MetricDefinition) and metrics.setdefault(metric.name, metric) is not metric:
                raise ValueError(f"there are two metrics {metric.name}, one of them in {file}: rename it")
    return metrics


METRICS: Mapping[str, MetricDefinition] = _read(FILES)
DEFINITIONS = tuple(METRICS.values())
SIGNATURES: Mapping[str, Signature] = {name: metric.signature for name, metric in METRICS.items()}
GROUPABLE = tuple(name for name, metric in METRICS.items() if metric.groupable)


# What OpenLineage's facet ``dataQualityMetrics`` (1-0-3) calls our metrics.

ROWS = "row_count"  # of the whole table: rowCount
DISTINCT = "distinct_count"
OF_COLUMNS = {"min": "min", "max": "max", "sum": "sum", DISTINCT: "distinctCount"}
COUNTS = frozenset({DISTINCT})  # of columns: whole numbers
