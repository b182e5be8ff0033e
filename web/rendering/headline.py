"""The core's reasons and the timeline of an incident, in the reader's language and with what may be told alone."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from django.utils.translation import gettext, gettext_noop

from assay.models import Revision
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.gate.rules import Because
from incident_manager.models import Entry, Incident
from incident_manager.quality.rules import AnswerReason, ReasonKind

from .status import plain

R = TypeVar("R", Because, AnswerReason)

# the sentences of which the core makes a reason, with the parts that it fills in
SENTENCES = (
    gettext_noop("%(reason)s; %(metric)s is computed from %(dataset)s"),
    gettext_noop("waived: %(text)s"),
    gettext_noop("accepted as it is: %(text)s"),
    gettext_noop("the catalog does not know %(dataset)s"),
    gettext_noop("no test has judged it"),
    gettext_noop("no live test covers this window"),
    gettext_noop("report %(id)s is not confirmed yet"),
    gettext_noop("report %(id)s is confirmed"),
    gettext_noop("%(category)s incident %(id)s is open"),
    gettext_noop("%(category)s is broken (%(state)s): no incident yet"),
    gettext_noop("%(category)s is broken (%(state)s)"),
    gettext_noop("untested: the partition ended before the test existed, or is no longer kept"),
    gettext_noop("untested: the partition began before its columns were declared as they are"),
    gettext_noop("learning: not enough history yet"),
    gettext_noop("could not be judged: %(cause)s"),
    gettext_noop("could not be judged"),
    gettext_noop("not judged yet: %(cause)s"),
    gettext_noop("not judged yet"),
    gettext_noop("not there yet"),
    gettext_noop("not over yet"),
)
IN_WORDS = ("category", "cause")  # the parts that are stored values themselves
HOLE = re.compile(r"%\\\((\w+)\\\)s")


PATTERNS = {sentence: re.compile(HOLE.sub(r"(?P<\1>.+)", re.escape(sentence)), re.DOTALL) for sentence in SENTENCES}


def in_words(text: str) -> str:
    """A reason of the core in the reader's language; empty for one that is not known here."""
    for sentence, pattern in PATTERNS.items():
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            words = {name: plain(part) if name in IN_WORDS else part for name, part in parts.items()}
            return gettext(sentence) % (
                words | {"reason": reason_text(words["reason"])} if "reason" in words else words
            )
    return ""


def reason_text(text: str) -> str:
    """A reason in the reader's language, or as it is."""
    return in_words(text) or text


def folded(reasons: Iterable[R]) -> Sequence[R]:
    """The reasons, in their order, without those that say of an incident what its broken test says already.

    The test's reason names the incident instead. An incident of other windows than any broken test of its category
    keeps its own reason.
    """
    ordered = list(reasons)
    opened = {
        (reason.category, reason.windows): reason.incident_id
        for reason in ordered
        if reason.kind is ReasonKind.SPOILT and reason.report_id is None
    }
    tested = {(reason.category, reason.windows) for reason in ordered if reason.kind is ReasonKind.BROKEN}
    merged_reasons: list[R] = []
    for reason in ordered:
        place = (reason.category, reason.windows)
        if reason.kind is ReasonKind.SPOILT and reason.report_id is None and place in tested:
            continue
        merged_reasons.append(
            replace(reason, incident_id=opened.get(place)) if reason.kind is ReasonKind.BROKEN else reason
        )
    return merged_reasons


SPOILT = "spoilt"  # the event whose text quotes a sentence, after the test's name, the window and a colon


def timeline_of(incident: Incident, veil: Veil) -> list[Entry]:
    """The entries of an incident, the oldest first; what a test said of values that must not be told now is hidden."""
    tests = incident.spoilt_windows.values("data_test")
    revisions = Revision.objects.filter(data_test__in=tests).select_related("data_test")
    hidden = {revision.data_test.name for revision in revisions if veil.hides(revision, incident.dataset)}
    entries = list(incident.timeline.all())
    for entry in entries:
        if entry.event == SPOILT and any(entry.text.startswith(f"{name} ") for name in hidden):
            entry.text = f"{entry.text.partition(': ')[0]}: {HIDDEN}"
    return entries
