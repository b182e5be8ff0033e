"""What one task does: its pieces, read and gathered; and what it is sent, and sends back."""

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import grouped, nodes, partials, reading
from .grouped import Binned, Gathering, Grouped, GroupsOfTask, counts_in, nothing_in
from .nodes import UnableToTell
from .partials import Counted, Gathered, Keys, Part, Partials, Value, of_batches
from .reading import Piece, Stored, UnableToReadPiece, batches
from .values import Numbers


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to gather of all rows, by groups and in bins, and the columns it takes, by their names in lower case."""

    asked: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    columns: Mapping[str, Stored]
    grouped: tuple[Grouped, ...] = ()
    binned: tuple[Binned, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Gleaned:
    """What a task found: the values of its batches by the places of what was asked, the keys by those of their sets.

    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them.
    ``groups`` of each way to group, and ``bins``, the counts of bins, are in the order of the program's.
    """

    told: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    keys: Mapping[int, Keys] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""
    groups: Sequence[GroupsOfTask] = ()
    bins: Sequence[Numbers] = ()

    def to_bytes(self) -> bytes:
        """For the driver, which made the task."""
        groups = [vars(each) for each in self.groups]  # where tasks run, no module has the name of their class
        found = dict(self.told), dict(self.keys), dict(self.unable), self.failed, groups, list(self.bins)
        return pickle.dumps(found, protocol=5)


def from_bytes(blob: Any) -> Gleaned:
    """What ``to_bytes`` wrote, of a task of our own."""
    told, keys, unable, failed, groups, bins = pickle.loads(blob)
    of_groups = [GroupsOfTask(**each) for each in groups]
    return Gleaned(told=told, keys=keys, unable=unable, failed=failed, groups=of_groups, bins=bins)


Load = Sequence[tuple[int, Sequence[Piece]]]  # of one task: numbers of units, and the pieces of each


def loads_to_bytes(program: Program, loads: Sequence[Load]) -> bytes:
    """For the tasks, which know the classes by their names alone."""
    return pickle.dumps((program, loads), protocol=5)


def gleaned_of(sent: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """What one task of ``loads_to_bytes`` sends back: the number of each unit, and what its pieces tell, as bytes."""
    program, loads = Unpickler(sent, _SENT).load()
    for number, pieces in loads[at]:
        yield number, glean(program, pieces).to_bytes()


Classes = Mapping[tuple[str, str], Any]  # by their modules' names and their own


def classes_in(*modules: Any) -> dict[tuple[str, str], Any]:
    """The classes that stand in the modules, as a pickle names them."""
    every = (each for module in modules for each in vars(module).values() if isinstance(each, type))
    return {(each.__module__, each.__name__): each for each in every}


_SENT = classes_in(nodes, partials, reading, grouped) | {(Program.__module__, Program.__name__): Program}


class Unpickler(pickle.Unpickler):
    """Finds the classes of this package where no module has its name, as where tasks of Spark run."""

    def __init__(self, sent: bytes, classes: Classes) -> None:
        super().__init__(io.BytesIO(sent))
        self._classes = classes

    def find_class(self, module: str, name: str, /) -> Any:
        """The class, of those here if it is one."""
        return self._classes.get((module, name)) or super().find_class(module, name)


def glean(program: Program, pieces: Sequence[Piece]) -> Gleaned:
    """What the pieces tell; one that cannot be read, or is not what was listed, fails all."""
    found, groups = Partials(asked=program.asked, counted=program.counted), list(map(Gathering, program.grouped))
    counts = list(map(nothing_in, program.binned))
    try:
        for piece in pieces:
            for batch in batches(piece, program.columns):
                found.add(batch)
                for each in groups:
                    each.add(batch)
                counts = [before + counts_in(each, batch) for before, each in zip(counts, program.binned, strict=True)]
    except (UnableToReadPiece, UnableToTell) as error:
        return Gleaned(failed=str(error))
    return gleaned(found, groups=[each.result() for each in groups], bins=counts)


def gleaned(found: Partials, groups: Sequence[GroupsOfTask] = (), bins: Sequence[Numbers] = ()) -> Gleaned:
    """What the batches of one task told."""
    return Gleaned(
        told={at: of_batches(found.asked[at], values) for at, values in found.told.items() if at not in found.unable},
        keys={number: _together(some) for number, some in found.keys.items()},
        unable=found.unable,
        groups=groups,
        bins=bins,
    )


def _together(found: Sequence[Keys]) -> Keys:
    whole, without = (of_parts(parts) for parts in zip(*found, strict=True))
    return whole, without


def of_parts(parts: Sequence[Part]) -> Part:
    """All of the parts of one set of keys."""
    hashes, marks, few, times = (np.concatenate(some, axis=-1) for some in zip(*parts, strict=True))
    return hashes, marks, few, times
