"""What the type check knows of a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.time.windows import Granularity
from execution_engine.metrics.columns import path_of, resolved, written
from execution_engine.metrics.signature import ColumnKind


@dataclass(frozen=True, kw_only=True)
class DatasetSchema:
    """A dataset's columns (None: not known, any will do), the datacenters that hold it, and whether it has partitions.

    Columns are as ``metrics.columns`` writes them. One of kind ANY has a type that is not known; every metric takes it.
    """

    name: str
    columns: Mapping[str, ColumnKind] | None
    datacenters: tuple[str, ...] = ()
    partitioned: bool = True
    granularity: Granularity | None = None  # of its partitions; None: not known
    earlier_runs: bool = False  # what a history is over where there are no partitions

    def kind_of(self, column: str) -> ColumnKind | None:
        """The kind of a column, or of a field of one whose fields are not known; None where there is no such column."""
        known = self.columns or {}
        column = resolved(column, known)
        top, *below = path_of(column)
        has_fields = any(name.startswith(f"{written(top)}.") for name in known)
        if below and column not in known and not has_fields and known.get(written(top)) is ColumnKind.ANY:
            return ColumnKind.ANY
        return known.get(column)
