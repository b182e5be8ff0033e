"""How states are shown: which of several counts, and its word and icon, as colour alone tells nobody enough."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from alerting.standing import State


class Status(StrEnum):
    """A state as people see it, the one that counts most first."""

    FAIL = "fail"
    WARN = "warn"
    UNKNOWN = "unknown"
    WAIVED = "waived"
    PASS = "pass"
    LEARNING = "learning"
    PENDING = "pending"
    UNTESTED = "untested"
    NONE = "none"


RANK = {status: rank for rank, status in enumerate(Status)}
TROUBLE = (State.FAIL, State.WARN, State.UNKNOWN)
WORDS = {
    Status.FAIL: "Fail",
    Status.WARN: "Warn",
    Status.UNKNOWN: "Unknown",
    Status.WAIVED: "Waived",
    Status.PASS: "Pass",
    Status.LEARNING: "Learning",
    Status.PENDING: "Pending",
    Status.UNTESTED: "Untested",
    Status.NONE: "No test",
}
MEANINGS = {
    Status.FAIL: "broken for longer than the sustain period: an incident",
    Status.WARN: "broken, but for less than the sustain period",
    Status.UNKNOWN: "due, and could not be judged",
    Status.WAIVED: "broken, and a user forced or accepted it",
    Status.PASS: "holds",
    Status.LEARNING: "needs more history",
    Status.PENDING: "not due yet",
    Status.UNTESTED: "ended before the test existed, or is kept no more",
    Status.NONE: "nothing tests this",
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one field of a matrix shows: a status, how many windows have it, and why there is no test."""

    status: Status = Status.NONE
    windows: int = 0
    reason: str = ""


def status_of(state: str, waived: bool) -> Status:
    """How a standing is shown."""
    is_trouble = state in TROUBLE
    return Status.WAIVED if waived and is_trouble else Status(state.lower())


def worst(statuses: Iterable[Status]) -> Status:
    """The status that counts most; a test that holds somewhere outweighs what is merely not judged yet."""
    return min(statuses, key=RANK.__getitem__, default=Status.NONE)
