"""What one task does for keys: its pieces, read and gathered; and what it is sent, and sends back."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from execution_engine.engines.native import nodes, reading
from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.measure import names_in
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.reading import Piece, Stored, UnableToReadPiece, batches
from execution_engine.engines.native.task import Unpickler, classes_in
from execution_engine.engines.native.values import Values, values_of
from execution_engine.metrics.expressions import path_of
from execution_engine.read_by import Kind, Left

from . import gathering
from .gathering import Rows, Take


@dataclass(frozen=True, kw_only=True)
class KeyProgram:
    """What to gather of whose keys, and the columns that it takes, by their names in lower case."""

    take: Take
    rows: Rows
    columns: Mapping[str, Stored]


@dataclass(frozen=True, kw_only=True)
class KeysTold:
    """What a task found, as its ``take`` gives it.

    Else ``unable``: what the rows hold that is Spark's to answer; or ``failed``: why they cannot be read here.
    """

    found: Any = None
    unable: str = ""
    failed: str = ""


def tasks_to_bytes(program: KeyProgram, tasks: Sequence[Sequence[Piece]]) -> bytes:
    """For the tasks, which know the classes by their names alone."""
    return pickle.dumps((program, tasks), protocol=5)


def keys_told_of(sent: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """What one task of ``tasks_to_bytes`` sends back: its number, and what its pieces tell, as bytes."""
    program, tasks = Unpickler(sent, _SENT).load()
    told = tell(program, tasks[at])
    yield at, pickle.dumps((told.found, told.unable, told.failed), protocol=5)


def from_bytes(blob: Any) -> KeysTold:
    """What a task of our own has sent."""
    found, unable, failed = pickle.loads(blob)
    return KeysTold(found=found, unable=unable, failed=failed)


def tell(program: KeyProgram, pieces: Sequence[Piece]) -> KeysTold:
    """What the pieces tell."""
    try:
        return KeysTold(found=program.take.gather(program.rows, _batches(program, pieces)))
    except UnableToReadPiece as error:
        return KeysTold(failed=str(error))
    except UnableToTell as error:
        return KeysTold(unable=str(error))


def _batches(program: KeyProgram, pieces: Sequence[Piece]) -> Iterator[Batch]:
    try:
        for piece in pieces:
            yield from batches(piece, program.columns)
    except UnableToTell as error:  # of how a file holds a column, rather than of what its rows hold
        raise UnableToReadPiece(str(error)) from error


_SENT = classes_in(nodes, reading, gathering) | {(KeyProgram.__module__, KeyProgram.__name__): KeyProgram}


# From the keys that are asked for to the program of a task, and from what tasks told to what they found (pure).


def key_program(
    columns: Sequence[str], condition: str | None, take: Take, plain: Mapping[str, Stored]
) -> KeyProgram | Left:
    """What tasks are to do, tried on no rows; or why it is Spark's.

    ``condition``: in SQL. ``plain``: the columns of the files, by their names in lower case.
    """
    try:
        where = None if condition is None else compiled(condition)
        rows = Rows(columns=tuple(map(_plain, columns)), where=where)
    except UnableToTell as error:
        return Left(kind=Kind.EXPRESSION, why=str(error))
    names = {*rows.columns, *(names_in(where) if where else ())}
    stored = {name: each for name, each in plain.items() if name in names}

    def empty(name: str) -> Values:
        if name not in stored:
            raise UnableToTell(f"{name} is no plain column of the files")
        return values_of(pa.nulls(0, stored[name].arrow), stored[name].spark)

    try:
        take.gather(rows, [Batch(rows=0, columns=empty)])
    except UnableToTell as error:
        return Left(kind=Kind.COLUMN, why=str(error))
    return KeyProgram(take=take, rows=rows, columns=stored)


def parts_of(told: Sequence[KeysTold]) -> list[Any] | Left:
    """What each task found; or why it is Spark's."""
    for each in told:
        if each.failed:
            return Left(kind=Kind.FAILED, why=each.failed)
    for each in told:
        if each.unable:
            return Left(kind=Kind.ROWS, why=each.unable)
    return [each.found for each in told]


def _plain(name: str) -> str:
    path = path_of(name)
    if len(path) > 1:
        raise UnableToTell(f"{name} lies inside another column")
    return path[0].lower()
