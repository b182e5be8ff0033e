"""``stray_keys()``: how many keys of no partition there are. A toy: of the layout."""

from collections.abc import Sequence

from execution_engine.engines.protocol import Engine, Measured, ScanReport, Table
from execution_engine.metrics.definition import SERVICE, Dimension, MetricDefinition, MetricKind, Signature


def count(engine: Engine, table: Table, strays: Sequence[str] | None, *, is_sensitive: bool) -> ScanReport:
    """Without reading any row."""
    measured = Measured(value=float(len(strays or ())))
    return ScanReport(measured={"keys": measured}, spark_jobs=0, seconds=0.0, fingerprint=None)


STRAY_KEYS = MetricDefinition(
    signature=Signature(name="stray_keys", takes_where=False),
    kind=MetricKind.LAYOUT,
    formula="the keys under which rows of no partition lie",
    source="a toy",
    meaning="how many partitions have a strange key",
    dimension=Dimension.VALIDITY,
    taken_by={SERVICE: f"{__name__}:count"},
)
