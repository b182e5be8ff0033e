"""Rows as a DataFrame that Spark's tasks read by Arrow: of a snapshot, or of a store that Spark cannot open.

They need no jars of Iceberg, of Delta or of the store.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from execution_engine.engines.column_types import quote
from execution_engine.engines.files.footers import NANOSECONDS, FooterStatistics
from execution_engine.engines.files.listing import Listing
from execution_engine.engines.native.local_scan import pieces_of
from execution_engine.engines.native.measure import tasks
from execution_engine.engines.native.reading import batches_for_spark


def live_frame(session: SparkSession, listing: Listing, columns: Mapping[str, str]) -> DataFrame:
    """All rows that count, in columns of these types of Spark's; every query of the frame reads all columns."""
    pieces = [
        (replace(piece, is_checked_later=False), counts)
        for piece, counts in pieces_of(listing, FooterStatistics(rows=0, columns={}))
    ]
    cut = tasks(pieces, sum(sum(counts) for _, counts in pieces))
    in_table = {field.name: field for field in listing.schema}
    schema = pa.schema([in_table.get(name, pa.field(name, pa.string())) for name in columns])
    types = {name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in columns.items()}
    nothing = session.range(0).selectExpr(*(f"cast(null as {type_}) as {quote(name)}" for name, type_ in types.items()))
    as_read = to_arrow_schema(nothing.schema, timezone="UTC")

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for piece in cut[at]:
                    yield from batches_for_spark(piece, schema, as_read)

    return session.range(0, len(cut), 1, max(len(cut), 1)).mapInArrow(read, nothing.schema)
