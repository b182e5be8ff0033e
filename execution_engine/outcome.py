"""What the engine saw: the outcome of a run, and the reasons for which one could not be evaluated (design: Run)."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What evaluating an assertion gave. ``ERROR``: it could not be evaluated; never a statement about the data."""

    HELD = "held"
    BROKEN = "broken"
    ERROR = "error"


class Reason(StrEnum):
    """Why a measurement or a run is an error; the text is what users read."""

    NOT_DUE = "not due"
    NO_DATA = "no data"
    WARMING_UP = "warming up"
    MISALIGNED = "partitions do not align"
    UNDEFINED = "result is null"
    NOT_FINITE = "result is not a finite number"
    INVALID = "assertion is invalid"
    UNREADABLE = "table cannot be read"
    UNKNOWN_COLUMN = "unknown column"
    NO_PARTITION_COLUMN = "partition column is missing"
    QUERY_FAILED = "query failed"
    ENGINE_UNREACHABLE = "engine unreachable"
    STORE_UNREACHABLE = "store unreachable"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    CRASHED = "engine crashed"
    QUARANTINED = "quarantined"
    LEASE_LOST = "lease lost"


WITHOUT_ROWS = frozenset({Reason.NO_DATA, Reason.UNDEFINED})  # of a window that has none: a share of no rows is null
ABNORMAL = frozenset({Reason.TIMEOUT, Reason.OUT_OF_MEMORY, Reason.CRASHED})  # ends that a poison brings about
TRANSIENT = ABNORMAL | {Reason.NO_DATA, Reason.ENGINE_UNREACHABLE, Reason.STORE_UNREACHABLE, Reason.LEASE_LOST}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A foreseen failure as data: its reason and a sentence that says what, where and how to mend it."""

    reason: Reason
    detail: str = ""

    @property
    def transient(self) -> bool:
        """Whether the same run may succeed later without anybody changing the test."""
        return self.reason in TRANSIENT

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value
