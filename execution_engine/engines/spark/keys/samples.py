"""Samples of keys in Spark: taken by the order of their hash, and looked up exactly."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from execution_engine.engines.columns.spark_sql import is_in, key
from execution_engine.engines.columns.spec_check import check_columns
from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.sample import DEFAULT_SIZE, MAX_SIZE, SAMPLE, Sample, UnableToReadSample
from execution_engine.metrics.keys.key_text import decode, encode
from execution_engine.outcome import Reason

from .key_sql import rows_of
from .lost_keys import NAMED_KEYS, named


def take_sample(source: SparkSource, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size."""
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    ranked = _keys(source, item.spec.columns, item.spec.where).selectExpr("k", "xxhash64(k) as rank")
    rows = action(ranked.orderBy("rank", "k").limit(size).collect, rows=source.rows)
    sample = Sample(columns=item.spec.columns, keys=tuple(decode(row["k"]) for row in rows))
    return Measured(value=float(len(sample.keys)), state=sample.to_bytes())


def find_sample(source: SparkSource, item: Wanted) -> Measured:
    """How many keys of the sample are among the rows; exact."""
    try:
        sample = Sample.from_bytes(item.inputs[SAMPLE.name])
    except (KeyError, UnableToReadSample) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no sample to look for: {error}")
    unknown = check_columns(sample.columns, tuple(source.columns), source.name)
    if unknown is not None:
        return Measured(failure=unknown)
    wanted = [encode(found) for found in sample.keys]
    rows = action(_keys(source, sample.columns, None).where(is_in("k", wanted)).collect, rows=source.rows)
    lost = sorted(set(wanted) - {row["k"] for row in rows})
    detail = {"size": len(wanted), "missing": len(lost), "lost": named(lost[:NAMED_KEYS], sample.columns)}
    return Measured(value=float(len(rows)), detail=detail)


def _keys(source: SparkSource, columns: Sequence[str], where: str | None) -> DataFrame:
    return rows_of(source, where).selectExpr(f"{key(columns)} as k").distinct()
