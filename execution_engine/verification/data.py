"""What can be verified: a DataFrame, the path of a folder of files, or a table as the engines know it."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from assay.catalog.profile import LOGGED, check_options
from assay.iceberg_catalogs import CATALOGS
from execution_engine.engines.catalogs.locate import metadata_location
from execution_engine.engines.files.listing import UnableToListFiles, kind_of, kind_of_folder, pin_snapshot
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.native.rows import write_without_spark
from execution_engine.engines.protocol import (
    WHOLE,
    Engine,
    FailingRows,
    MeasurementRequest,
    RowsRequest,
    ScanReport,
    Table,
    WrittenRows,
)
from execution_engine.engines.registry import engine_for
from execution_engine.metrics.spec import MetricSpec

VARIABLE = "env:"
_DATABASE = re.compile(rf"{VARIABLE}\w+$|(sqlite|mysql|mariadb|postgresql|trino|bigquery)(\+\w+)?://")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATH_HELP = "path or URL of parquet, ORC, CSV or JSON, by its name, or of a table of Iceberg or Delta; iceberg://CATALOG/db.table"


def scan(
    data: "DataFrame | Table | str | Path", name: str, engine: Engine | None, requests: Sequence[MeasurementRequest]
) -> ScanReport:
    """One scan of all data, of a DataFrame in its own session; the engine, and Spark, only where they must answer."""
    if isinstance(data, Table | str | Path):
        table, snapshot = table_of(data, name), ""
        if table.storage in LOGGED:
            with suppress(UnableToListFiles):  # whoever reads it says why
                table, snapshot = pin_snapshot(table)
        report = report_without_spark(table, requests) or (engine or engine_for(table.storage)).scan(
            table, WHOLE, requests
        )
        return replace(report, snapshot=snapshot)
    from execution_engine.engines.spark.failures import counting_jobs
    from execution_engine.engines.spark.scan import measure
    from execution_engine.engines.spark.sources import frame_source

    started = monotonic()
    with counting_jobs(data.sparkSession, f"verification of {name}") as count:
        measures = measure(frame_source(data, name), requests)
    return ScanReport(
        measured=measures.measured,
        spark_jobs=count.jobs,
        seconds=monotonic() - started,
        fingerprint=None,
        read_by=measures.read_by,
    )


def read_failing_rows(
    data: "DataFrame | Table | str | Path", name: str, engine: Engine | None, specs: Sequence[MetricSpec], limit: int
) -> FailingRows:
    """Up to ``limit`` rows, 1,000 at most, that break the metrics."""
    if isinstance(data, Table | str | Path):
        table = table_of(data, name)
        return (engine or engine_for(table.storage)).failing_rows(table, WHOLE, specs, limit)
    from execution_engine.engines.spark.measures.failing import failing_rows
    from execution_engine.engines.spark.sources import frame_source

    return failing_rows(frame_source(data, name), specs, limit)


def write_rows(
    data: "DataFrame | Table | str | Path",
    name: str,
    engine: Engine | None,
    specs: Sequence[MetricSpec],
    *,
    good: str,
    bad: str,
) -> WrittenRows:
    """Write the rows of a table that break the metrics to one folder, and the others to another; both are empty yet."""
    if not isinstance(data, Table | str | Path):
        raise TypeError("a DataFrame is split by its own where(): name files or a table")
    table = table_of(data, name)
    request = RowsRequest(specs=tuple(specs), bad=bad, good=good)
    return write_without_spark(table, WHOLE, request) or (engine or engine_for(table.storage)).write_rows(
        table, WHOLE, request
    )


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

    A table in a database is named by the database's URL, or by a variable that holds it, and by its options. Raises
    ValueError for options that its storage does not take, for a variable that is not set, and for what a catalog lacks.
    """
    if isinstance(data, Table):
        return data
    text = str(data)
    if names_database(text):
        return _table_of_database(text, name, options or {})
    if text.startswith(CATALOGS):
        check_options("iceberg", options or {})
        return Table(name=name, storage="iceberg", location=metadata_location(text), options=options or {})
    storage = (kind_of_folder(text) or "parquet") if isinstance(data, Path) or names_files(text) else "table"
    check_options(storage, options or {})
    return Table(name=name, storage=storage, location=text, options=options or {})


def names_database(text: str) -> bool:
    """Whether a text is the URL of a database, or env:NAME for a variable that holds one."""
    return _DATABASE.match(text) is not None


def _table_of_database(text: str, name: str, options: Mapping[str, str]) -> Table:
    check_options("sql", options)
    if not options.get("table"):
        raise ValueError("a database holds many tables: name one by --option table=NAME, and its schema by schema=NAME")
    variable = text.removeprefix(VARIABLE) if text.startswith(VARIABLE) else None
    if variable is not None and variable not in os.environ:
        raise ValueError(f"{variable} is not set: write the URL of the database into it")
    location = text if variable is None else os.environ[variable]
    label = text if variable else ""
    return Table(name=name, storage="sql", location=location, options=options, location_label=label)


def names_files(text: str) -> bool:
    """Whether a text is the path or URL of files, rather than the name of a table."""
    if names_database(text):
        return False
    return "/" in text or Path(text).exists() or kind_of(text) is not None


@contextmanager
def as_tables(datasets: Mapping[str, "DataFrame | Table | str | Path"]) -> Iterator[dict[str, Table]]:
    """Each as a table that metrics of two tables can open; frames as views that last as long as the context."""
    tables: dict[str, Table] = {}
    frames: list[tuple[DataFrame, Table]] = []
    try:
        for name, data in datasets.items():
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
