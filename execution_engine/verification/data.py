"""What can be verified: a DataFrame, the path of a folder of files, or a table as the engines know it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from assay.catalog.profile import check_options
from execution_engine.engines.arrow.local_scan import told_without_spark
from execution_engine.engines.files.listing import kind_of, kind_of_folder
from execution_engine.engines.protocol import WHOLE, Engine, FailingRows, ScanReport, Table, Wanted
from execution_engine.engines.registry import engine_for
from execution_engine.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Reader(Protocol):
    """Reads one dataset."""

    def scan(self, wanted: Sequence[Wanted]) -> ScanReport:
        """Every measurement wanted, as an engine gives it."""
        ...

    def failing_rows(self, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """Up to ``limit`` rows that break the metrics, 1,000 at most."""
        ...


@dataclass(frozen=True, kw_only=True)
class TableReader:
    """A table by its engine; without one, by the engine of its storage in a process of its own."""

    table: Table
    engine: Engine | None = None

    def scan(self, wanted: Sequence[Wanted]) -> ScanReport:
        """One scan of the whole table; the engine, and with it Spark, only where it must answer something."""
        return told_without_spark(self.table, wanted) or self._engine.scan(self.table, WHOLE, wanted)

    def failing_rows(self, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """Rows of the whole table."""
        return self._engine.failing_rows(self.table, WHOLE, specs, limit)

    @property
    def _engine(self) -> Engine:
        return self.engine or engine_for(self.table.storage)


@dataclass(frozen=True, kw_only=True)
class FrameReader:
    """A DataFrame, in the session that it was made in."""

    name: str
    frame: "DataFrame"

    def scan(self, wanted: Sequence[Wanted]) -> ScanReport:
        """One scan of the frame."""
        from execution_engine.engines.spark.failures import counting_jobs
        from execution_engine.engines.spark.scan import measure
        from execution_engine.engines.spark.sources import frame_source

        started, session = monotonic(), self.frame.sparkSession
        with counting_jobs(session, f"verification of {self.name}") as count:
            taken = measure(frame_source(self.frame, self.name), wanted)
        seconds = monotonic() - started
        return ScanReport(
            measured=taken.measured,
            spark_jobs=count.jobs,
            seconds=seconds,
            fingerprint=None,
            read_by=taken.read_by,
        )

    def failing_rows(self, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """Rows of the frame."""
        from execution_engine.engines.spark.measures.failing import failing_rows
        from execution_engine.engines.spark.sources import frame_source

        return failing_rows(frame_source(self.frame, self.name), specs, limit)


def reader_of(data: "DataFrame | Table | str | Path", name: str, engine: Engine | None) -> Reader:
    """What reads the data."""
    if isinstance(data, Table | str | Path):
        return TableReader(table=table_of(data, name), engine=engine)
    return FrameReader(name=name, frame=data)


def name_of(data: "DataFrame | Table | str | Path") -> str:
    """What the data is called where its user gave no name."""
    if isinstance(data, Table):
        return data.name
    if not isinstance(data, str | Path):
        return "data"
    name = Path(data).name
    return name.split(".", 1)[0] if kind_of(name) in ("orc", "csv", "json") else name


def table_of(data: Table | str | Path, name: str, options: Mapping[str, str] | None = None) -> Table:
    """The table that a path names: files of what their names say, else parquet; what is no path is of Spark's catalog.

    Raises ValueError for options that its storage does not take.
    """
    if isinstance(data, Table):
        return data
    text = str(data)
    storage = (kind_of_folder(text) or "parquet") if isinstance(data, Path) or names_files(text) else "table"
    check_options(storage, options or {})
    return Table(name=name, storage=storage, location=text, options=options or {})


def names_files(text: str) -> bool:
    """Whether a text is the path or URL of files, rather than the name of a table."""
    return "/" in text or Path(text).exists() or kind_of(text) is not None


@contextmanager
def as_tables(
    given: Mapping[str, "DataFrame | Table | str | Path"],
) -> Iterator[dict[str, Table]]:
    """Each as a table that metrics of two tables can open; frames as views that last as long as the context."""
    tables: dict[str, Table] = {}
    frames: list[tuple[DataFrame, Table]] = []
    try:
        for name, data in given.items():
            if isinstance(data, Table | str | Path):
                tables[name] = table_of(data, name)
                continue
            from execution_engine.engines.spark.sources import frame_table

            tables[name] = frame_table(data, name)
            frames.append((data, tables[name]))
        yield tables
    finally:
        for frame, table in frames:
            from execution_engine.engines.spark.sources import drop_table

            drop_table(frame, table)
