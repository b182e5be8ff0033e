"""How states are shown: which of several counts, and its word and icon, as colour alone tells nobody enough."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from alerting.state import TROUBLED, State
from incident_manager.quality import rules
from incident_manager.quality.rules import QualityAnswer, ReasonKind


class DisplayStatus(StrEnum):
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


RANK = {status: rank for rank, status in enumerate(DisplayStatus)}
LOOKS = {
    DisplayStatus.BAD: "fail",
    DisplayStatus.REPORTED: "warn",
    DisplayStatus.GOOD: "pass",
}  # the colour and icon of another
WORDS = {
    DisplayStatus.BAD: _("Bad"),
    DisplayStatus.REPORTED: _("Reported"),
    DisplayStatus.GOOD: _("Good"),
    DisplayStatus.FAIL: _("Fail"),
    DisplayStatus.WARN: _("Warn"),
    DisplayStatus.UNKNOWN: _("Unknown"),
    DisplayStatus.WAIVED: _("Waived"),
    DisplayStatus.PASS: _("Pass"),
    DisplayStatus.LEARNING: _("Learning"),
    DisplayStatus.PENDING: _("Pending"),
    DisplayStatus.UNTESTED: _("Untested"),
    DisplayStatus.NONE: _("No test"),
}
MEANINGS = {
    DisplayStatus.BAD: _("a test is broken, an incident is open or a report is confirmed"),
    DisplayStatus.REPORTED: _("a user reported it as bad, or it is bad and accepted"),
    DisplayStatus.GOOD: _("every test that has run holds"),
    DisplayStatus.FAIL: _("broken for so long that it opened an incident"),
    DisplayStatus.WARN: _("broken, but not long enough for an incident"),
    DisplayStatus.UNKNOWN: _("a test is due but has no result, or the data cannot be read"),
    DisplayStatus.WAIVED: _("broken, but a user called it a false positive or accepted it"),
    DisplayStatus.PASS: _("holds"),
    DisplayStatus.LEARNING: _("needs more history"),
    DisplayStatus.PENDING: _("not due yet"),
    DisplayStatus.UNTESTED: _("no test has judged it"),
    DisplayStatus.NONE: _("nothing tests this"),
}


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Successive partitions that stand alike, by their keys, and what people call them; ``at`` come before them."""

    first: str
    last: str
    at: int
    count: int
    status: DisplayStatus
    why: str

    @property
    def title(self) -> str:
        """Which partitions these are, and how they stand."""
        keys = self.first if self.count == 1 else gettext("%(first)s to %(last)s") % vars(self)
        return f"{keys}: {self.why or str(WORDS[self.status]).lower()}"


def status_of(state: str, waived: bool) -> DisplayStatus:
    """How a standing is shown."""
    is_trouble = state in TROUBLED
    return DisplayStatus.WAIVED if waived and is_trouble else DisplayStatus(state.lower())


def look_of(answer: QualityAnswer) -> DisplayStatus:
    """How an answer is shown where there is room for more than its status: what is bad as fail or warn, and so on."""
    kinds = {reason.kind for reason in answer.reasons}
    match answer.status:
        case rules.QualityStatus.BAD:
            fails = ReasonKind.SPOILT in kinds or any(reason.state is State.FAIL for reason in answer.reasons)
            return DisplayStatus.FAIL if fails else DisplayStatus.WARN
        case rules.QualityStatus.UNTESTED:
            if ReasonKind.LEARNING in kinds:
                return DisplayStatus.LEARNING
            return (
                DisplayStatus.PENDING
                if kinds & {ReasonKind.NOT_OVER, ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET}
                else DisplayStatus.UNTESTED
            )
        case rules.QualityStatus.GOOD:
            return DisplayStatus.WAIVED if ReasonKind.WAIVED in kinds else DisplayStatus.PASS
        case _:
            return DisplayStatus(answer.status.value)


# The words for stored values, in the reader's language; the API gives the stored values themselves.

PLAIN = {  # what a reader would not understand
    "auto": _("by itself"),
    "detected": _("detected by a test"),
    "forced": _("false positive"),
    "spoilt": _("bad"),
    "rerun": _("run again"),
    "silenced": _("muted"),
    "inhibited by its cause": _("muted: its cause was told"),
    "resolved within grace": _("resolved before its notice was due"),
    "never told of the incident": _("was not told of the incident"),
}
EVENTS = (  # of an incident's timeline, beside the states of a report and the ways in which a user ends an incident
    gettext_noop("opened"),
    gettext_noop("reopened"),
    gettext_noop("resolved"),
    gettext_noop("healed"),
    gettext_noop("annotated"),
    gettext_noop("acknowledged"),
    gettext_noop("cause resolved"),
    gettext_noop("report joined"),
    gettext_noop("gate overridden"),
)
ENGLISH = "en"


def plain(value: str) -> str:
    """The words that a page shows for a stored value; a value that is no word of ours stays as it is."""
    return str(PLAIN[value]) if value in PLAIN else gettext(value)


def in_english(text: str) -> SafeString | str:
    """A text that is in no other language, marked as English for who reads aloud, where the page is not."""
    return text if get_language() == ENGLISH else format_html('<span lang="en">{}</span>', text)


# The texts that the scripts of the pages show, by the name that a script asks for.

TEXTS: Mapping[str, Promise] = {
    # every page
    "logged out": _(
        "You are logged out: what is shown does not change any more. Log in again; what you have typed here is kept."
    ),
    "scrolls": _("table that scrolls"),
    # the editor
    "names to take": _("Names to take"),
    "names": _("%(count)s names, %(first)s"),
    "owner": _("owner %(name)s"),
    "not checked": _(
        "This could not be checked. If you were logged out, press Save: what you typed is kept while you log in."
    ),
}
