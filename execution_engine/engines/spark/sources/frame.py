"""A DataFrame that the caller made as a source, so that it is measured as tables are."""

from uuid import uuid4

from pyspark.sql import DataFrame

from execution_engine.engines.columns.nested import with_fields
from execution_engine.engines.protocol import Table

from .formats import types_in
from .source import SparkSource


def frame_source(frame: DataFrame, name: str) -> SparkSource:
    """The rows of the frame; how many they are, and from which files, is not known."""
    columns = with_fields(types_in(frame))
    return SparkSource(
        session=frame.sparkSession,
        name=name,
        open=lambda: frame,
        columns=columns,
        small=False,
        fingerprint=None,
    )


def frame_table(frame: DataFrame, name: str) -> Table:
    """The frame as a table of its session's catalog, for metrics that read it beside another; drop it afterwards."""
    view = f"assay_frame_{uuid4().hex}"
    frame.createTempView(view)
    return Table(name=name, storage="table", location=view, columns=types_in(frame))


def drop_table(frame: DataFrame, table: Table) -> None:
    """Forgets what ``frame_table`` made."""
    frame.sparkSession.catalog.dropTempView(table.location)
