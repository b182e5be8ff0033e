"""The accepted past of a table as bytes; one that cannot be read is made anew from the profiles of its batches."""

from execution_engine.novelty.measures.batch import Batch
from execution_engine.novelty.measures.pool import Pool, PooledNumbers
from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.envelope import Envelope
from execution_engine.profiles.values import ValueCounts

from .days import Day, RareDay
from .past import Past

ENVELOPE = Envelope(
    magic=b"ASSAYPST",
    version=1,
    what="past",
    classes=(Past, Batch, Pool, PooledNumbers, ValueCounts, Day),
    enums=(ColumnKind, RareDay),
)


def to_bytes(past: Past) -> bytes:
    """The bytes that ``from_bytes`` reads back to a past that judges alike."""
    return ENVELOPE.to_bytes(past)


def from_bytes(stored: bytes) -> Past:
    """The past that ``to_bytes`` wrote; UnableToRead for anything else."""
    found: Past = ENVELOPE.from_bytes(stored)
    return found
