"""How often the keys of rows occur, from one hash a row and the rows in which columns are null (pure)."""

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.frequencies import Counts, Frequencies, Hashes

Flags = npt.NDArray[np.bool_]


def frequencies_of(hashes: Hashes, grouping: Grouping, nulls: Mapping[str, Flags], met: Flags | None) -> Frequencies:
    """Of the rows that count; arrays of all rows are only made where some do not.

    ``nulls``: by column, without those that are never null. ``met``: the rows to count; None for all.
    """
    kept, null = met, _keyless(grouping, nulls)
    absent = _either([nulls[name] for name in grouping.present if name in nulls])
    if absent is not None:
        kept = ~absent if kept is None else kept & ~absent
    if kept is not None:
        hashes, null = hashes[kept], None if null is None else null[kept]
    if null is None:
        return Frequencies(whole=Counts.of(hashes))
    return Frequencies(whole=Counts.of(hashes[~null]), with_nulls=Counts.of(hashes[null]))


def _keyless(grouping: Grouping, nulls: Mapping[str, Flags]) -> Flags | None:
    """Which rows have no key."""
    if not grouping.partial:
        return _either([nulls[name] for name in grouping.columns if name in nulls])
    full = any(name not in nulls for name in grouping.columns)
    return None if full else reduce(np.logical_and, [nulls[name] for name in grouping.columns])


def _either(flags: Sequence[Flags]) -> Flags | None:
    some = [flag for flag in flags if flag.any()]
    return reduce(np.logical_or, some) if some else None
