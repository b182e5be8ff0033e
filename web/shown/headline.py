"""What is wrong in an incident, in one plain sentence that leads with its worst value.

Of a standard test the value has a known meaning, so the sentence says what it means for the data. Of any other test it
names the test and the partition; what the test itself said is code, and stands with the bad windows.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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

# Reasons as people read them, in their language: what a test found and the incident that it opened are one thing.

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


def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(HOLE.sub(r"(?P<\1>.+)", re.escape(sentence)), re.DOTALL)


PATTERNS: Mapping[str, re.Pattern[str]] = {sentence: _pattern(sentence) for sentence in SENTENCES}


def in_words(text: str) -> str:
    """A reason of the core in the reader's language; empty for one that is not known here."""
    for sentence, pattern in PATTERNS.items():
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            return gettext(sentence) % {name: plain(part) if name in IN_WORDS else part for name, part in parts.items()}
    return ""


def told(text: str) -> str:
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
    found: list[R] = []
    for reason in ordered:
        place = (reason.category, reason.windows)
        if reason.kind is ReasonKind.SPOILT and reason.report_id is None and place in tested:
            continue
        found.append(replace(reason, incident_id=opened.get(place)) if reason.kind is ReasonKind.BROKEN else reason)
    return found


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


def headline(worst: WorstResult, *, others: int, is_over: bool) -> str:
    """The sentence; ``others`` are as many more windows that are bad (or were, where the incident is over)."""
    meaning = _MEANINGS.get(worst.test.partition(":")[0].partition("@")[0]) if worst.is_standard else None
    said = meaning(worst, is_over) if meaning and worst.value is not None else ""
    said = said or _named(worst, is_over)
    more = f" {_more(others, is_over)}" if others else ""
    return f"{said.rstrip('.')}.{more}"


def _named(worst: WorstResult, is_over: bool) -> str:
    """What fails on which partition; of novelty that the partition is unlike those before it, and in which columns."""
    given = {"test": worst.test, "keys": worst.keys or gettext("the whole table"), "columns": ", ".join(worst.columns)}
    if worst.category == "novelty" and worst.columns:
        then = gettext("%(keys)s was unlike the windows before it: %(columns)s")
        now = gettext("%(keys)s is unlike the windows before it: %(columns)s")
    elif worst.category == "novelty":
        then = gettext("%(keys)s was unlike the windows before it")
        now = gettext("%(keys)s is unlike the windows before it")
    else:
        then, now = gettext("The test %(test)s failed for %(keys)s"), gettext("The test %(test)s fails for %(keys)s")
    return (then if is_over else now) % given


def share(value: float) -> str:
    """A share of rows for people: a tenth of a percent where it is small, never rounded to nothing or to all."""
    percent = value * 100
    if percent < 0.1:
        return gettext("less than 0.1 %")
    if percent < 10:
        return f"{math.floor(percent * 10 + 0.5) / 10:g} %"
    return f"{percent:.0f} %" if percent < 99.5 else gettext("almost all") if value < 1 else gettext("all")


def _more(count: int, is_over: bool) -> str:
    if is_over:
        said = ngettext("%(count)s more window was bad.", "%(count)s more windows were bad.", count)
    else:
        said = ngettext("%(count)s more window is bad.", "%(count)s more windows are bad.", count)
    return said % {"count": count}


def _late(worst: WorstResult, is_over: bool) -> str:
    assert worst.value is not None
    given = {
        "keys": worst.keys,
        "datacenter": worst.datacenter,
        "length": _length(max(1, round(worst.value / 60))),
    }
    if "@" in worst.test:
        then = gettext("%(keys)s was not complete in %(datacenter)s %(length)s after its end")
        now = gettext("%(keys)s is not complete in %(datacenter)s %(length)s after its end")
    else:
        then = gettext("%(keys)s was not complete %(length)s after its end")
        now = gettext("%(keys)s is not complete %(length)s after its end")
    return (then if is_over else now) % given


def _length(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    if hours >= 48:
        return gettext("%(count)s days") % {"count": hours // 24}
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"


def _missing(worst: WorstResult, is_over: bool) -> str:
    assert worst.value is not None
    upstream = worst.test.partition(":")[2].removesuffix(":whole")
    if worst.value >= 2:
        then = gettext("There were %(times)s times as many rows as in %(upstream)s")
        now = gettext("There are %(times)s times as many rows as in %(upstream)s")
        return _on(worst, (then if is_over else now) % {"times": f"{worst.value:.3g}", "upstream": upstream})
    if worst.value > 1:
        then, now = (
            gettext("There were %(share)s more rows than in %(upstream)s"),
            gettext("There are %(share)s more rows than in %(upstream)s"),
        )
        return _on(worst, (then if is_over else now) % {"share": share(worst.value - 1), "upstream": upstream})
    then, now = gettext("%(share)s of the rows were missing"), gettext("%(share)s of the rows are missing")
    return _on(worst, (then if is_over else now) % {"share": share(1 - worst.value)})


def _not_found(worst: WorstResult, is_over: bool) -> str:
    assert worst.value is not None
    then = gettext("%(share)s of the rows that were drawn from %(upstream)s were missing")
    now = gettext("%(share)s of the rows that were drawn from %(upstream)s are missing")
    given = {"share": share(1 - worst.value), "upstream": worst.test.partition(":")[2]}
    return _on(worst, (then if is_over else now) % given)


def _twice(worst: WorstResult, is_over: bool) -> str:
    assert worst.value is not None
    then, now = gettext("%(share)s of the rows were duplicates"), gettext("%(share)s of the rows are duplicates")
    return _on(worst, (then if is_over else now) % {"share": share(worst.value)})


def _different(worst: WorstResult, is_over: bool) -> str:
    assert worst.value is not None
    if worst.test.startswith("consistency-bloom"):
        then = gettext("%(share)s of the keys that %(datacenter)s has were missing in %(other)s")
        now = gettext("%(share)s of the keys that %(datacenter)s has are missing in %(other)s")
    else:
        then = gettext("%(share)s of the rows that %(datacenter)s has were missing in %(other)s")
        now = gettext("%(share)s of the rows that %(datacenter)s has are missing in %(other)s")
    given = {"share": share(1 - worst.value), "datacenter": worst.datacenter, "other": worst.spoils}
    return _on(worst, (then if is_over else now) % given)


def _on(worst: WorstResult, said: str) -> str:
    """The sentence with the window that it is about."""
    said = capfirst(said)
    return gettext("%(sentence)s on %(keys)s") % {"sentence": said, "keys": worst.keys} if worst.keys else said


_MEANINGS: dict[str, Callable[[WorstResult, bool], str]] = {  # by the first part of a standard test's name
    "freshness": _late,
    "completeness": _missing,
    "completeness-sample": _not_found,
    "duplicates": _twice,
    "consistency-count": _different,
    "consistency-bloom": _different,
}


# An incident's timeline as it may be shown: what a test said of values stays hidden once these must not be told.

SPOILT = "spoilt"  # the event whose text quotes a sentence, after the test's name, the window and a colon


def shown_timeline(incident: Incident, veil: Veil) -> list[Entry]:
    """Its entries, the oldest first."""
    # the names of the tests of which a revision tells what must not be told now
    tests = incident.spoilt_windows.values("data_test")
    revisions = Revision.objects.filter(data_test__in=tests).select_related("data_test")
    hidden = {revision.data_test.name for revision in revisions if veil.hides(revision, incident.dataset)}
    entries = list(incident.timeline.all())
    for entry in entries:
        if entry.event == SPOILT and any(entry.text.startswith(f"{name} ") for name in hidden):
            entry.text = f"{entry.text.partition(': ')[0]}: {HIDDEN}"
    return entries
