"""How states are shown: which of several counts, and its word and icon, as colour alone tells nobody enough."""

from dataclasses import dataclass
from enum import StrEnum

from alerting.state import TROUBLED, State
from incident_manager.quality import rules
from incident_manager.quality.rules import Answer, Kind


class Status(StrEnum):
    """A state as people see it, the one that counts most first."""

    BAD = "bad"
    FAIL = "fail"
    WARN = "warn"
    UNKNOWN = "unknown"
    REPORTED = "reported"
    WAIVED = "waived"
    PASS = "pass"
    GOOD = "good"
    LEARNING = "learning"
    PENDING = "pending"
    UNTESTED = "untested"
    NONE = "none"


RANK = {status: rank for rank, status in enumerate(Status)}
LOOKS = {Status.BAD: "fail", Status.REPORTED: "warn", Status.GOOD: "pass"}  # the colour and icon of another
WORDS = {
    Status.BAD: "Bad",
    Status.REPORTED: "Reported",
    Status.GOOD: "Good",
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
    Status.BAD: "a test is broken, an incident is open or a report is confirmed",
    Status.REPORTED: "a user reported it as bad, or it is bad and accepted",
    Status.GOOD: "every test that has run holds",
    Status.FAIL: "broken for so long that it opened an incident",
    Status.WARN: "broken, but not long enough for an incident",
    Status.UNKNOWN: "a test is due but has no result, or the data cannot be read",
    Status.WAIVED: "broken, but a user called it a false positive or accepted it",
    Status.PASS: "holds",
    Status.LEARNING: "needs more history",
    Status.PENDING: "not due yet",
    Status.UNTESTED: "no test has judged it",
    Status.NONE: "nothing tests this",
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one field of a matrix shows: a status, how many windows have it, and why (or why there is no test)."""

    status: Status = Status.NONE
    windows: int = 0
    reason: str = ""


def status_of(state: str, waived: bool) -> Status:
    """How a standing is shown."""
    is_trouble = state in TROUBLED
    return Status.WAIVED if waived and is_trouble else Status(state.lower())


def look_of(answer: Answer) -> Status:
    """How an answer is shown where there is room for more than its status: what is bad as fail or warn, and so on."""
    kinds = {reason.kind for reason in answer.reasons}
    match answer.status:
        case rules.Status.BAD:
            fails = Kind.SPOILT in kinds or any(reason.state is State.FAIL for reason in answer.reasons)
            return Status.FAIL if fails else Status.WARN
        case rules.Status.UNTESTED:
            if Kind.LEARNING in kinds:
                return Status.LEARNING
            return Status.PENDING if kinds & {Kind.NOT_OVER, Kind.NOT_JUDGED, Kind.NOT_THERE_YET} else Status.UNTESTED
        case rules.Status.GOOD:
            return Status.WAIVED if Kind.WAIVED in kinds else Status.PASS
        case _:
            return Status(answer.status.value)
