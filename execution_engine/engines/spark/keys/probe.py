"""Keys looked up in a filter: in the driver or, above the cap, by the workers, which send back what they miss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from execution_engine.engines.native.keys.measures import NAMED_KEYS, Missed, missed_of_pulled
from execution_engine.engines.protocol import Wanted
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys.bits import Mask
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.keys.filter_shape import EXACT_KEYS, Format
from execution_engine.read_by import Kind, Left

from .key_sql import HASH, KeysOf, digest_bytes, digests, hashes, leave
from .pull import PULLED_ROWS, pull, row_count
from .workers import MISSING, among, in_bits, in_pybloom, prober

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
