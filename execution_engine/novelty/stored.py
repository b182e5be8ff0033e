"""The accepted past of a table as bytes; one that cannot be read is made anew from the profiles of its batches."""

from dataclasses import replace

import numpy as np

from execution_engine.novelty.measures.batch import MEASURED, Batch
from execution_engine.novelty.measures.pool import Pool, PooledNumbers
from execution_engine.novelty.measures.statistics import RARE, STATISTICS
from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.distinct import DistinctSample
from execution_engine.profiles.envelope import Envelope
from execution_engine.profiles.values import ValueCounts

from .days import Day, RareDay
from .past import Past

ENVELOPE = Envelope(
    magic=b"ASSAYPST",
    version=1,
    what="past",
    classes=(Past, Batch, Pool, PooledNumbers, ValueCounts, Day, DistinctSample),
    enums=(ColumnKind, RareDay),
)


def to_bytes(past: Past) -> bytes:
    """The bytes that ``from_bytes`` reads back to a past that judges alike."""
    return ENVELOPE.to_bytes(past)


def from_bytes(stored: bytes) -> Past:
    """The past that ``to_bytes`` wrote; UnableToRead for anything else."""
    found: Past = ENVELOPE.from_bytes(stored)
    return replace(found, batches=tuple(map(_complete, found.batches)))


def _complete(batch: Batch) -> Batch:
    """With NaN for each statistic that is newer than the batch."""
    widths = {**dict.fromkeys(MEASURED, len(STATISTICS)), "rare": len(RARE), "of": len(RARE)}
    missing = {part: width - batch.arrays[part].shape[1] for part, width in widths.items()}
    if not any(missing.values()):
        return batch
    wider = {
        part: np.pad(batch.arrays[part], ((0, 0), (0, count)), constant_values=np.nan)
        for part, count in missing.items()
    }
    return replace(batch, arrays={**batch.arrays, **wider})
