"""The dataset page: what it promises, its tests and its incidents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, OuterRef, Subquery
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from alerting.models import Standing
from alerting.selectors import complete_up_to, times_to_complete
from alerting.state import TROUBLED, State
from alerting.verdicts.evidence import sentence_of
from assay.catalog.selectors import latest_ended, slas
from assay.models import Dataset, DataTest
from assay.time.durations import format_duration
from assay.time.windows import INSTANT, Partitioning, UnableToPartition, UnableToReadWindow, Window, keys_of
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import columns_named, dimension_of
from execution_engine.runs.shown_results import Veil
from incident_manager.gate.rules import UNJUDGED, Because, GateAnswer, GateDecision
from incident_manager.models import Incident, Publication
from incident_manager.publishing.services import published
from incident_manager.quality.rules import Answer, ReasonKind, Status
from incident_manager.services import ToRead, foresee
from web.shown.headline import folded
from web.shown.status import RANK, ShownStatus, in_english, look_of, status_of


@dataclass(frozen=True, kw_only=True)
class ShownTest:
    """A live test and the standing that counts: the newest trouble, else that of the newest window."""

    test: DataTest
    standing: Standing | None
    status: ShownStatus
    sentence: str
    columns: tuple[str, ...] = ()  # of its own dataset that the assertion names
    dimension: str = ""


def published_up_to(dataset: Dataset) -> list[Publication]:
    """The publication of the last partition that each pointer names, by the pointer."""
    last: dict[str, Publication] = {}
    for row in published(dataset).order_by("window_end", "pk"):
        last[row.pointer] = row
    return [last[pointer] for pointer in sorted(last)]


def promises(dataset: Dataset) -> tuple[tuple[str, str], ...]:
    """The SLAs and policies in force, in words."""
    found = slas(dataset)
    is_hard = found.severity == "hard"
    of_rows = (
        (gettext("Completeness"), gettext("at least %(value)s") % {"value": f"{found.completeness:.4g}"}),
        (gettext("Duplicates"), gettext("at most %(value)s") % {"value": f"{found.duplicates:.4g}"}),
        (gettext("Consistency"), gettext("at least %(value)s") % {"value": f"{found.consistency:.4g}"}),
    )
    return (
        (gettext("Freshness"), gettext("complete within %(value)s") % {"value": format_duration(found.freshness)}),
        *(of_rows if dataset.business_metric is None else ()),
        (gettext("Fails after"), format_duration(found.sustain) if found.sustain else gettext("at once")),
        (gettext("Notify after"), format_duration(found.grace) if found.grace else gettext("at once")),
        (gettext("Severity"), gettext("hard: blocks pipelines") if is_hard else gettext("soft: only warns")),
        (gettext("Without a verdict"), gettext("the gate blocks") if found.fail_closed else gettext("the gate allows")),
    )


def progress(dataset: Dataset) -> tuple[tuple[str, str, str], ...]:
    """The last partition up to which it is complete, and how long its last window took, each with a note.

    The note of the first says what the completeness of the last window stands on.
    """
    up_to, at_home = complete_up_to(dataset), dataset.replicas.first()
    newest = times_to_complete(dataset, at_home.datacenter, 1) if at_home else []
    if up_to is None or not newest:
        return ()
    partitioning, took = dataset.partitioning, newest[0]
    text = partitioning.key(partitioning.at(up_to - INSTANT)) if partitioning else f"{up_to:%Y-%m-%d %H:%M} UTC"
    lengths = {"length": took.length, "longest": took.longest}
    length = gettext("%(length)s of %(longest)s") if took.is_known else gettext("not known, filled later")
    return (gettext("Complete through"), text, took.basis), (gettext("Last window took"), length % lengths, "")


def live_tests(dataset: Dataset, veil: Veil) -> list[ShownTest]:
    """The live tests of a dataset, the troubled first, in two statements."""
    own = Standing.objects.filter(data_test=OuterRef("pk")).order_by("-window_start").values("pk")
    annotated = (
        DataTest.objects.filter(dataset=dataset, retired_at=None)
        .select_related("revision")
        .annotate(troubled=Subquery(own.filter(state__in=TROUBLED, waiver=None)[:1]), newest=Subquery(own[:1]))
        .order_by("category", "name")
    )
    tests = list(annotated)
    joined = Standing.objects.select_related("revision", "data_test__dataset")
    standings = joined.in_bulk([pk for test in tests for pk in (test.troubled, test.newest) if pk])
    found = [_live(test, standings.get(test.troubled or test.newest), veil) for test in tests]
    return sorted(found, key=lambda live: RANK[live.status])


def incidents_of(dataset: Dataset, limit: int = 20) -> list[Incident]:
    """The dataset's incidents, open ones first, then the newest."""
    found = Incident.objects.filter(dataset=dataset).select_related("alert__cause__dataset")
    return list(found.order_by(F("resolved_at").desc(nulls_first=True), "-detected_at")[:limit])


def _live(test: DataTest, standing: Standing | None, veil: Veil) -> ShownTest:
    status = status_of(standing.state, standing.waiver_id is not None) if standing else ShownStatus.PENDING
    sentence = sentence_of(standing, veil) if standing else ""
    tree = from_json(test.revision.tree) if test.revision else None
    return ShownTest(
        test=test,
        standing=standing,
        status=status,
        sentence=sentence,
        columns=columns_named(tree) if tree else (),
        dimension=dimension_of(test.category, tree) if tree else "",
    )


# May I use this? What the gate would say of a range of one dataset that a reader chooses.

OFFERED = 60  # partitions whose keys are offered while one types
SPANS = (1, 7, 28)  # of the last partitions, one click away
MOST_REASONS = 8
MOST_TESTS = 3  # whose names stand beside a reason that they share
SAID = {  # an icon, the answer in a word, and what the gate does
    GateDecision.ALLOW: ("pass", _("Yes"), _("The gate lets a pipeline read %(keys)s.")),
    GateDecision.WARN: ("warn", _("With care"), _("The gate warns a pipeline that reads %(keys)s.")),
    GateDecision.BLOCK: ("fail", _("No"), _("The gate stops a pipeline that reads %(keys)s.")),
}
NOT_TESTED = ("untested", _("Not tested"), _("No test has judged all of it."))
NOT_JUDGED_YET = ("pending", _("Not judged yet"), _("No test has judged all of it yet."))
OVERDUE = ("unknown", _("Not judged yet"), _("A test that is due has no result yet."))
NOT_KNOWN = ("unknown", _("Not known"), _("A test could not judge it."))
NO_FAULT = {*UNJUDGED, ReasonKind.WAIVED}
PENDING = {ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET, ReasonKind.NOT_OVER}


@dataclass(frozen=True, kw_only=True)
class WantedRange:
    """From the first to the last partition by their keys, or the last so many; empty: the last one that has ended."""

    first: str = ""
    last: str = ""
    span: int = 1
    datacenter: str = ""


@dataclass(frozen=True, kw_only=True)
class UseReason:
    """One reason, the partitions that it is about, and the tests that share it; ``place``: of another copy."""

    because: Because
    keys: str
    tests: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class MayUse:
    """The answer on a range; without a decision the range could not be read, and ``error`` says why."""

    first: str
    last: str
    keys: str
    datacenter: str
    places: Sequence[str]
    offered: Sequence[str]
    span: int | None = None  # the range is that of the last so many partitions
    quality: Answer | None = None
    decision: GateDecision | None = None
    reasons: Sequence[UseReason] = ()
    more: int = 0  # reasons that are not listed
    error: str = ""

    @property
    def tone(self) -> str:
        """The colour of the answer: green only where something has judged the data and the gate lets it through."""
        if self.quality is None or self.decision is None:
            return "unread"
        return self.decision.value if unjudged_words(self.quality) is None else "untested"

    @property
    def said(self) -> tuple[str, str, str]:
        """An icon, a word and a sentence that names the range and the place."""
        if self.quality is None or self.decision is None:
            return "unknown", gettext("Which range?"), in_english(self.error)
        look, word, gate = (str(part) for part in SAID[self.decision])
        places = {"keys": self.keys, "place": self.datacenter}
        sentence = gate % {"keys": gettext("%(keys)s in %(place)s") % places}
        if (unjudged := unjudged_words(self.quality)) is not None:
            look, word, why = unjudged
            sentence = f"{sentence} {why}"
        elif self.decision is GateDecision.ALLOW and (count := _pending_tests(self.quality)):
            pending = ngettext(
                "%(count)s of its tests has not judged it yet.", "%(count)s of its tests have not judged it yet.", count
            )
            sentence = f"{sentence} {pending % {'count': count}}"
        return look, word, sentence


Words = tuple[str, str, str]


def unjudged_words(quality: Answer) -> Words | None:
    """How to say that nobody has judged all of the data: an icon, a word and a sentence; None where it is judged."""
    if quality.status is Status.UNKNOWN:
        weighing = [reason for reason in quality.reasons if reason.status is Status.UNKNOWN]
        is_waiting = all(
            reason.kind is ReasonKind.NOT_JUDGED and reason.state is not State.UNKNOWN for reason in weighing
        )
        look, word, why = OVERDUE if is_waiting else NOT_KNOWN
    elif quality.status is Status.UNTESTED:
        look, word, why = NOT_TESTED if look_of(quality) is ShownStatus.UNTESTED else NOT_JUDGED_YET
    else:
        return None
    return look, str(word), str(why)


def _pending_tests(quality: Answer) -> int:
    return len({reason.test for reason in quality.reasons if reason.kind in PENDING})


def may_use(dataset: Dataset, wanted: WantedRange, *, now: datetime) -> MayUse | None:
    """What the gate would answer now; None where there is nothing to read."""
    places = [replica.datacenter for replica in dataset.replicas.all()]
    if not places:
        return None
    partitioning = dataset.partitioning
    ended = latest_ended(dataset, now)
    offered = _keys_before(partitioning, ended) if partitioning else ()
    place = wanted.datacenter if wanted.datacenter in places else places[0]
    is_asked = bool(partitioning and (wanted.first or wanted.last))
    try:
        window = _range(partitioning, wanted, ended) if partitioning else ended
        window.taken()
    except (UnableToPartition, UnableToReadWindow) as unable:
        return MayUse(
            first=wanted.first,
            last=wanted.last,
            keys="",
            datacenter=place,
            places=places,
            offered=offered,
            error=str(unable),
        )
    to_read = [ToRead(dataset=dataset, window=window, datacenter=each) for each in places]
    answers = dict(zip(places, foresee(to_read, now=now), strict=True))
    quality, answer = answers[place]
    reasons = list(_shared_reasons([*folded(answer.reasons), *_faults_elsewhere(answers, place)], partitioning, place))
    return MayUse(
        first=partitioning.key(partitioning.at(window.start)) if partitioning else "",
        last=partitioning.key(partitioning.at(window.end - INSTANT)) if partitioning else "",
        keys=keys_of(window, partitioning),
        datacenter=place,
        places=places,
        offered=offered,
        span=None if is_asked else wanted.span,
        quality=quality,
        decision=answer.decision,
        reasons=reasons[:MOST_REASONS],
        more=max(0, len(reasons) - MOST_REASONS),
    )


def _faults_elsewhere(answers: Mapping[str, tuple[Answer, GateAnswer]], place: str) -> Iterator[Because]:
    """What is wrong with the same partitions in another datacenter, and not here."""
    here = {replace(reason, datacenter="") for reason in answers[place][1].reasons}
    for other in answers:
        if other != place:
            faults = (reason for reason in folded(answers[other][1].reasons) if reason.kind not in NO_FAULT)
            yield from (reason for reason in faults if replace(reason, datacenter="") not in here)


def _shared_reasons(reasons: Iterable[Because], partitioning: Partitioning | None, place: str) -> Iterator[UseReason]:
    """The reasons, faults first; those of several tests that say the same of the same partitions as one."""
    alike: dict[Because, list[str]] = {}
    for reason in sorted(reasons, key=lambda reason: reason.kind in UNJUDGED):
        shared = replace(reason, test=None, category="") if reason.kind in UNJUDGED else reason
        alike.setdefault(shared, []).extend([reason.test] if reason.test else [])
    for reason, tests in alike.items():
        names = ", ".join(tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            names += " " + gettext("and %(count)s more") % {"count": len(tests) - MOST_TESTS}
        other = "" if reason.datacenter in ("", place) else reason.datacenter
        yield UseReason(because=reason, keys=keys_of(reason.window, partitioning), tests=names, place=other)


def _range(partitioning: Partitioning, wanted: WantedRange, ended: Window) -> Window:
    """From the start of the first to the end of the last partition; one key alone names one partition."""
    if not wanted.first and not wanted.last:
        first = partitioning.previous(ended, wanted.span - 1)[0] if wanted.span > 1 else ended
        return Window(start=first.start, end=ended.end)
    first, last = partitioning.window(wanted.first or wanted.last), partitioning.window(wanted.last or wanted.first)
    if last.start < first.start:
        raise UnableToReadWindow(f"The range ends with {wanted.last} before it starts with {wanted.first}.")
    return Window(start=first.start, end=last.end)


def _keys_before(partitioning: Partitioning, ended: Window) -> tuple[str, ...]:
    """The keys of the last partitions, the newest first."""
    windows = (*partitioning.previous(ended, OFFERED - 1), ended)
    return tuple(partitioning.key(window) for window in reversed(windows))
