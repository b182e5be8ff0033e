"""Keys by the kernels: what the tasks of one job gather of them, or why Spark must read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from execution_engine.engines.arrow.pieces import pieces_of, stored_columns
from execution_engine.engines.native.keys.gathering import Take
from execution_engine.engines.native.keys.program import key_program, parts_of
from execution_engine.engines.native.keys.task import from_bytes, keys_told_of, tasks_to_bytes
from execution_engine.engines.native.measure import tasks
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, failure_of
from execution_engine.engines.spark.kernels import FAILED, OFF, blobs_of, why_not_here
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.keys.buckets import Buckets
from execution_engine.read_by import Left


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
    """What each task found, of at most so many, and nothing of no rows.

    None where Spark must read, for a reason that the source then holds.
    """
    source = keys.source
    if source.rows == 0:
        return []
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
    condition = None if keys.where is None else source.write.condition(keys.where)
    program = key_program(keys.columns, condition, take, stored_columns(source.listing, source.columns))
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
    return parts_of([from_bytes(blob) for _, blob in sorted(blobs)])
