"""Each condition on each row, as Spark answers it, beside the kernels' answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from execution_engine.engines.native.local_scan import pieces_of, stored_columns
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.failures import SPARK_ERRORS
from execution_engine.engines.spark.kernels import why_not_here
from execution_engine.engines.spark.sources import SparkSource, open_source

from .by_kernels import NULL, Tally, Truths, by_kernels, drawn_conditions
from .tables import ROW


def judged(
    session: SparkSession, seed: int, count: int, *, guarded: bool = True
) -> tuple[Tally, Mapping[str, Truths | str]]:
    """``count`` conditions over the table that ``seed`` draws, asked of both; and what Spark says."""
    tally = Tally()
    with TemporaryDirectory() as folder:
        conditions = drawn_conditions(seed, count, Path(folder), tally, guarded=guarded)
        source = open_source(session, Table(name="drawn", storage="parquet", location=folder), WHOLE)
        if (why := why_not_here(source)) is not None:
            tally.declined[why.why] += len(conditions)
            return tally, {}
        assert source.listing is not None
        assert source.footers is not None
        pieces = [piece for piece, _ in pieces_of(source.listing, source.footers)]
        ours = by_kernels(stored_columns(source.listing, source.columns), pieces, conditions, tally)
        theirs = by_spark(source, list(ours))
    tally.ends["native"] += len(ours)
    for sql, found in ours.items():
        expected = theirs[sql]
        if isinstance(expected, str) or not np.array_equal(found, expected):
            tally.differing.append(f"seed {seed}: {sql}: {found} here, {expected} by Spark")
        tally.truths.update(found.tolist())
    return tally, theirs


def by_spark(source: SparkSource, conditions: Sequence[str]) -> dict[str, Truths | str]:
    """The truths of all in one query; of one that Spark refuses, why."""
    if not conditions:
        return {}
    try:
        asked = [f"({sql}) as c{at}" for at, sql in enumerate(conditions)]
        table = source.frame.selectExpr(f"`{ROW}`", *asked).toArrow()
    except SPARK_ERRORS as error:
        if len(conditions) == 1:
            return {conditions[0]: f"{type(error).__name__}: {str(error)[:200]}"}
        half = len(conditions) // 2
        return by_spark(source, conditions[:half]) | by_spark(source, conditions[half:])
    order = np.argsort(table.column(0).to_numpy())
    return {
        sql: table.column(at + 1).cast(pa.int8()).fill_null(NULL).to_numpy()[order] for at, sql in enumerate(conditions)
    }
