"""What the type check knows of a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass

from execution_engine.metrics.signature import ColumnKind


@dataclass(frozen=True, kw_only=True)
class DatasetSchema:
    """A dataset's columns (None: not known, any will do), the datacenters that hold it, and whether it has partitions.

    A column of kind ANY is one whose type is not known; every metric takes it.
    """

    name: str
    columns: Mapping[str, ColumnKind] | None
    datacenters: tuple[str, ...] = ()
    partitioned: bool = True
