"""Keys by the kernels: what the tasks of one job gather of them, or why Spark must read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from execution_engine.engines.arrow.pieces import pieces_of, stored_columns
from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.keys.gathering import Rows, Take
from execution_engine.engines.native.keys.task import KeyProgram, from_bytes, keys_told_of, tasks_to_bytes
from execution_engine.engines.native.measure import names_in, tasks
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.values import Values, values_of
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, failure_of
from execution_engine.engines.spark.kernels import FAILED, OFF, blobs_of, why_not_here
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.keys.buckets import Buckets
from execution_engine.read_by import Kind, Left


@dataclass(frozen=True, kw_only=True)
class KeysOf:
    """The key of each row that meets the condition; with buckets only of the keys in them."""

    source: SparkSource
    columns: Sequence[str]
    where: str | None = None
    buckets: Buckets | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """Of the buckets; None for all."""
        return None if self.buckets is None else self.buckets.numbers


def gathered(keys: KeysOf, take: Take, most: int | None = None) -> list[Any] | None:
    """What each task found, of at most so many; None where Spark must read, for a reason that the source then holds."""
    source = keys.source
    found = _why_all(source) or _of_job(keys, take, most)
    if isinstance(found, Left):
        leave(source, found)
        return None
    source.reading.kernels = True
    return found


def leave(source: SparkSource, why: Left) -> None:
    """Notes why Spark must read, unless there is a reason for all of the source, or another one was noted before."""
    source.reading.left = source.reading.left or _why_all(source) or why


def _why_all(source: SparkSource) -> Left | None:
    return why_not_here(source) if source.reading.native else OFF


def _of_job(keys: KeysOf, take: Take, most: int | None) -> list[Any] | Left:
    source = keys.source
    assert source.listing is not None
    assert source.footers is not None
    program = _program(keys, take)
    if isinstance(program, Left):
        return program
    cut = tasks(list(pieces_of(source.listing, source.footers)), source.footers.rows, most)
    sent = tasks_to_bytes(program, cut)
    try:
        blobs = blobs_of(source.session, keys_told_of, sent, len(cut), rows=source.rows)
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        return FAILED
    told = [from_bytes(blob) for _, blob in sorted(blobs)]
    for each in told:
        if each.failed:
            return Left(kind=Kind.FAILED, why=each.failed)
    for each in told:
        if each.unable:
            return Left(kind=Kind.ROWS, why=each.unable)
    return [each.found for each in told]


def _program(keys: KeysOf, take: Take) -> KeyProgram | Left:
    """What the tasks are to do, tried on no rows; or why it is Spark's."""
    source = keys.source
    assert source.listing is not None
    try:
        where = None if keys.where is None else compiled(source.write.condition(keys.where))
        rows = Rows(columns=tuple(map(_plain, keys.columns)), where=where)
    except UnableToTell as error:
        return Left(kind=Kind.EXPRESSION, why=str(error))
    names = {*rows.columns, *(names_in(where) if where else ())}
    stored = {name: each for name, each in stored_columns(source.listing, source.columns).items() if name in names}

    def empty(name: str) -> Values:
        if name not in stored:
            raise UnableToTell(f"{name} is no plain column of the files")
        return values_of(pa.nulls(0, stored[name].arrow), stored[name].spark)

    try:
        take.gather(rows, [Batch(rows=0, columns=empty)])
    except UnableToTell as error:
        return Left(kind=Kind.COLUMN, why=str(error))
    return KeyProgram(take=take, rows=rows, columns=stored)


def _plain(name: str) -> str:
    path = path_of(name)
    if len(path) > 1:
        raise UnableToTell(f"{name} lies inside another column")
    return path[0].lower()
