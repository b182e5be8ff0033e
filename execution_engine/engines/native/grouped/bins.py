"""How many numbers lie in each of some bins of one width."""

from dataclasses import dataclass

import numpy as np

from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.nodes import Node
from execution_engine.engines.native.partials import kept_of, there
from execution_engine.engines.native.values import Numbers


@dataclass(frozen=True, kw_only=True)
class Binned:
    """Numbers to count in so many bins from ``low`` on, over the rows that meet the condition.

    All of them are finite, and ``low`` or more; what lies beyond the last bin is counted in it.
    """

    of: Node
    where: Node | None
    low: float
    width: float
    bins: int


def nothing_in(wanted: Binned) -> Numbers:
    """The counts of no rows."""
    return np.zeros(wanted.bins + 1, dtype=np.int64)


def counts_in(wanted: Binned, batch: Batch) -> Numbers:
    """How many numbers lie in each bin, and behind these how many rows have none.

    Raises UnableToTell where Spark alone knows a value.
    """
    given = batch.values(wanted.of)
    where = None if wanted.where is None else batch.met(wanted.where).yes
    numbers = kept_of(given.as_doubles(), there(given, where)).whole
    places = np.minimum(np.floor((numbers - wanted.low) / wanted.width), wanted.bins - 1).astype(np.int64)
    rows = batch.rows if where is None else int(np.count_nonzero(where))
    return np.append(np.bincount(places, minlength=wanted.bins), rows - len(numbers))
