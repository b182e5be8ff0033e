"""Filters of keys, built: from hashes pulled into the driver or, above the cap, by the workers and merged."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from execution_engine.engines.native.keys.gathering import Filled
from execution_engine.engines.native.keys.measures import (
    filter_of_pulled,
    shape_of,
)
from execution_engine.engines.protocol import Wanted
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys.bits import DigestPlaces, places_of_hashes
from execution_engine.metrics.keys.digest import Buckets
from execution_engine.metrics.keys.filter import KeyFilter, Part, filter_of_parts
from execution_engine.metrics.keys.filter_shape import EXACT_KEYS, FilterShape, Format
from execution_engine.read_by import Kind, Left

from .key_sql import DIGEST, KeysOf, digest_bytes, digests, gathered, hashes, leave
from .pull import PULLED_ROWS, pull, row_count
from .workers import FILLED, Task, digests_in, filler, hashes_in

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
