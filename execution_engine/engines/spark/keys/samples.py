"""Keys by their texts in Spark: those of the lowest hashes, and those of a sample, looked up exactly."""

from collections.abc import Sequence
from contextlib import suppress

from pyspark.sql import DataFrame

from execution_engine.engines.columns.spark_sql import is_in, key
from execution_engine.engines.native.keys.gathering import Lowest, among_texts, lowest_of, there_of
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.spark.jobs import action

from .key_sql import rows_of
from .native import KeysOf, gathered


def lowest_in(keys: KeysOf, size: int) -> list[str]:
    """The texts of the keys of lowest hash, these first."""
    parts = gathered(keys, Lowest(size=size))
    if parts is not None:
        return lowest_of(parts, size)
    ranked = _keys(keys).selectExpr("k", "xxhash64(k) as rank")
    rows = action(ranked.orderBy("rank", "k").limit(size).collect, rows=keys.source.rows)
    return [row["k"] for row in rows]


def there_in(keys: KeysOf, wanted: Sequence[str]) -> set[str]:
    """Which of these texts are those of keys."""
    parts = None
    with suppress(UnableToTell):  # of very long texts
        parts = gathered(keys, among_texts(wanted))
    if parts is not None:
        return there_of(parts, wanted)
    rows = action(_keys(keys).where(is_in("k", wanted)).collect, rows=keys.source.rows)
    return {row["k"] for row in rows}


def _keys(keys: KeysOf) -> DataFrame:
    return rows_of(keys.source, keys.where).selectExpr(f"{key(keys.columns)} as k").distinct()
