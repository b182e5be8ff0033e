"""What is wrong in an incident, in one plain sentence that leads with its worst value.

Of a standard test the value has a known meaning, so the sentence says what it means for the data. Of any other test it
names the test and the partition; what the test itself said is code, and stands with the bad windows.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, ngettext

from assay.models import Revision
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.gate.rules import Because
from incident_manager.models import Entry, Incident
from incident_manager.quality.rules import AnswerReason, ReasonKind

from .status import plain

R = TypeVar("R", Because, AnswerReason)

# the sentences of which the core makes a reason, with the parts that it fills in
SENTENCES = (
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
    gettext_noop("untested: it ended before the test existed, or is no longer kept"),
    gettext_noop("untested: it began before its columns were declared as they are"),
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
            return gettext(sentence) % {name: plain(part) if name in IN_WORDS else part for name, part in parts.items()}
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


@dataclass(frozen=True, kw_only=True)
class WorstResult:
    """The worst result of an incident: of one test, over one window.

    ``value`` is None where it must not be told, ``keys`` names the partition, empty for the whole table.
    ``is_standard`` says that Assay wrote the test.
    """

    test: str
    category: str
    is_standard: bool
    keys: str
    value: float | None
    columns: tuple[str, ...] = ()  # that are unlike those before
    datacenter: str = ""
    spoils: str = ""


# what was, and what is wrong
LATE = (
    gettext_noop("%(keys)s was not complete %(length)s after its end"),
    gettext_noop("%(keys)s is not complete %(length)s after its end"),
)
LATE_THERE = (
    gettext_noop("%(keys)s was not complete in %(datacenter)s %(length)s after its end"),
    gettext_noop("%(keys)s is not complete in %(datacenter)s %(length)s after its end"),
)
MANY_TIMES = (
    gettext_noop("There were %(times)s times as many rows as in %(upstream)s"),
    gettext_noop("There are %(times)s times as many rows as in %(upstream)s"),
)
TOO_MANY = (
    gettext_noop("There were %(share)s more rows than in %(upstream)s"),
    gettext_noop("There are %(share)s more rows than in %(upstream)s"),
)
MISSING = (gettext_noop("%(share)s of the rows were missing"), gettext_noop("%(share)s of the rows are missing"))
NOT_DRAWN = (
    gettext_noop("%(share)s of the rows that were drawn from %(upstream)s were missing"),
    gettext_noop("%(share)s of the rows that were drawn from %(upstream)s are missing"),
)
TWICE = (gettext_noop("%(share)s of the rows were duplicates"), gettext_noop("%(share)s of the rows are duplicates"))
KEYS_LOST = (
    gettext_noop("%(share)s of the keys that %(datacenter)s has were missing in %(other)s"),
    gettext_noop("%(share)s of the keys that %(datacenter)s has are missing in %(other)s"),
)
ROWS_LOST = (
    gettext_noop("%(share)s of the rows that %(datacenter)s has were missing in %(other)s"),
    gettext_noop("%(share)s of the rows that %(datacenter)s has are missing in %(other)s"),
)
UNLIKE_IN = (
    gettext_noop("%(keys)s was unlike the windows before it: %(columns)s"),
    gettext_noop("%(keys)s is unlike the windows before it: %(columns)s"),
)
UNLIKE = (
    gettext_noop("%(keys)s was unlike the windows before it"),
    gettext_noop("%(keys)s is unlike the windows before it"),
)
FAILS = (gettext_noop("The test %(test)s failed for %(keys)s"), gettext_noop("The test %(test)s fails for %(keys)s"))


def headline(worst: WorstResult, *, others: int, is_over: bool) -> str:
    """The sentence; ``others`` are as many more windows that are bad (or were, where the incident is over)."""
    if (meaning := _meaning(worst)) is not None:
        tenses, values = meaning
        sentence = gettext(tenses[0 if is_over else 1]) % values
        if worst.keys and "keys" not in values:
            sentence = gettext("%(sentence)s on %(keys)s") % {"sentence": capfirst(sentence), "keys": worst.keys}
        elif "keys" not in values:
            sentence = capfirst(sentence)
    else:
        tenses = FAILS if worst.category != "novelty" else UNLIKE_IN if worst.columns else UNLIKE
        keys = worst.keys or gettext("the whole table")
        values = {"test": worst.test, "keys": keys, "columns": ", ".join(worst.columns)}
        sentence = gettext(tenses[0 if is_over else 1]) % values
    if not others:
        more = ""
    elif is_over:
        more = " " + ngettext("%(count)s more window was bad.", "%(count)s more windows were bad.", others)
    else:
        more = " " + ngettext("%(count)s more window is bad.", "%(count)s more windows are bad.", others)
    return f"{sentence.rstrip('.')}.{more % {'count': others}}"


def _meaning(worst: WorstResult) -> tuple[tuple[str, str], dict[str, str]] | None:
    """What a standard test's value means, with what the sentences hold; None where it has no known meaning."""
    value = worst.value
    if not worst.is_standard or value is None:
        return None
    name, _, upstream = worst.test.partition(":")
    copies = {"share": share(1 - value), "datacenter": worst.datacenter, "other": worst.spoils}
    match name.partition("@")[0]:
        case "freshness":
            length = _length(max(1, round(value / 60)))
            values = {"keys": worst.keys, "datacenter": worst.datacenter, "length": length}
            return (LATE_THERE if "@" in worst.test else LATE), values
        case "completeness" if value >= 2:
            return MANY_TIMES, {"times": f"{value:.3g}", "upstream": upstream.removesuffix(":whole")}
        case "completeness" if value > 1:
            return TOO_MANY, {"share": share(value - 1), "upstream": upstream.removesuffix(":whole")}
        case "completeness":
            return MISSING, {"share": share(1 - value)}
        case "completeness-sample":
            return NOT_DRAWN, {"share": share(1 - value), "upstream": upstream}
        case "duplicates":
            return TWICE, {"share": share(value)}
        case "consistency-count":
            return ROWS_LOST, copies
        case "consistency-bloom":
            return KEYS_LOST, copies
    return None


def share(value: float) -> str:
    """A share of rows for people: a tenth of a percent where it is small, never rounded to nothing or to all."""
    percent = value * 100
    if percent < 0.1:
        return gettext("less than 0.1 %")
    if percent < 10:
        return f"{math.floor(percent * 10 + 0.5) / 10:g} %"
    return f"{percent:.0f} %" if percent < 99.5 else gettext("almost all") if value < 1 else gettext("all")


def _length(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    if hours >= 48:
        return gettext("%(count)s days") % {"count": hours // 24}
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"


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
