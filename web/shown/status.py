"""How states are shown: which of several counts, and its word and icon, as colour alone tells nobody enough."""

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from alerting.state import TROUBLED, State
from incident_manager.quality import rules
from incident_manager.quality.rules import Answer, ReasonKind


class ShownStatus(StrEnum):
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


RANK = {status: rank for rank, status in enumerate(ShownStatus)}
LOOKS = {
    ShownStatus.BAD: "fail",
    ShownStatus.REPORTED: "warn",
    ShownStatus.GOOD: "pass",
}  # the colour and icon of another
WORDS = {
    ShownStatus.BAD: _("Bad"),
    ShownStatus.REPORTED: _("Reported"),
    ShownStatus.GOOD: _("Good"),
    ShownStatus.FAIL: _("Fail"),
    ShownStatus.WARN: _("Warn"),
    ShownStatus.UNKNOWN: _("Unknown"),
    ShownStatus.WAIVED: _("Waived"),
    ShownStatus.PASS: _("Pass"),
    ShownStatus.LEARNING: _("Learning"),
    ShownStatus.PENDING: _("Pending"),
    ShownStatus.UNTESTED: _("Untested"),
    ShownStatus.NONE: _("No test"),
}
MEANINGS = {
    ShownStatus.BAD: _("a test is broken, an incident is open or a report is confirmed"),
    ShownStatus.REPORTED: _("a user reported it as bad, or it is bad and accepted"),
    ShownStatus.GOOD: _("every test that has run holds"),
    ShownStatus.FAIL: _("broken for so long that it opened an incident"),
    ShownStatus.WARN: _("broken, but not long enough for an incident"),
    ShownStatus.UNKNOWN: _("a test is due but has no result, or the data cannot be read"),
    ShownStatus.WAIVED: _("broken, but a user called it a false positive or accepted it"),
    ShownStatus.PASS: _("holds"),
    ShownStatus.LEARNING: _("needs more history"),
    ShownStatus.PENDING: _("not due yet"),
    ShownStatus.UNTESTED: _("no test has judged it"),
    ShownStatus.NONE: _("nothing tests this"),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one field of a matrix shows: a status, how many windows have it, and why (or why there is no test)."""

    status: ShownStatus = ShownStatus.NONE
    windows: int = 0
    reason: str = ""


def status_of(state: str, waived: bool) -> ShownStatus:
    """How a standing is shown."""
    is_trouble = state in TROUBLED
    return ShownStatus.WAIVED if waived and is_trouble else ShownStatus(state.lower())


def look_of(answer: Answer) -> ShownStatus:
    """How an answer is shown where there is room for more than its status: what is bad as fail or warn, and so on."""
    kinds = {reason.kind for reason in answer.reasons}
    match answer.status:
        case rules.Status.BAD:
            fails = ReasonKind.SPOILT in kinds or any(reason.state is State.FAIL for reason in answer.reasons)
            return ShownStatus.FAIL if fails else ShownStatus.WARN
        case rules.Status.UNTESTED:
            if ReasonKind.LEARNING in kinds:
                return ShownStatus.LEARNING
            return (
                ShownStatus.PENDING
                if kinds & {ReasonKind.NOT_OVER, ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET}
                else ShownStatus.UNTESTED
            )
        case rules.Status.GOOD:
            return ShownStatus.WAIVED if ReasonKind.WAIVED in kinds else ShownStatus.PASS
        case _:
            return ShownStatus(answer.status.value)
