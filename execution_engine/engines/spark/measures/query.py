"""``query("select …")``: one number from one SELECT over the tables the caller names, and over no others."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

from pyspark.sql import DataFrame

from execution_engine.engines.columns.nested import with_fields
from execution_engine.engines.gathering.assembly import measured_number
from execution_engine.engines.protocol import Measured, Table, Wanted, failed
from execution_engine.engines.spark.keys.sql_functions import filters_in
from execution_engine.engines.spark.sources.formats import types_in
from execution_engine.engines.spark.sources.source import SparkSource, open_beside
from execution_engine.guard import UnableToAllow, read_query
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.outcome import Reason


def measure_query(source: SparkSource, item: Wanted) -> Measured:
    """The number in the one row of the query; NULL where it gives no row."""
    what = f"{item.spec.text:.200}"
    text = str(item.spec.arguments[0])
    columns = {name for table in item.tables.values() for name in _names_in(source, table, text)}
    try:
        query = read_query(text, item.tables, columns)
    except UnableToAllow as error:
        return failed(Reason.INVALID, f"{what}: {error}")
    try:
        with (
            _views(source, {name: item.tables[name] for name in query.names}) as views,
            filters_in(source.session, query.over(views), item.state_key) as sql,
        ):
            frame = source.session.sql(sql)
            if len(frame.columns) != 1:
                return failed(Reason.QUERY_FAILED, f"{what} gives {len(frame.columns)} columns; select one")
            rows = frame.limit(2).collect()
    except UnableToReadKeys as error:
        return failed(Reason.INVALID, f"{what}: {error}")
    if len(rows) > 1:
        return failed(Reason.QUERY_FAILED, f"{what} gives more than one row; aggregate it to one")
    return measured_number(rows[0][0] if rows else None, what)


def _names_in(source: SparkSource, table: Table, text: str) -> Iterator[str]:
    """The table's columns and the fields of its structs; looked up, where a text quotes and the catalog tells none."""
    types = table.columns if table.columns or "`" not in text else types_in(open_beside(source, table).frame)
    for column in with_fields(types):
        yield from path_of(column)
    if table.partition_column:
        yield table.partition_column


@contextmanager
def _views(source: SparkSource, tables: Mapping[str, Table]) -> Iterator[dict[str, str]]:
    """A temporary view for each table, under names that no other scan of the shared session has."""
    views: dict[str, str] = {}
    frames: list[DataFrame] = []
    try:
        for name, table in tables.items():
            frame = open_beside(source, table).frame
            view = f"assay_{uuid4().hex}"
            frame.createTempView(view)
            views[name] = view
            frames.append(frame)
        yield views
    finally:
        for view, frame in zip(views.values(), frames, strict=True):
            frame.sparkSession.catalog.dropTempView(view)
