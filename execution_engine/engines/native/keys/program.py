"""From the keys that are asked for to the program of a task, and from what tasks told to what they found (pure)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.measure import names_in
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.reading import Stored
from execution_engine.engines.native.values import Values, values_of
from execution_engine.metrics.columns import path_of
from execution_engine.read_by import Kind, Left

from .gathering import Rows, Take
from .task import KeyProgram, KeysTold


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
