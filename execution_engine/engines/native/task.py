"""What one task does: its pieces, read and gathered; and what it sends back."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .nodes import UnableToTell
from .partials import Counted, Gathered, Keys, Part, Partials, Value, of_batches
from .reading import Piece, Stored, UnableToReadPiece, batches


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to gather of the rows, and the columns that it takes, by their names in lower case."""

    asked: tuple[Gathered, ...]
    counted: tuple[Counted, ...]
    columns: Mapping[str, Stored]


@dataclass(frozen=True, kw_only=True)
class Gleaned:
    """What a task found: the values of its batches by the places of what was asked, the keys by those of their sets.

    ``unable``: why Spark must answer one, statistics first and groupings behind them; ``failed``: why all of them.
    """

    told: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    keys: Mapping[int, Keys] = field(default_factory=dict)
    unable: Mapping[int, str] = field(default_factory=dict)
    failed: str = ""

    def to_bytes(self) -> bytes:
        """For the driver, which made the task."""
        return pickle.dumps((dict(self.told), dict(self.keys), dict(self.unable), self.failed), protocol=5)


def from_bytes(blob: Any) -> Gleaned:
    """What ``to_bytes`` wrote, of a task of our own."""
    told, keys, unable, failed = pickle.loads(blob)
    return Gleaned(told=told, keys=keys, unable=unable, failed=failed)


def glean(program: Program, pieces: Sequence[Piece]) -> Gleaned:
    """What the pieces tell; one that cannot be read, or is not what was listed, fails all."""
    partials = Partials(asked=program.asked, counted=program.counted)
    try:
        for piece in pieces:
            for batch in batches(piece, program.columns):
                partials.add(batch)
    except (UnableToReadPiece, UnableToTell) as error:
        return Gleaned(failed=str(error))
    return gleaned(partials)


def gleaned(partials: Partials) -> Gleaned:
    """What the batches of one task told."""
    return Gleaned(
        told={
            at: of_batches(partials.asked[at], values)
            for at, values in partials.told.items()
            if at not in partials.unable
        },
        keys={number: _together(found) for number, found in partials.keys.items()},
        unable=partials.unable,
    )


def _together(found: Sequence[Keys]) -> Keys:
    whole, without = (of_parts(parts) for parts in zip(*found, strict=True))
    return whole, without


def of_parts(parts: Sequence[Part]) -> Part:
    """All of the parts of one set of keys."""
    hashes, marks, few, times = (np.concatenate(some, axis=-1) for some in zip(*parts, strict=True))
    return hashes, marks, few, times
