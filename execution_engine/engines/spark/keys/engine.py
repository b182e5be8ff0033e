"""Keys in Spark: what metrics of keys ask of rows, by the kernels where these can, and else by Spark's own queries."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from execution_engine.engines.columns.column_types import is_in, key
from execution_engine.engines.native.keys import measures
from execution_engine.engines.native.keys.gathering import Lowest, Named, among_texts, lowest_of, texts_in, there_of
from execution_engine.engines.native.keys.measures import Missed
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys import bits
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.digest import Buckets, KeyDigest
from execution_engine.metrics.keys.filter import KeyFilter

from . import workers
from .filters import Build, built
from .key_sql import HASH, TEXT, KeysOf, gathered, hash_of, quoted, rows_of, spread_rows_of, text_of
from .probe import Probe, missed
from .pull import digest, row_count

# The keys behind a few hashes, for people to read.


def texts_of(keys: KeysOf, hashes: Hashes) -> list[str]:
    """The texts of the keys that have one of these hashes, in order, by another look at the rows."""
    parts = gathered(keys, Named(hashes=tuple(sorted(hashes.tolist()))))
    if parts is not None:
        return texts_in(parts)
    wanted = ", ".join(map(str, hashes.view("i8").tolist()))
    key = f"{hash_of(quoted(keys.columns))} as {HASH}", f"{text_of(quoted(keys.columns))} as {TEXT}"
    rows = spread_rows_of(keys.source, keys.where).selectExpr(*key).where(f"{HASH} in ({wanted})").select(TEXT)
    return sorted(row[TEXT] for row in action(rows.distinct().collect, rows=keys.source.rows))


# Keys by their texts in Spark: those of the lowest hashes, and those of a sample, looked up exactly.


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


# Workers need numpy and pyarrow, but not this package.
cloudpickle.register_pickle_by_value(bits)
cloudpickle.register_pickle_by_value(workers)


def take_digest(source: SparkSource, item: Wanted) -> Measured:
    """The digest of the distinct keys as state; the value is their number, exactly."""
    return measures.take_digest(_SparkKeys(source=source), item)


def build_filter(source: SparkSource, item: Wanted) -> Measured:
    """A filter of the distinct keys as state; the value is their number."""
    return measures.build_filter(_SparkKeys(source=source), item)


def probe_filter(source: SparkSource, item: Wanted) -> Measured:
    """How many distinct keys are in the shipped filter; the detail counts and names those that are not."""
    return measures.probe_filter(_SparkKeys(source=source), item)


def take_sample(source: SparkSource, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size."""
    return measures.take_sample(_SparkKeys(source=source), item)


def find_sample(source: SparkSource, item: Wanted) -> Measured:
    """How many keys of the sample are among the rows; exact."""
    return measures.find_sample(_SparkKeys(source=source), item)


@dataclass(frozen=True, kw_only=True)
class _SparkKeys:
    """The keys of the rows of a source, as ``measures.KeyReader`` has them."""

    source: SparkSource

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def columns(self) -> Collection[str]:
        return self.source.columns

    def row_count(self) -> int:
        return row_count(self.source)

    def digest(self, item: Wanted) -> KeyDigest:
        return digest(self.source, item)

    def built(self, item: Wanted, *, keys: int, counted: bool = False, buckets: Buckets | None = None) -> KeyFilter:
        return built(Build(source=self.source, item=item, keys=keys, counted=counted, buckets=buckets))

    def missed(self, item: Wanted, shipped: KeyFilter, own_keys: int | None) -> Missed:
        return missed(Probe(source=self.source, item=item, shipped=shipped, own_keys=own_keys))

    def texts(self, item: Wanted, hashes: Hashes) -> list[str]:
        return texts_of(self._all(item), hashes)

    def lowest(self, item: Wanted, size: int) -> list[str]:
        return lowest_in(self._all(item), size)

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        return there_in(KeysOf(source=self.source, columns=columns), texts)

    def _all(self, item: Wanted) -> KeysOf:
        return KeysOf(source=self.source, columns=item.spec.columns, where=item.spec.where)
