"""Filters of keys in Spark: hashes pulled into the driver, filters built of them, and keys looked up in one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from execution_engine.engines.native.keys.gathering import Distinct, Filled, distinct
from execution_engine.engines.native.keys.measures import (
    NAMED_KEYS,
    Missed,
    Pulled,
    filter_of_pulled,
    missed_of_pulled,
    pulled_of,
    shape_of,
)
from execution_engine.engines.protocol import Wanted
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys.bits import BUCKETS, SHIFT, DigestPlaces, Mask, places_of_hashes
from execution_engine.metrics.keys.digest import WORDS, Buckets, KeyDigest, digest_of_hashes
from execution_engine.metrics.keys.filter import KeyFilter, Part, filter_of_parts
from execution_engine.metrics.keys.filter_shape import EXACT_KEYS, FilterShape, Format
from execution_engine.read_by import Kind, Left

from .key_sql import DIGEST, HASH, KeysOf, digest_bytes, digests, gathered, hashes, leave
from .workers import FILLED, MISSING, Task, among, digests_in, filler, hashes_in, in_bits, in_pybloom, prober

# Hashes of keys pulled into the driver: up to a cap what is cheapest, as numpy sorts ten millions in a tenth of a
# second and no row crosses to another worker.

PULLED_ROWS = 20_000_000  # 160 MB, three times that while they are sorted
MANY = Left(kind=Kind.STATISTIC, why="a digest of so many rows is grouped by Spark")


def row_count(source: SparkSource) -> int:
    """The rows, as the files' footers tell, else counted."""
    return source.rows if source.rows is not None else action(source.frame.count, rows=None)


def pull(keys: KeysOf) -> Pulled:
    """The hashes of the keys, by the kernels where these can."""
    source = keys.source
    parts = gathered(keys, Distinct(buckets=keys.numbers))
    if parts is None:
        column = action(hashes(source, keys.columns, keys.where, keys.buckets).toArrow, rows=source.rows).column(0)
        every = column.to_numpy().view(np.uint64)
        return Pulled(hashes=distinct(every), rows=len(every))
    return pulled_of(parts)


def digest(source: SparkSource, item: Wanted) -> KeyDigest:
    """The digest of the distinct keys; above the cap Spark groups the hashes instead."""
    spec = item.spec
    if row_count(source) > PULLED_ROWS:
        leave(source, MANY)
        return _grouped(hashes(source, spec.columns, spec.where), source, spec.columns)
    pulled = pull(KeysOf(source=source, columns=spec.columns, where=spec.where))
    return digest_of_hashes(spec.columns, pulled.hashes, pulled.rows)


def _grouped(frame: DataFrame, source: SparkSource, columns: tuple[str, ...]) -> KeyDigest:
    """Sums of 32 bits apart, as Spark's sums do not wrap around."""
    distinct = frame.groupBy(HASH).count()
    buckets = distinct.selectExpr(f"shiftrightunsigned({HASH}, {int(SHIFT)}) as b", HASH, "count as n").groupBy("b")
    sums = f"sum({HASH} & 4294967295) as low", f"sum(shiftrightunsigned({HASH}, 32)) as high"
    written = ("count(*) as keys", f"bit_xor({HASH}) as every", *sums, "sum(n) as n")
    rows = action(buckets.agg(*map(expr, written)).collect, rows=source.rows)
    words = np.zeros((BUCKETS, WORDS), dtype=np.uint64)
    for row in rows:
        words[row["b"]] = (row["keys"], row["every"] % 2**64, (row["low"] + (row["high"] << 32)) % 2**64)
    return KeyDigest(columns=columns, rows=sum(row["n"] for row in rows), words=words)


# Filters of keys, built: from hashes pulled into the driver or, above the cap, by the workers and merged.

FILTERS_IN_FLIGHT_BYTES = 128 * 1024 * 1024  # of all partial filters on their way to the driver
MAX_TASKS = 8
SHA = Left(kind=Kind.STATISTIC, why="pybloom_live's digests are Spark's to make")


@dataclass(frozen=True, kw_only=True)
class Build:
    """What to build: the keys of some buckets or of all, how many at most, and whether that is their exact number."""

    source: SparkSource
    item: Wanted
    buckets: Buckets | None = None
    keys: int
    counted: bool = False

    @property
    def rows(self) -> KeysOf:
        """Whose keys."""
        spec = self.item.spec
        return KeysOf(source=self.source, columns=spec.columns, where=spec.where, buckets=self.buckets)

    @property
    def shape(self) -> FilterShape:
        """The filter's shape, by the options of the call; UnableToShape where there is none."""
        return shape_of(self.item.spec, self.keys)


def built(build: Build) -> KeyFilter:
    """The filter; UnableToShape where it would be too large."""
    shape = build.shape
    few = shape.format is not Format.PYBLOOM and (row_count(build.source) <= PULLED_ROWS or build.keys <= EXACT_KEYS)
    return _pulled(build, shape) if few or shape.format is Format.HASHES else _build_by_workers(build, shape)


def _pulled(build: Build, shape: FilterShape) -> KeyFilter:
    return filter_of_pulled(build.item.spec.columns, shape, pull(build.rows), build.buckets)


def _build_by_workers(build: Build, shape: FilterShape) -> KeyFilter:
    keys = build.keys if build.counted else None
    parts = _filled(build, shape) if shape.format is Format.XXHASH else None
    if parts is None:
        parts = _filled_by_spark(build, shape)
    return filter_of_parts(shape, build.item.spec.columns, parts, build.buckets, keys)


def _filled(build: Build, shape: FilterShape) -> list[Part] | None:
    """By the kernels; None where Spark must read."""
    take = Filled(slices=shape.slices, bits_per_slice=shape.bits_per_slice, buckets=build.rows.numbers)
    return gathered(build.rows, take, _tasks(shape))


def _filled_by_spark(build: Build, shape: FilterShape) -> list[Part]:
    source, spec = build.source, build.item.spec
    if shape.format is Format.PYBLOOM:
        leave(source, SHA)
        frame = digests(source, spec.columns, spec.where, shape, build.buckets).select(DIGEST)
        task = filler(shape.slices, shape.bits_per_slice, digests_in(digest_bytes(shape)), DigestPlaces)
    else:
        frame = hashes(source, spec.columns, spec.where, build.buckets)
        task = filler(shape.slices, shape.bits_per_slice, hashes_in, places_of_hashes)
    return fill(frame, task, shape, source.rows)


def fill(frame: DataFrame, task: Task, shape: FilterShape, rows: int | None) -> list[Part]:
    """What each task fills of the keys of the frame; ``rows`` as far as known before."""
    if rows == 0:
        return []
    parts = action(frame.coalesce(_tasks(shape)).mapInArrow(task, FILLED).collect, rows=rows)
    return [(part["bits"], part["rows"]) for part in parts]


def _tasks(shape: FilterShape) -> int:
    return max(1, min(MAX_TASKS, FILTERS_IN_FLIGHT_BYTES // shape.body_bytes))


# Keys looked up in a filter: in the driver or, above the cap, by the workers, which send back what they miss.

LOOKED_UP = Left(kind=Kind.STATISTIC, why="so many keys, or pybloom_live's digests, are looked up by Spark")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Whose keys to look up, in what; ``own_keys`` is how many distinct ones there are, where that is known."""

    source: SparkSource
    item: Wanted
    shipped: KeyFilter
    own_keys: int | None = None

    @property
    def rows(self) -> KeysOf:
        """Whose keys: those in the buckets of the filter."""
        spec = self.item.spec
        return KeysOf(source=self.source, columns=spec.columns, where=spec.where, buckets=self.shipped.buckets)


def missed(probe: Probe) -> Missed:
    """What the filter lacks of the keys in its buckets."""
    source, shipped = probe.source, probe.shipped
    few = row_count(source) <= PULLED_ROWS or (probe.own_keys is not None and probe.own_keys <= EXACT_KEYS)
    if source.rows == 0:
        return Missed(keys=0, missed=0, lowest=np.empty(0, dtype=np.uint64))
    if shipped.shape.format is Format.PYBLOOM or not few:
        return _probe_by_workers(probe)
    return missed_of_pulled(shipped, pull(probe.rows).hashes)


def _probe_by_workers(probe: Probe) -> Missed:
    """Only what is missed crosses to another worker, to be counted once."""
    source, spec, shipped = probe.source, probe.item.spec, probe.shipped
    leave(source, LOOKED_UP)
    if shipped.shape.format is Format.PYBLOOM:
        frame = digests(source, spec.columns, spec.where, shipped.shape, shipped.buckets)
    else:
        frame = hashes(source, spec.columns, spec.where, shipped.buckets)
    return _counted(frame.mapInArrow(prober(_test(shipped), NAMED_KEYS), MISSING), probe)


def _counted(missing: DataFrame, probe: Probe) -> Missed:
    once = missing.groupBy(HASH).agg({"named": "max"}).toDF(HASH, "named")
    summary = once.selectExpr("count(*) as missed", f"collect_list(case when named then {HASH} end) as lowest")
    (row,) = action(summary.collect, rows=probe.source.rows)
    lowest = np.sort(np.array(row["lowest"], dtype=np.int64).view(np.uint64))[:NAMED_KEYS]
    keys = _own_keys(probe) if probe.own_keys is None else probe.own_keys
    return Missed(keys=keys, missed=row["missed"], lowest=lowest)


def _own_keys(probe: Probe) -> int:
    source, rows = probe.source, probe.rows
    if row_count(source) <= PULLED_ROWS:
        return len(pull(rows).hashes)
    return action(hashes(source, rows.columns, rows.where, rows.buckets).distinct().count, rows=source.rows)


def _test(shipped: KeyFilter) -> Callable[[pa.RecordBatch], Mask]:
    """What tells the keys of a batch that are in the filter."""
    match shipped.shape.format:
        case Format.HASHES:
            return among(shipped.hashes)
        case Format.XXHASH:
            return in_bits(shipped.bits)
        case Format.PYBLOOM:
            return in_pybloom(shipped.bits, digest_bytes(shipped.shape))
