"""What the platform asks of an engine: data in, data out; where the data lies is the engine's own business."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason


@dataclass(frozen=True, kw_only=True)
class Table:
    """Where the data of one dataset lies in one datacenter.

    ``storage`` is ``parquet`` (``location``: path or URL of a folder), ``table`` (a table of Spark's catalog) or
    ``sql`` (a SQLAlchemy URL, the table's name in ``options['table']``, its schema in ``options['schema']``).
    """

    name: str
    storage: str
    location: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_column: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Part:
    """The partitions of a table that a window covers; ``keys=None`` is the whole table."""

    keys: tuple[str, ...] | None = None


WHOLE = Part()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One measurement asked of a scan."""

    key: str
    spec: MetricSpec
    inputs: Mapping[str, bytes] = field(default_factory=dict)  # states it builds on, by the metric that left them
    tables: Mapping[str, Table] = field(default_factory=dict)  # what a query may read, by the name it uses


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one measurement gave; ``value=None`` without a failure is SQL's NULL."""

    value: float | None = None
    state: bytes | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """All measurements of one scan, by their keys; ``fingerprint`` is of the very files that were read."""

    measured: Mapping[str, Measured]
    spark_jobs: int
    seconds: float
    fingerprint: str | None


class Engine(Protocol):
    """Reads one kind of storage."""

    name: str

    def scan(self, table: Table, part: Part, wanted: Sequence[Wanted]) -> ScanReport:
        """Every measurement wanted; what cannot be measured is a Failure beside those that can."""
        ...

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Changes whenever the files of the part do, found without reading data; None where there is none."""
        ...

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """The keys of the partitions present, sorted; None where the table has none or cannot be read."""
        ...

    def close(self) -> None:
        """Frees what the engine holds."""
        ...


def failed(reason: Reason, detail: str) -> Measured:
    """A measurement that could not be taken."""
    return Measured(failure=Failure(reason=reason, detail=detail))
