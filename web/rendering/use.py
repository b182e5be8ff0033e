"""May I use this data? One sentence answers with its scope, the reason, and when that changes.

Pages and the API write it by the same functions, of the answers that look-ups and the gate give.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache

from django.db import connection
from django.db.models import F, QuerySet
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerting.alerts.texts import badness, result_of
from alerting.models import Standing
from alerting.state import BROKEN, TROUBLED, State
from alerting.titles import headline
from assay.database.statements import PreparedRows, PreparedValues
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import keys_of
from execution_engine.runs.shown_results import Veil
from incident_manager.gate.rules import Because, GateAnswer, GateDecision
from incident_manager.quality.rules import NOT_JUDGED, AnswerReason, QualityAnswer, QualityStatus, ReasonKind
from incident_manager.quality.selectors import FROM, TO

from .headline import folded, reason_text
from .status import DisplayStatus, look_of


class Use(StrEnum):
    """Whether data may be used; never YES over what nobody has judged."""

    YES = "yes"
    WITH_CARE = "with care"
    NO = "no"
    NOT_YET = "nobody knows yet"
    NOBODY = "nobody knows"


WORDS = {
    Use.YES: _("Yes"),
    Use.WITH_CARE: _("With care"),
    Use.NO: _("No"),
    Use.NOT_YET: _("Nobody knows yet"),
    Use.NOBODY: _("Nobody knows"),
}
BY_DECISION = {GateDecision.ALLOW: Use.YES, GateDecision.WARN: Use.WITH_CARE, GateDecision.BLOCK: Use.NO}
UNJUDGED = {QualityStatus.UNKNOWN, QualityStatus.UNTESTED}
PENDING = {ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET, ReasonKind.NOT_OVER, ReasonKind.LEARNING}
TROUBLED_OR_PENDING = (*TROUBLED, State.PENDING)
MOST_STANDINGS = 200
JOINED = ("data_test__dataset", "revision", "last_run__revision", "last_run__data_test__dataset")


@dataclass(frozen=True, kw_only=True)
class PlaceAnswer:
    """What is known of a range of a dataset in one datacenter; ``why`` has the reason and when the answer changes."""

    dataset: Dataset
    quality: QualityAnswer
    gate: GateAnswer
    why: str = ""

    @cached_property
    def use(self) -> Use:
        """As the gate decides, of what was judged."""
        if self.quality.status not in UNJUDGED:
            return BY_DECISION[self.gate.decision]
        return Use.NOBODY if look_of(self.quality) is DisplayStatus.UNTESTED else Use.NOT_YET

    @property
    def keys(self) -> str:
        """The partitions that were asked about."""
        window = self.quality.request.window
        return keys_of(window, self.dataset.partitioning) if window else ""

    @cached_property
    def reason(self) -> Because | AnswerReason | None:
        """What weighs most; nothing where all is well."""
        if self.use is Use.YES:
            return None
        if self.quality.status not in UNJUDGED:
            return next(iter(folded(self.gate.reasons)), None)
        reasons = folded(self.quality.reasons)
        weighing = [reason for reason in reasons if reason.status is self.quality.status]
        pending = [reason for reason in reasons if reason.kind in PENDING]
        return next(iter([*weighing, *pending, *reasons]), None)

    @property
    def incident_id(self) -> int | None:
        """Of the incident that the reason belongs to."""
        if (reason := self.reason) is None:
            return None
        alike = (because.incident_id for because in self.gate.reasons if because.category == reason.category)
        return reason.incident_id or next(filter(None, alike), None)


def use_sentence(answers: Sequence[PlaceAnswer]) -> str:
    """The answer on one range, for each datacenter; those of which the same is true are named together (pure).

    "Yes in dca for 2026-11-25. No in phx: 50 % of the rows are missing (#7), expected back at 2026-11-26 16:00 UTC."
    """
    alike: dict[tuple[Use, str], list[str]] = {}
    for answer in answers:
        alike.setdefault((answer.use, answer.why), []).append(answer.quality.request.datacenter or "")
    sentences = list[str]()
    for (use, why), places in alike.items():
        scope = gettext("%(word)s in %(places)s") if sentences else gettext("%(word)s in %(places)s for %(keys)s")
        text = scope % {"word": WORDS[use], "places": ", ".join(places), "keys": answers[0].keys}
        sentences.append(f"{text}: {why}." if why else f"{text}.")
    return " ".join(sentences)


def with_why(places: Sequence[PlaceAnswer], etas: Mapping[int, datetime | None], *, now: datetime) -> list[PlaceAnswer]:
    """The answers with their reasons and when they change; ``etas`` are those of their incidents, by id.

    In no statement where all may be used, else in one or two.
    """
    unclear = [place for place in places if place.reason]
    standings = _standings(unclear) if unclear else []
    unjudged = {place.dataset.pk for place in unclear if place.use is Use.NOT_YET}
    due = list(_due(connection.vendor, len(unjudged)).values(*unjudged)) if unjudged else []
    veil = Veil(now)

    def why(place: PlaceAnswer) -> str:
        window, reason = place.quality.request.window, place.reason
        if reason is None or window is None:
            return ""
        names, is_broken = _tests(place), reason.kind is ReasonKind.BROKEN
        own = [row for row in standings if row.data_test.dataset_id == place.dataset.pk and row.data_test.name in names]
        rows = [row for row in own if (row.state in BROKEN) is is_broken and row.window.overlaps(window)]
        looked_at = (row.next_check_at or (row.due_at if row.state == State.PENDING else None) for row in rows)
        instants = [at for at in looked_at if at] or [
            at for pk, at, start in due if start and pk == place.dataset.pk and window.start <= start < window.end
        ]
        is_first = all(row.state == State.PENDING for row in rows)
        eta = etas.get(place.incident_id or 0)
        back = gettext("expected back at %(at)s") % {"at": _instant(eta)} if eta and eta > now else ""
        change = back or _next_run(instants, now, is_first=is_first)
        worst = max(rows, key=badness) if rows and is_broken else None
        is_plain = reason.text == NOT_JUDGED and change  # which the answer says already
        text = "" if is_plain else _reason(place, reason, worst, veil)
        return (", " if back else "; ").join(filter(None, [text, change]))

    return [replace(place, why=why(place)) for place in places]


@lru_cache(maxsize=64)
def _due(vendor: str, datasets: int) -> PreparedValues:
    """Of so many datasets when each test runs next, and on which window."""
    ids = range(-datasets, 0)
    live = DataTest.objects.filter(dataset__in=ids, retired_at=None, next_due_at__isnull=False)
    return PreparedValues(live.values_list("dataset", "next_due_at", "next_window_start"), *ids)


def _standings(places: Sequence[PlaceAnswer]) -> list[Standing]:
    """How the tests that the reasons name stand, on the windows that are asked about, where they do not hold.

    Those that are farthest beyond their bounds come first, and what is beyond the most is left out.
    """
    windows = [window for place in places if (window := place.quality.request.window)]
    names = {name for place in places for name in _tests(place)} - {""}
    if not names:  # as where no test has judged it
        return []
    ids, start, end = {place.dataset.pk for place in places}, min(w.start for w in windows), max(w.end for w in windows)
    if any(place.reason and place.reason.kind is ReasonKind.BROKEN for place in places):  # whose title is told
        return list(_standings_of(ids, names, start, end).select_related(*JOINED)[:MOST_STANDINGS])
    return _prepared(connection.vendor, len(ids), len(names)).rows(*ids, *names, start, end)


def _standings_of(ids: Collection[int], names: Collection[str], start: datetime, end: datetime) -> QuerySet[Standing]:
    rows = Standing.objects.filter(
        data_test__dataset__in=ids,
        data_test__name__in=names,
        state__in=TROUBLED_OR_PENDING,
        waiver=None,
        window_start__lt=end,
        window_end__gt=start,
    )
    return rows.order_by(F("excess").desc(nulls_last=True), "-window_start")


@lru_cache(maxsize=64)
def _prepared(vendor: str, datasets: int, tests: int) -> PreparedRows[Standing]:
    """The standings of so many datasets and tests, each with its test."""
    ids, names = range(-datasets, 0), [str(number) for number in range(tests)]
    rows = _standings_of(ids, names, FROM, TO)[:MOST_STANDINGS]
    return PreparedRows(rows, *ids, *names, FROM, TO, related=("data_test",))


def _tests(place: PlaceAnswer) -> set[str]:
    """The tests on which the answer hangs: that of the reason, or all that have not judged it."""
    if (reason := place.reason) is None:
        return set()
    if reason.kind not in PENDING:
        return {reason.test or ""}
    return {pending.test or "" for pending in place.quality.reasons if pending.kind in PENDING}


def _reason(place: PlaceAnswer, reason: Because | AnswerReason, broken: Standing | None, veil: Veil) -> str:
    """What is wrong in the words of the incident's title, with its number."""
    text = reason_text(reason.text)
    if place.quality.status in UNJUDGED:  # the answer says already that it is untested
        text = text.partition(": ")[2] or text
    text = capfirst(text)
    if broken is not None:
        is_whole = broken.data_test.scope == Scope.TABLE
        keys = "" if is_whole else keys_of(broken.window, place.dataset.partitioning)
        text = headline(result_of(broken, veil, keys=keys), others=0, is_over=False, context=place.keys).rstrip(".")
    is_named = reason.kind is ReasonKind.SPOILT and reason.report_id is None
    return f"{text} (#{place.incident_id})" if place.incident_id and not is_named else text


def _next_run(instants: Sequence[datetime], now: datetime, *, is_first: bool) -> str:
    if not instants:
        return ""
    if (at := min(instants)) <= now:
        return gettext("a run is due now")
    text = gettext("the first run is at %(at)s") if is_first else gettext("the next run is at %(at)s")
    return text % {"at": _instant(at)}


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
