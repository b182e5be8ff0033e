"""What one task does: its pieces, read and gathered; and what it is sent, and sends back."""

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from execution_engine.engines.files.snapshot import ColumnNames

from . import grouped, key_tasks, language, partials, reading
from .evaluation import RowBatch
from .grouped import Binned, Gathering, Grouped, GroupsOfTask, counts_in
from .key_tasks import KeyRows, Take
from .language import Node, UnableToTell
from .partials import Counted, Gathered, Keys, Part, Partials, Value, of_batches
from .reading import Piece, Stored, UnableToReadPiece, batches_of
from .values import Numbers


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to gather of all rows, by groups and in bins, and the columns it takes, by their names in lower case.

    Or what to ``take`` of the keys of which ``rows``, and nothing else.
    """

    statistics: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    columns: Mapping[str, Stored]
    grouped: tuple[Grouped, ...] = ()
    binned: tuple[Binned, ...] = ()
    take: Take | None = None
    rows: KeyRows | None = None

    @property
    def conditions(self) -> tuple[Node, ...]:
        """A row that meets none of these counts nowhere; none where every row counts."""
        gathered = (*self.statistics, *self.counted, *self.binned, *((self.rows,) if self.rows else ()))
        wheres = [item.where for item in gathered]
        return () if self.grouped or None in wheres else tuple(where for where in dict.fromkeys(wheres) if where)


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """What a task found: the values of its batches by the places of what was asked, the keys by those of their sets.

    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them, and
    ``of_store``: what the store of a file said.
    ``groups`` of each way to group, and ``bins``, the counts of bins, are in the order of the program's.
    """

    values_by_place: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    keys: Mapping[int, Keys] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""
    of_store: str = ""
    groups: Sequence[GroupsOfTask] = ()
    bins: Sequence[Numbers] = ()
    taken: Any = None  # as the program's ``take`` gives it

    def to_bytes(self) -> bytes:
        """For the driver, which made the task: where tasks run, no module has the name of a class."""
        return pickle.dumps(
            {**vars(self), "groups": [vars(group) for group in self.groups], "bins": list(self.bins)}, protocol=5
        )


def from_bytes(blob: Any) -> TaskResult:
    """What ``to_bytes`` wrote, of a task of our own."""
    parts = pickle.loads(blob)
    return TaskResult(**{**parts, "groups": [GroupsOfTask(**group) for group in parts["groups"]]})


Load = Sequence[tuple[int, Sequence[Piece]]]  # of one task: numbers of units, and the pieces of each


def loads_to_bytes(program: Program, loads: Sequence[Load]) -> bytes:
    """For the tasks, which know the classes by their names alone."""
    return pickle.dumps((program, loads), protocol=5)


def load_results(sent: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """What one task of ``loads_to_bytes`` sends back: the number of each unit, and what its pieces tell, as bytes."""
    program, loads = Unpickler(sent, _SENT).load()
    for number, pieces in loads[at]:
        yield number, glean(program, pieces).to_bytes()


Classes = Mapping[tuple[str, str], Any]  # by their modules' names and their own


def classes_in(*modules: Any) -> dict[tuple[str, str], Any]:
    """The classes that the modules define, as a pickle names them."""
    every = (member for module in modules for member in vars(module).values() if isinstance(member, type))
    names = {module.__name__ for module in modules}
    return {(type_.__module__, type_.__name__): type_ for type_ in every if type_.__module__ in names}


_SENT = classes_in(language, partials, reading, grouped, key_tasks) | {
    (class_.__module__, class_.__name__): class_ for class_ in (Program, ColumnNames)
}


class Unpickler(pickle.Unpickler):
    """Finds the classes of this package where no module has its name, as where tasks of Spark run."""

    def __init__(self, sent: bytes, classes: Classes) -> None:
        super().__init__(io.BytesIO(sent))
        self._classes = classes

    def find_class(self, module: str, name: str, /) -> Any:
        """The class, of those here if it is one."""
        return self._classes.get((module, name)) or super().find_class(module, name)


def glean(program: Program, pieces: Sequence[Piece]) -> TaskResult:
    """What the pieces tell; one that cannot be read, or is not what was listed, fails all."""
    if program.take is not None and program.rows is not None:
        try:
            return TaskResult(taken=program.take.gather(program.rows, _batches(program, pieces)))
        except UnableToReadPiece as error:
            return TaskResult(failed=str(error), of_store=error.of_store)
        except UnableToTell as error:
            return TaskResult(unable={0: str(error)})
    partials_ = Partials(statistics=program.statistics, counted=program.counted)
    groups = list(map(Gathering, program.grouped))
    bins: list[Numbers] = [np.zeros(histogram.bins + 1, dtype=np.int64) for histogram in program.binned]
    try:
        for batch in batches_of(pieces, program.columns, program.conditions):
            partials_.add(batch)
            for group in groups:
                group.add(batch)
            bins = [
                before + counts_in(histogram, batch) for before, histogram in zip(bins, program.binned, strict=True)
            ]
    except (UnableToReadPiece, UnableToTell) as error:
        return TaskResult(failed=str(error), of_store=getattr(error, "of_store", ""))
    return task_result(partials_, groups=[group.result() for group in groups], bins=bins)


def _batches(program: Program, pieces: Sequence[Piece]) -> Iterator[RowBatch]:
    try:
        yield from batches_of(pieces, program.columns, program.conditions)
    except UnableToTell as error:  # of how a file holds a column, rather than of what its rows hold
        raise UnableToReadPiece(str(error)) from error


def task_result(partials_: Partials, groups: Sequence[GroupsOfTask] = (), bins: Sequence[Numbers] = ()) -> TaskResult:
    """What the batches of one task told."""
    unable = partials_.unable
    return TaskResult(
        values_by_place={
            at: of_batches(partials_.statistics[at], own)
            for at, own in partials_.values_by_place.items()
            if at not in unable
        },
        keys={
            number: (of_parts([whole for whole, _ in keys]), of_parts([without for _, without in keys]))
            for number, keys in partials_.keys.items()
        },
        unable=unable,
        groups=groups,
        bins=bins,
    )


def of_parts(parts: Sequence[Part]) -> Part:
    """All of the parts of one set of keys."""
    hashes, marks, few, times = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
    return hashes, marks, few, times
