"""Kernels in Spark: a job of which each task reads some row groups itself, and sends what it found in blobs."""

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2s
from types import ModuleType

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import execution_engine.engines.native
from execution_engine.engines.files import sound_footers
from execution_engine.metrics.keys import bits
from execution_engine.metrics.states import hll
from execution_engine.read_by import Kind, Left

from .failures import action
from .sources import SparkSource

for _module in (execution_engine.engines.native, sound_footers, hll, bits):
    cloudpickle.register_pickle_by_value(_module)

BLOB = "number bigint, blob binary"
OFF = Left(kind=Kind.OFF, why="ASSAY_SPARK_NATIVE is false")
FAILED = Left(kind=Kind.FAILED, why="a task of the kernels failed")
_SCHEMA = pa.schema([("number", pa.int64()), ("blob", pa.binary())])

Entry = Callable[[bytes, int], Iterator[tuple[int, bytes]]]  # what all tasks are sent, and a task's place among them
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def why_not_here(source: SparkSource) -> Left | None:
    """Why a source as a whole is Spark's to read; None where the kernels may."""
    if source.listing is None or source.footers is None:
        return Left(kind=Kind.TABLE, why="it is no set of whole parquet files whose footers are read")
    if source.listing.root.prefix != "file://":
        return Left(kind=Kind.TABLE, why="it does not lie in files of this machine")
    return None if source.rows else Left(kind=Kind.TABLE, why="it has no rows")


def blobs_of(
    session: SparkSession, entry: Entry, sent: bytes, tasks: int, *, rows: int | None
) -> list[tuple[int, bytes]]:
    """What the tasks of one job send back, with its numbers; raises what Spark does."""
    frame = session.range(0, tasks, 1, tasks).mapInArrow(_task(entry, sent), BLOB)
    table = action(frame.toArrow, rows=rows)
    return list(zip(*(table.column(name).to_pylist() for name in ("number", "blob")), strict=True))


def _task(entry: Entry, sent: bytes) -> Work:
    name, kernels = _kernels(entry)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept = sys.modules.setdefault("assay_kernels", ModuleType("assay_kernels"))  # by a worker, for tasks to come
        if not hasattr(kept, name):
            setattr(kept, name, pickle.loads(kernels))
            gc.freeze()  # after each task the worker looks through all it holds: through modules that stay, for longer
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for number, blob in getattr(kept, name)(sent, at):
                    yield pa.RecordBatch.from_pydict({"number": [number], "blob": [blob]}, schema=_SCHEMA)

    return work


@cache
def _kernels(entry: Entry) -> tuple[str, bytes]:
    """The kernels as a task takes them, and a name for just these; to pickle them takes longer than a small scan."""
    pickled = cloudpickle.dumps(entry)
    return f"kernels_{blake2s(pickled).hexdigest()}", pickled
