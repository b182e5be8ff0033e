"""What one task does for keys: its pieces, read and gathered; and what it is sent, and sends back."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from execution_engine.engines.native import nodes, reading
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.reading import Piece, Stored, UnableToReadPiece, batches
from execution_engine.engines.native.task import Unpickler, classes_in

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
