"""Keys in Spark: what metrics of keys ask of rows, by the kernels where these can, and else by Spark's own queries.

Hashes are pulled into the driver up to a cap, which is the cheapest way: numpy sorts ten millions in a tenth of a
second, and no row crosses to another worker. Above it workers fill filters, and send back what they miss.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from execution_engine.engines.column_types import is_in, key
from execution_engine.engines.native import key_metrics as measures
from execution_engine.engines.native.key_metrics import (
    NAMED_KEYS,
    MissedKeys,
    Pulled,
    Take,
    filter_of_pulled,
    missed_of_pulled,
    pulled_of,
    shape_of,
)
from execution_engine.engines.native.key_tasks import (
    Distinct,
    Filled,
    Lowest,
    Named,
    among_texts,
    distinct,
    lowest_of,
    texts_in,
    there_of,
)
from execution_engine.engines.native.language import UnableToTell
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys import bits
from execution_engine.metrics.keys.bits import BUCKETS, SHIFT, DigestPlaces, Hashes, places_of_hashes
from execution_engine.metrics.keys.digest import WORDS, Buckets, KeyDigest, digest_of_hashes
from execution_engine.metrics.keys.filter import KeyFilter, Part, filter_of_parts
from execution_engine.metrics.keys.filter_shape import EXACT_KEYS, FilterShape, Format
from execution_engine.read_by import FallbackKind, Left

from . import workers
from .key_sql import (
    DIGEST,
    HASH,
    TEXT,
    KeysOf,
    digest_bytes,
    digests,
    gathered,
    hash_of,
    hashes,
    leave,
    quoted,
    rows_of,
    spread_rows_of,
    text_of,
)
from .workers import FILLED, MISSING, Task, among, digests_in, filler, hashes_in, in_bits, in_pybloom, prober

PULLED_ROWS = 20_000_000  # 160 MB, three times that while they are sorted; of more, Spark groups the hashes
FILTERS_IN_FLIGHT_BYTES = 128 * 1024 * 1024  # of all partial filters on their way to the driver
MAX_TASKS = 8
MANY = Left(kind=FallbackKind.UNKNOWN, why="a digest of so many rows is grouped by Spark")
SHA = Left(kind=FallbackKind.UNKNOWN, why="pybloom_live's digests are Spark's to make")
LOOKED_UP = Left(kind=FallbackKind.UNKNOWN, why="so many keys, or pybloom_live's digests, are looked up by Spark")

# Workers need numpy and pyarrow, but not this package.
cloudpickle.register_pickle_by_value(bits)
cloudpickle.register_pickle_by_value(workers)


@dataclass(frozen=True, kw_only=True)
class SparkKeys:
    """The keys of the rows of a source, as ``measures.KeyReader`` has them."""

    source: SparkSource

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def columns(self) -> Collection[str]:
        return self.source.columns

    def row_count(self) -> int:
        """The rows, as the files' footers tell, else counted."""
        return self.source.rows if self.source.rows is not None else action(self.source.frame.count, rows=None)

    def digest(self, item: MeasurementRequest) -> KeyDigest:
        """The digest of the distinct keys; above the cap Spark groups the hashes instead."""
        if self.row_count() <= PULLED_ROWS:
            pulled = self._pull(self._keys(item))
            return digest_of_hashes(item.spec.columns, pulled.hashes, pulled.rows)
        leave(self.source, MANY)
        single = hashes(self.source, item.spec.columns, item.spec.where).groupBy(HASH).count()
        buckets = single.selectExpr(f"shiftrightunsigned({HASH}, {int(SHIFT)}) as b", HASH, "count as n").groupBy("b")
        # sums of 32 bits apart, as Spark's sums do not wrap around
        sums = f"sum({HASH} & 4294967295) as low", f"sum(shiftrightunsigned({HASH}, 32)) as high"
        written = ("count(*) as keys", f"bit_xor({HASH}) as every", *sums, "sum(n) as n")
        rows = action(buckets.agg(*map(expr, written)).collect, rows=self.source.rows)
        words = np.zeros((BUCKETS, WORDS), dtype=np.uint64)
        for row in rows:
            words[row["b"]] = (row["keys"], row["every"] % 2**64, (row["low"] + (row["high"] << 32)) % 2**64)
        return KeyDigest(columns=item.spec.columns, rows=sum(row["n"] for row in rows), words=words)

    def built(
        self, item: MeasurementRequest, *, keys: int, counted: bool = False, buckets: Buckets | None = None
    ) -> KeyFilter:
        """The filter of so many keys at most, or just so many if they were ``counted``; UnableToShape if too large."""
        shape, columns, own = shape_of(item.spec, keys), item.spec.columns, self._keys(item, buckets)
        is_small = shape.format is not Format.PYBLOOM and (self.row_count() <= PULLED_ROWS or keys <= EXACT_KEYS)
        if is_small or shape.format is Format.HASHES:
            return filter_of_pulled(columns, shape, self._pull(own), buckets)
        parts = None
        if shape.format is Format.XXHASH:
            take = Filled(slices=shape.slices, bits_per_slice=shape.bits_per_slice, buckets=own.numbers)
            parts = gathered(own, take, _tasks(shape))
        if parts is None:
            if shape.format is Format.PYBLOOM:
                leave(self.source, SHA)
                frame = digests(self.source, columns, own.where, shape, buckets).select(DIGEST)
                task = filler(shape.slices, shape.bits_per_slice, digests_in(digest_bytes(shape)), DigestPlaces)
            else:
                frame = hashes(self.source, columns, own.where, buckets)
                task = filler(shape.slices, shape.bits_per_slice, hashes_in, places_of_hashes)
            parts = fill(frame, task, shape, self.source.rows)
        return filter_of_parts(shape, columns, parts, buckets, keys if counted else None)

    def missed(self, item: MeasurementRequest, shipped: KeyFilter, own_keys: int | None) -> MissedKeys:
        source, own = self.source, self._keys(item, shipped.buckets)
        is_small = self.row_count() <= PULLED_ROWS or (own_keys is not None and own_keys <= EXACT_KEYS)
        if source.rows == 0:
            return MissedKeys(keys=0, missed=0, lowest=np.empty(0, dtype=np.uint64))
        if shipped.shape.format is not Format.PYBLOOM and is_small:
            return missed_of_pulled(shipped, self._pull(own).hashes)
        leave(source, LOOKED_UP)
        match shipped.shape.format:
            case Format.HASHES:
                has = among(shipped.hashes)
            case Format.XXHASH:
                has = in_bits(shipped.bits)
            case Format.PYBLOOM:
                has = in_pybloom(shipped.bits, digest_bytes(shipped.shape))
        if shipped.shape.format is Format.PYBLOOM:
            frame = digests(source, own.columns, own.where, shipped.shape, own.buckets)
        else:
            frame = hashes(source, own.columns, own.where, own.buckets)
        # only what is missed crosses to another worker, to be counted once
        missing = frame.mapInArrow(prober(has, NAMED_KEYS), MISSING)
        once = missing.groupBy(HASH).agg({"named": "max"}).toDF(HASH, "named")
        summary = once.selectExpr("count(*) as missed", f"collect_list(case when named then {HASH} end) as lowest")
        (row,) = action(summary.collect, rows=source.rows)
        lowest = np.sort(np.array(row["lowest"], dtype=np.int64).view(np.uint64))[:NAMED_KEYS]
        if own_keys is None and self.row_count() <= PULLED_ROWS:
            own_keys = len(self._pull(own).hashes)
        elif own_keys is None:
            single = hashes(source, own.columns, own.where, own.buckets).distinct()
            own_keys = action(single.count, rows=source.rows)
        return MissedKeys(keys=own_keys, missed=row["missed"], lowest=lowest)

    def texts(self, item: MeasurementRequest, hashes: Hashes) -> list[str]:
        """The texts of the keys that have one of these hashes, in order, by another look at the rows."""
        own = self._keys(item)
        parts = gathered(own, Named(hashes=tuple(sorted(hashes.tolist()))))
        if parts is not None:
            return texts_in(parts)
        numbers = ", ".join(map(str, hashes.view("i8").tolist()))
        both = f"{hash_of(quoted(own.columns))} as {HASH}", f"{text_of(quoted(own.columns))} as {TEXT}"
        rows = spread_rows_of(self.source, own.where).selectExpr(*both).where(f"{HASH} in ({numbers})").select(TEXT)
        return sorted(row[TEXT] for row in action(rows.distinct().collect, rows=self.source.rows))

    def lowest(self, item: MeasurementRequest, size: int) -> list[str]:
        own = self._keys(item)
        parts = gathered(own, Lowest(size=size))
        if parts is not None:
            return lowest_of(parts, size)
        ranked = _texts(own).selectExpr("k", "xxhash64(k) as rank")
        rows = action(ranked.orderBy("rank", "k").limit(size).collect, rows=self.source.rows)
        return [row["k"] for row in rows]

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        own, parts = KeysOf(source=self.source, columns=columns), None
        with suppress(UnableToTell):  # of very long texts
            parts = gathered(own, among_texts(texts))
        if parts is not None:
            return there_of(parts, texts)
        rows = action(_texts(own).where(is_in("k", texts)).collect, rows=self.source.rows)
        return {row["k"] for row in rows}

    def _keys(self, item: MeasurementRequest, buckets: Buckets | None = None) -> KeysOf:
        return KeysOf(source=self.source, columns=item.spec.columns, where=item.spec.where, buckets=buckets)

    def _pull(self, keys: KeysOf) -> Pulled:
        """The hashes of the keys, by the kernels where these can."""
        parts = gathered(keys, Distinct(buckets=keys.numbers))
        if parts is not None:
            return pulled_of(parts)
        frame = hashes(self.source, keys.columns, keys.where, keys.buckets)
        every = action(frame.toArrow, rows=self.source.rows).column(0).to_numpy().view(np.uint64)
        return Pulled(hashes=distinct(every), rows=len(every))


def _texts(keys: KeysOf) -> DataFrame:
    return rows_of(keys.source, keys.where).selectExpr(f"{key(keys.columns)} as k").distinct()


def fill(frame: DataFrame, task: Task, shape: FilterShape, rows: int | None) -> list[Part]:
    """What each task fills of the keys of the frame; ``rows`` as far as known before."""
    if rows == 0:
        return []
    parts = action(frame.coalesce(_tasks(shape)).mapInArrow(task, FILLED).collect, rows=rows)
    return [(part["bits"], part["rows"]) for part in parts]


def _tasks(shape: FilterShape) -> int:
    return max(1, min(MAX_TASKS, FILTERS_IN_FLIGHT_BYTES // shape.body_bytes))


# The metrics of keys, as their definitions name them.


def _of_source(take: Take) -> Callable[[SparkSource, MeasurementRequest], Measured]:
    return lambda source, item: take(SparkKeys(source=source), item)


take_digest, build_filter = _of_source(measures.take_digest), _of_source(measures.build_filter)
probe_filter = _of_source(measures.probe_filter)
take_sample, find_sample = _of_source(measures.take_sample), _of_source(measures.find_sample)
