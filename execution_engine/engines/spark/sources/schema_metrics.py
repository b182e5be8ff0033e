"""Whether the columns are those that were promised or declared; read from the files' footers, without a job."""

from execution_engine.engines.columns.drift import measure_drift
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.definitions.schema_match import compare, wanted_columns

from .source import SparkSource


def match_schema(source: SparkSource, item: Wanted) -> Measured:
    """1 where every column is there with its type; the detail lists what differs."""
    detail = compare(wanted_columns(str(item.spec.arguments[0])), source.columns)
    matches = not detail["missing"] and not detail["other"]
    return Measured(value=float(matches), detail=detail)


def find_drift(source: SparkSource, item: Wanted) -> Measured:
    """How many declared columns are gone or of another type, in any file."""
    return measure_drift(item, source.places(), source.name)
