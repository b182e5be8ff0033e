"""How often each key comes in each group: what many rows are brought down to before they are sent."""

from collections.abc import Sequence

import numpy as np

from execution_engine.engines.native.values import Flags, Numbers

Tally = tuple[Numbers, Numbers, Numbers]  # hashes of keys, the marks of their rows, how often each of both comes
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio


def marks_of(places: Numbers, null: Flags | None) -> Numbers:
    """Twice the number of each row's group, and one more where it has no key."""
    return 2 * places if null is None else 2 * places + null


def tally(hashes: Numbers, marks: Numbers, kept: Flags | None) -> Tally:
    """Of the rows that count; None for all."""
    if kept is not None:
        hashes, marks = hashes.compress(kept), marks.compress(kept)
    return _once(hashes, marks, np.ones(len(hashes), dtype=np.int64))


def of_tallies(tallies: Sequence[Tally]) -> Tally:
    """All of them as one, each key of a group once."""
    if len(tallies) == 1:
        return tallies[0]
    hashes, marks, times = (np.concatenate(some) for some in zip(*tallies, strict=True))
    return _once(hashes, marks, times)


def _once(hashes: Numbers, marks: Numbers, times: Numbers) -> Tally:
    """Each key of a group once.

    Sorted by both in one number: as hashes are as good as random, two keys meet there as rarely as two hashes do.
    """
    with np.errstate(over="ignore"):
        mixed = hashes.view(np.uint64) + marks.view(np.uint64) * _GOLDEN
    if not len(mixed):
        return hashes, marks, times
    order = np.argsort(mixed)
    mixed = mixed[order]
    firsts = np.flatnonzero(np.concatenate([[True], mixed[1:] != mixed[:-1]]))
    counts = np.add.reduceat(times[order], firsts)
    order = order[firsts]
    return hashes[order], marks[order], counts
