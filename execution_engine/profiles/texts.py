"""The texts of a column: lengths, shapes, and which letters follow which."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .hashing import Ints
from .letters import CLASSES
from .numbers import Numbers, merged_numbers
from .values import ValueCounts, merged_values


@dataclass(frozen=True, kw_only=True, eq=False)
class Texts:
    """Of rows that are not null. ``peculiarity`` of merged parts is the largest of theirs, each by its own letters."""

    lengths: Numbers = field(default_factory=Numbers)  # in characters; of binary values in bytes
    shapes: ValueCounts = field(default_factory=ValueCounts)
    pairs: Ints = field(default_factory=lambda: np.zeros(CLASSES * CLASSES, np.int64))
    peculiarity: float = 0.0


def merged_texts(parts: Sequence[Texts], points: int, shapes: int) -> Texts:
    """Of the union of disjoint parts."""
    return Texts(
        lengths=merged_numbers([part.lengths for part in parts], points),
        shapes=merged_values([part.shapes for part in parts], shapes),
        pairs=np.sum([part.pairs for part in parts], axis=0),
        peculiarity=max(part.peculiarity for part in parts),
    )
