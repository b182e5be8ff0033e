"""Scans of tables that strangers made (``tests.zoo``), each asked of the kernels and of Spark."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from execution_engine.metrics.expressions import written
from tests.zoo.tables import Specimen

from .scans import Scans, asked_of_both, in_folder
from .tables import ROW, Drawn, Kind

FAMILIES = {
    "bigint": "exact",
    "decimal(12,2)": "exact",
    "double": "double",
    "boolean": "truth",
    "timestamp": "instant",
    "string": "text",
}
ARROW = {
    "bigint": pa.int64(),
    "decimal(12,2)": pa.decimal128(12, 2),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "string": pa.string(),
}
HELD = 200  # values of a column, of which literals are made
MOST_ROWS = 20_000  # of a table: Spark evaluates trees row by row here


def scanned_specimen(session: SparkSession, specimen: Specimen, count: int) -> Scans:
    """``count`` scans of a table in files as its days are, the second one written in pages that are not packed."""
    draw = random.Random(crc32(specimen.name.encode()))
    rows = specimen.frame.head(MOST_ROWS)
    arrays = {
        name: pa.array([None if value != value else value for value in rows[name]], ARROW[kind])
        for name, kind in specimen.types.items()
    }
    own = {} if ROW in map(str.lower, arrays) else {ROW: pa.array(range(len(rows)))}  # Spark takes Row for row
    table = pa.table({**own, **arrays})
    with TemporaryDirectory() as folder:
        half = len(table) // 2
        pq.write_table(table.slice(0, half), Path(folder) / "a.parquet", row_group_size=max(1, half // 2))
        pq.write_table(table.slice(half), Path(folder) / "b.parquet", use_dictionary=False)
        return asked_of_both(session, in_folder(Path(folder)), draw, _drawn(specimen, arrays), count, specimen.name)


def _drawn(specimen: Specimen, arrays: dict[str, pa.Array]) -> Drawn:
    kinds = {
        written(name): Kind(arrow=ARROW[kind], draw=lambda draw: None, family=FAMILIES[kind])
        for name, kind in specimen.types.items()
    }
    values = {written(name): array.drop_null()[:HELD].to_pylist() for name, array in arrays.items()}
    return Drawn(kinds=kinds, values=values)
