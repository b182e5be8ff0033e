"""How far the columns of a table have drifted from the declared ones, whoever reads it."""

from collections.abc import Sequence

from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.metrics.definitions.schema_drift import SeenColumns, declared_of, detail_of, drifts
from execution_engine.outcome import Reason

from .column_types import holds


def measure_drift(item: Wanted, seen: Sequence[SeenColumns], table: str) -> Measured:
    """How many declared columns are gone or of another type in any of the places; what has no files has no columns."""
    declared = declared_of(item.spec)
    if declared is None:
        detail = f"nothing declares the columns of {table}: declare them in the catalog, or with declared='name type'"
        return failed(Reason.INVALID, detail)
    if not seen:
        return failed(Reason.NO_DATA, f"{table} has no files there, so it has no columns")
    found = drifts(declared, seen, holds)
    return Measured(value=float(len(found)), detail=detail_of(found))
