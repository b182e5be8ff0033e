"""The rows of a snapshot as a DataFrame: Spark's tasks read them by Arrow, without jars of Iceberg or Delta."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from execution_engine.engines.column_types import quote
from execution_engine.engines.files.footers import FooterStatistics
from execution_engine.engines.files.listing import Listing
from execution_engine.engines.native.local_scan import pieces_of
from execution_engine.engines.native.measure import tasks
from execution_engine.engines.native.reading import table_batches


def live_frame(session: SparkSession, listing: Listing, columns: Mapping[str, str]) -> DataFrame:
    """All rows that count, in columns of these types of Spark's; every query of the frame reads all columns."""
    pieces = list(pieces_of(listing, FooterStatistics(rows=0, columns={})))
    rows = sum(sum(counts) for _, counts in pieces)
    cut = tasks(pieces, rows)
    schema = pa.schema([field for field in listing.schema if field.name in columns])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for piece in cut[at]:
                    yield from table_batches(piece, schema)

    types = ", ".join(f"{quote(name)} {type_}" for name, type_ in columns.items())
    return session.range(0, len(cut), 1, max(len(cut), 1)).mapInArrow(read, types)
