"""Kernels in Spark: a job of which each task reads some row groups itself, and sends what it found in blobs.

Who reads a value is a rule of three steps:

1. The footers, where they tell it.
2. The kernels, where they know it, the rows are whole files of parquet or ORC, of a disk or of a store, and the tasks
   of a cluster can run them and reach it; of small files all that is asked or nothing, as Spark gathers it in one job.
3. Spark's SQL.
"""

import gc
import pickle
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2s
from types import ModuleType

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import execution_engine.engines.native
from assay.stores import is_store
from execution_engine.engines.files import last_used, open_files, snapshot, sound_footers
from execution_engine.engines.files.footers import footer_values
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.files.stores import failure_in_tasks
from execution_engine.engines.gathering import GroupsRequest, Keyed, StatisticRequest
from execution_engine.engines.native.local_scan import pieces_of, pieces_that_count, stored_columns
from execution_engine.engines.native.measure import (
    BESIDE,
    FAILED,
    MOST_ROWS,
    TASK_ROWS,
    Native,
    NativeGroups,
    Request,
    Wide,
    binning,
    drafted,
    drafted_groups,
    ends_asked,
    measured_histograms,
    native_of,
    tasks,
    with_groups,
)
from execution_engine.engines.native.reading import REPLACED, Piece, Stored
from execution_engine.engines.native.task import Load, Program, TaskResult, from_bytes, load_results, loads_to_bytes
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.keys import bits
from execution_engine.metrics.states import hll
from execution_engine.read_by import FallbackKind, Left

from .executors import fault_of_tasks
from .failures import OF_ALL, SPARK_ERRORS, action, failure_of
from .sources import SparkSource

for _module in (execution_engine.engines.native, last_used, open_files, snapshot, sound_footers, hll, bits):
    cloudpickle.register_pickle_by_value(_module)

BLOB = "number bigint, blob binary"
OFF = Left(kind=FallbackKind.OFF, why="ASSAY_SPARK_NATIVE is false")
_SCHEMA = pa.schema([("number", pa.int64()), ("blob", pa.binary())])

Entry = Callable[[bytes, int], Iterator[tuple[int, bytes]]]  # what all tasks are sent, and a task's place among them
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def why_not_here(source: SparkSource) -> Left | None:
    """Why a source as a whole is Spark's to read; None where the kernels may."""
    if source.fallback:
        return source.fallback
    if source.listing is None or source.footers is None:
        return Left(kind=FallbackKind.TABLE, why="it is no set of whole files of parquet or ORC whose footers are read")
    root = source.listing.root
    if not root.is_local and not is_store(root.url(root.path)):
        return Left(kind=FallbackKind.TABLE, why="it does not lie where the tasks of Spark read files themselves")
    if not source.rows:
        return Left(kind=FallbackKind.TABLE, why="it has no rows")
    fault = fault_of_tasks(source.session, root)
    return Left(kind=FallbackKind.EXECUTORS, why=fault) if fault else None


def comes_along(source: SparkSource, left: Collection[Request]) -> bool:
    """Whether Spark gathers what the kernels know along with what is left to it, in its one job for small files."""
    return source.small and bool(left)


def taken_natively(
    source: SparkSource,
    requests: Sequence[StatisticRequest],
    keyed: Sequence[Keyed],
    groups: Sequence[GroupsRequest] = (),
    *,
    needed: Collection[StatisticRequest] = (),
) -> Native:
    """What the footers do not tell, gathered by the kernels as far as it is theirs, in one job.

    ``needed``: without these another job of the kernels is Spark's to do.
    """
    if (why := why_not_here(source)) is not None:
        return left_to_spark(requests, keyed, groups, why)
    assert source.footers is not None
    footers, rows, cut = footer_values(source.footers, requests), source.footers.rows, _cut(source)
    columns = stored_in(source)
    alone = len(cut) == 1 and rows <= MOST_ROWS
    draft = drafted(columns, [request for request in requests if request not in footers], keyed, alone=alone)
    of_groups = [drafted_groups(columns, group_request, rows=rows, tasks=len(cut)) for group_request in groups]
    program = with_groups(draft.program, of_groups)
    runs_anyway = program.grouped or any(request in needed for request in draft.requests)
    no_groups = [NativeGroups(left=group_draft.left) for group_draft in of_groups]
    if not runs_anyway and comes_along(source, draft.left):
        reasons: dict[Request, Left] = dict.fromkeys((*draft.requests, *draft.keyed), BESIDE)
        return Native(left={**reasons, **draft.left}, groups=no_groups)
    if not program.statistics and not program.counted and not program.grouped:
        return Native(left=draft.left, groups=no_groups)
    return native_of(draft, of_groups, glean_in_tasks(source, program, cut) or [TaskResult(failed=FAILED.why)])


def left_to_spark(
    requests: Sequence[StatisticRequest], keyed: Sequence[Keyed], groups: Sequence[GroupsRequest], why: Left
) -> Native:
    """Nothing is native, for one reason."""
    return Native(
        left=dict.fromkeys((*requests, *keyed), why),
        groups=[
            NativeGroups(left=dict.fromkeys((*group_request.requests, *group_request.keyed), why))
            for group_request in groups
        ],
    )


def taken_together(
    session: SparkSession,
    sources: Mapping[int, SparkSource],
    requests: Sequence[StatisticRequest],
    keyed: Sequence[Keyed],
) -> dict[int, Native]:
    """The same asked of several sources of one shape, by their numbers, in one job; of none where any of it is Spark's.

    Raises what Spark does.
    """
    every: list[Request] = [*requests, *keyed]
    if reasons := [why for source in sources.values() if source.rows != 0 and (why := why_not_here(source))]:
        return dict.fromkeys(sources, Native(left=dict.fromkeys(every, reasons[0])))
    draft = drafted(stored_in(next(iter(sources.values()))), requests, keyed)
    if draft.left:
        return dict.fromkeys(sources, Native(left={**dict.fromkeys(every, BESIDE), **draft.left}))
    rows = sum(source.rows or 0 for source in sources.values())
    count = max(1, min(len(sources), -(-rows // TASK_ROWS)))
    loads: list[list[tuple[int, Sequence[Piece]]]] = [[] for _ in range(count)]
    held = 0
    for number, source in sources.items():
        assert source.listing is not None
        pieces = pieces_that_count(source.listing, draft.program, [piece for piece, _ in pieces_in(source)])
        loads[min(held * count // max(rows, 1), count - 1)].append((number, pieces))
        held += source.rows or 0
    results = run(session, draft.program, [load for load in loads if load], rows=rows)
    for number, source in sources.items():
        if source.listing is not None and not source.listing.is_unchanged():
            results[number] = [TaskResult(failed=REPLACED)]
    return {number: native_of(draft, (), results.get(number, ())) for number in sources}


def taken_by_kernels(
    source: SparkSource, requests: Sequence[MeasurementRequest], native: Native, groups: Sequence[NativeGroups]
) -> tuple[dict[str, Measured], dict[str, Left]]:
    """The histograms that they measured, by key, and why the others are Spark's; see ``measured_histograms``.

    Those of values were gathered beside all else, those of bins are counted in one job more for all.
    """
    ends = {**native.statistics, **footer_values(source.footers, ends_asked(requests, source.write))}

    def glean_bins(wide: Wide) -> list[TaskResult]:
        return glean_in_tasks(source, binning(wide, source.write, stored_in(source)), _cut(source))

    return measured_histograms(requests, source.write, source.name, ends, native, groups, glean_bins)


def stored_in(source: SparkSource) -> dict[str, Stored]:
    """The plain columns of a source that may be read here."""
    assert source.listing is not None
    return stored_columns(source.listing, source.columns)


def pieces_in(source: SparkSource) -> list[tuple[Piece, Sequence[int]]]:
    """Its files by their row groups, and the rows of each group."""
    assert source.listing is not None
    assert source.footers is not None
    return list(pieces_of(source.listing, source.footers))


def _cut(source: SparkSource) -> list[list[Piece]]:
    return tasks(pieces_in(source), source.rows or 0, 1 if source.small else None)


def glean_in_tasks(source: SparkSource, program: Program, cut: Sequence[Sequence[Piece]]) -> list[TaskResult]:
    """What the tasks found; nothing if one failed for a reason that is not one of all jobs.

    Raises UnableToListFiles where the store of the files failed under a task.
    """
    assert source.listing is not None
    pieces_of_tasks = [pieces_that_count(source.listing, program, pieces) for pieces in cut]
    loads = [[(0, pieces)] for pieces in pieces_of_tasks if pieces] or [[(0, [])]]
    try:
        results = run(source.session, program, loads, rows=source.rows)[0]
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        return []
    for text in filter(None, (result.of_store for result in results)):
        if failure := failure_in_tasks(source.listing.root.url(source.listing.root.path), text):
            raise UnableToListFiles(f"{source.name}: {failure.detail}", failure.reason)
    return results if source.listing.is_unchanged() else [TaskResult(failed=REPLACED)]


def run(
    session: SparkSession, program: Program, loads: Sequence[Load], *, rows: int | None
) -> dict[int, list[TaskResult]]:
    """What the tasks of one job found, by the numbers of the units; raises what Spark does."""
    results: dict[int, list[TaskResult]] = {}
    for number, blob in blobs_of(session, load_results, loads_to_bytes(program, loads), len(loads), rows=rows):
        results.setdefault(number, []).append(from_bytes(blob))
    return results


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
        module = sys.modules.setdefault("assay_kernels", ModuleType("assay_kernels"))  # by a worker, for tasks to come
        if not hasattr(module, name):
            setattr(module, name, pickle.loads(kernels))
            gc.freeze()  # after each task the worker looks through all it holds: through modules that stay, for longer
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for number, blob in getattr(module, name)(sent, at):
                    yield pa.RecordBatch.from_pydict({"number": [number], "blob": [blob]}, schema=_SCHEMA)

    return work


@cache
def _kernels(entry: Entry) -> tuple[str, bytes]:
    """The kernels as a task takes them, and a name for just these; to pickle them takes longer than a small scan."""
    pickled = cloudpickle.dumps(entry)
    return f"kernels_{blake2s(pickled).hexdigest()}", pickled
