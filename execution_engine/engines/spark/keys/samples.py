"""Samples of keys in Spark: taken by the order of their hash, and looked up exactly."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from pyspark.sql import DataFrame

from execution_engine.engines.columns.spark_sql import is_in, key
from execution_engine.engines.columns.spec_check import check_columns
from execution_engine.engines.native.keys.gathering import Among, Lowest, lowest, ranks_of
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.values import texts_of
from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.sample import DEFAULT_SIZE, MAX_SIZE, SAMPLE, Sample, UnableToReadSample
from execution_engine.metrics.keys.key_text import UnableToReadKey, decode, encode
from execution_engine.outcome import Reason

from .key_sql import rows_of
from .lost_keys import NAMED_KEYS, named
from .native import KeysOf, gathered


def take_sample(source: SparkSource, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size."""
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    keys = KeysOf(source=source, columns=item.spec.columns, where=item.spec.where)
    try:
        sample = Sample(columns=item.spec.columns, keys=tuple(map(decode, _lowest(keys, size))))
    except (UnableToReadKey, UnicodeDecodeError):  # of columns of bytes, which a sample writes down as texts
        detail = f"{item.spec.text}: a key in {source.name} has bytes that are no UTF-8; sample another column, or take"
        return failed(Reason.INVALID, f"{detail} key_digest or bloom_filter of this one")
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
    there = _there(KeysOf(source=source, columns=sample.columns), wanted)
    lost = sorted(set(wanted) - there)
    detail = {"size": len(wanted), "missing": len(lost), "lost": named(lost[:NAMED_KEYS], sample.columns)}
    return Measured(value=float(len(there)), detail=detail)


def _lowest(keys: KeysOf, size: int) -> list[str]:
    """The texts of the keys of lowest hash, these first."""
    parts = gathered(keys, Lowest(size=size))
    if parts is not None:
        return [text.decode() for text in lowest({text: rank for part in parts for text, rank in part.items()}, size)]
    ranked = _keys(keys.source, keys.columns, keys.where).selectExpr("k", "xxhash64(k) as rank")
    rows = action(ranked.orderBy("rank", "k").limit(size).collect, rows=keys.source.rows)
    return [row["k"] for row in rows]


def _there(keys: KeysOf, wanted: Sequence[str]) -> set[str]:
    """Which of these texts are those of keys."""
    parts = None
    with suppress(UnableToTell):  # of very long texts
        hashes = {*ranks_of(texts_of(wanted)).view(np.uint64).tolist()}
        parts = gathered(keys, Among(hashes=tuple(sorted(hashes))))
    if parts is not None:
        return {text.decode() for part in parts for text in part}.intersection(wanted)
    rows = action(_keys(keys.source, keys.columns, keys.where).where(is_in("k", wanted)).collect, rows=keys.source.rows)
    return {row["k"] for row in rows}


def _keys(source: SparkSource, columns: Sequence[str], where: str | None) -> DataFrame:
    return rows_of(source, where).selectExpr(f"{key(columns)} as k").distinct()
