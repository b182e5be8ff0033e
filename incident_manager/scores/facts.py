"""What scores are made of: the times of incidents, reports and tests of a range, as rows of numbers."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    Field,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast
from django.db.models.lookups import IsNull

from alerting.models import Standing
from alerting.state import State
from assay.models import Category, Dataset, DataTest
from assay.time.windows import Window
from incident_manager.incidents.lifecycle import ENDED
from incident_manager.intervals import subtract
from incident_manager.models import CONFIRMED, EntryKind, Episode, Report, SpoiltWindow
from incident_manager.quality.now import of_datasets
from incident_manager.quality.selectors import JUDGES_NO_ROWS

from .rules import FOREVER, KIND_OF, Ints, SpellKind, Spells, instant_at, microseconds

NAMES = (*Category.values, "")  # of the categories, by their numbers in spells; the last: of any
NUMBERS = {name: number for number, name in enumerate(NAMES)}
KINDS = Case(  # of episodes
    When(incident__kind=EntryKind.REPORTED, then=Value(SpellKind.REPORTED)),
    *(
        When(incident__resolution__in=[end for end, how in ENDED.items() if KIND_OF[how] is kind], then=Value(kind))
        for kind in (SpellKind.FALSE, SpellKind.NOTHING)
    ),
    default=Value(SpellKind.REAL),
    output_field=Field(),  # of an IntegerField Django would make each number an int again
)
NEVER = int(np.iinfo(np.int64).min)
LAST = datetime.max.replace(tzinfo=UTC)  # for the end of what is still open
CHUNK = 500  # rows; fewer than the objects after which Python sweeps its memory


@dataclass(frozen=True, kw_only=True)
class ScoreFilter:
    """Whose data counts: tier, team and owner of an incident are those at its detection."""

    who: Mapping[str, Any] = field(default_factory=dict)
    category: str | None = None
    datasets: Collection[int] | None = None  # None: all

    def narrow(self, rows: QuerySet[Any], *, of: str = "", who: str = "") -> QuerySet[Any]:
        """The rows that count; ``of`` leads to their dataset and category, ``who`` to tier, team and owner."""
        rows = rows.filter(**{f"{who}{name}": value for name, value in self.who.items()})
        if self.category is not None:
            rows = rows.filter(**{f"{of}category": self.category})
        return rows if self.datasets is None else rows.filter(**{f"{of}dataset__in": self.datasets})


@dataclass(frozen=True, kw_only=True)
class ScoreFacts:
    """All spells of a range, and of which incident each is; a test's is of incident 0."""

    spells: Spells
    incidents: Ints
    values: Mapping[str, Mapping[int, str]]  # of the columns that were asked for, by incident

    def since(self, start: datetime) -> "ScoreFacts":
        """Without the spells that ended before."""
        lasts = np.flatnonzero(self.spells.end > microseconds(start))
        incidents = self.incidents[lasts]
        own = set(incidents.tolist())
        values = {
            name: {incident: value for incident, value in by_incident.items() if incident in own}
            for name, by_incident in self.values.items()
        }
        return ScoreFacts(spells=self.spells.only(lasts), incidents=incidents, values=values)


def read_facts(
    scope: ScoreFilter, span: Window, *columns: str, by_category: bool = False, with_tests: bool = True
) -> ScoreFacts:
    """The facts of the range, with more columns of each incident, if they are asked for.

    When each dataset was tested, or each of its categories: those are five times as many.
    """
    episodes, values = _episodes(scope, span, *columns)
    parts = [episodes, _missed(episodes, scope, span)]
    if with_tests:
        parts.append(_tests(scope, span, by_category))
    if with_tests and scope.who and (moved := set(episodes[1].tolist()).difference(parts[-1][1].tolist())):
        # to another tier, team or owner since
        parts.append(_tests(ScoreFilter(datasets=moved, category=scope.category), span, by_category))
    incidents, dataset, category, kind, start, end = np.hstack(parts)
    spells = Spells(dataset=dataset, category=category, kind=kind, start=start, end=end)
    return ScoreFacts(spells=spells, incidents=incidents, values=values)


# Spells as rows of numbers, of shape (6, n): their incidents, datasets, categories, kinds, starts and ends.


def _episodes(scope: ScoreFilter, span: Window, *columns: str) -> tuple[Ints, dict[str, dict[int, str]]]:
    """When incidents of the range were open, and more columns by incident; not those of claims unconfirmed.

    They are asked for from the side of the episodes, of which an index holds all that is asked.
    """
    rows = Episode.objects.filter(Q(closed_at__isnull=True) | Q(closed_at__gt=span.start), opened_at__lt=span.end)
    if scope.datasets is not None:  # an index leads from these to the incidents of the range
        rows = rows.filter(Q(incident__resolved_at__isnull=True) | Q(incident__resolved_at__gt=span.start))
    rows = scope.narrow(rows, of="incident__", who="incident__")
    incidents, kinds, opened, closed, datasets, categories, *more = columns_of(
        episodes_that_count(rows).annotate(opened=instant_text(F("opened_at")), closed=instant_text(F("closed_at"))),
        *("incident", "spell", "opened", "closed"),
        *(f"incident__{name}" for name in ("dataset", "category", *columns)),
    )
    spells = _numbers(incidents, *_places(datasets, categories), kinds, instants_of(opened), ends_of(closed))
    return spells, {
        name: dict(zip(incidents, map(str, values), strict=True)) for name, values in zip(columns, more, strict=True)
    }


def episodes_that_count(rows: QuerySet[Episode]) -> QuerySet[Episode]:
    """Those of incidents that tests found, or that a confirmed report tells of; each with its ``spell``, a kind.

    What back-fills of the past have found counts for nothing: no test was there when it broke.
    """
    rows = rows.filter(incident__is_past=False)
    confirmed = Report.objects.filter(incident=OuterRef("incident"), state__in=CONFIRMED)
    return rows.filter(Q(incident__kind=EntryKind.DETECTED) | Q(Exists(confirmed))).annotate(spell=KINDS)


def columns_of(rows: QuerySet[Any], *names: str) -> list[list[Any]]:
    """The columns of the rows; by chunks, as Python sweeps its memory where very many rows stay in it."""
    columns: list[list[Any]] = [[] for _ in names]
    row_tuples = rows.values_list(*names).iterator(chunk_size=CHUNK)
    while chunk := list(islice(row_tuples, CHUNK)):
        for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
            column.extend(values)
    return columns


def _numbers(*rows: Any) -> Ints:
    return np.array(np.broadcast_arrays(*(np.array(row, dtype=np.int64) for row in rows)))


def instant_text(instant: Any) -> Cast:
    """Django looks for the zone of each instant; so they are read as texts, which numpy reads by the thousand."""
    return Cast(instant, CharField())


def instants_of(texts: Sequence[str | None]) -> Ints:
    """Microseconds since 1970; None, as most ends of tests are, is NEVER, the least of them."""
    instants = np.full(len(texts), NEVER)
    places = [at for at, text in enumerate(texts) if text is not None]
    instants[places] = np.array([texts[at] for at in places], dtype="M8[us]").astype(np.int64)
    return instants


def ends_of(texts: Sequence[str | None]) -> Ints:
    instants = instants_of(texts)
    return np.where(instants == NEVER, FOREVER, instants)


def _missed(episodes: Ints, scope: ScoreFilter, span: Window) -> Ints:
    """The times of confirmed reports of which no test knew, whatever category or owner its incident was of.

    They are the report's, less those of the dataset's incidents on the same windows, unless these were withdrawn.
    """
    reports = episodes[:, episodes[3] == SpellKind.REPORTED]
    others = episodes
    if reports.size and scope != ScoreFilter():
        others, _ = _episodes(ScoreFilter(datasets=set(reports[1].tolist())), span)
    at, rivals = _meeting(reports, others[:, np.isin(others[3], (SpellKind.REAL, SpellKind.FALSE))])
    windows = defaultdict[int, list[Window]](list)  # by incident, that were spoilt
    spoilt = SpoiltWindow.objects.filter(incident__in={*reports[0, at].tolist(), *rivals[0].tolist()})
    for incident, start, end in spoilt.values_list("incident", "window_start", "window_end"):
        windows[incident].append(Window(start=start, end=end))
    spells = [reports[:, np.isin(np.arange(reports.shape[1]), at, invert=True)]]
    for number in np.unique(at).tolist():
        report = reports[:, number]
        open_times = [
            _open_time(rival)
            for rival in rivals[:, at == number].T
            if any(own.overlaps(claimed) for own in windows[int(rival[0])] for claimed in windows[int(report[0])])
        ]
        alone = subtract([_open_time(report)], open_times)
        spell = np.repeat(report[:, None], len(alone), axis=1)
        spell[4:] = [[microseconds(window.start) for window in alone], [microseconds(window.end) for window in alone]]
        spells.append(spell)
    missed_spells = np.hstack(spells)
    missed_spells[3] = SpellKind.MISSED
    return missed_spells


def _meeting(reports: Ints, detected: Ints) -> tuple[Ints, Ints]:
    """The pairs of a report, by its number, and what tests found in its dataset while it was open."""
    detected = detected[:, np.argsort(detected[1], kind="stable")]
    first, last = (np.searchsorted(detected[1], reports[1], side=side) for side in ("left", "right"))
    count = last - first
    at = np.repeat(np.arange(len(count)), count)
    rivals = detected[:, np.arange(len(at)) + np.repeat(last - np.cumsum(count), count)]
    lasts = (reports[4, at] < reports[5, at]) & (rivals[4] < rivals[5])
    meets = lasts & (reports[4, at] < rivals[5]) & (rivals[4] < reports[5, at])
    return at[meets], rivals[:, meets]


def _open_time(spell: Ints) -> Window:
    start, end = spell[4:].tolist()
    return Window(start=instant_at(start), end=LAST if end == FOREVER else instant_at(end))


def _tests(scope: ScoreFilter, span: Window, by_category: bool) -> Ints:
    """When each dataset, or each of its categories, was tested: from its first test on, to the end of its last.

    A category counts if it has come to a verdict and had tests in the range; a live one is listed all the same. Nearly
    all have a test that passes and was there throughout: only of the other tests the database reads more, and of
    datasets that have one it reads no other.
    """
    columns = ("dataset", "category") if by_category else ("dataset",)
    live, begun = Q(retired_at__isnull=True), Q(created_at__lt=span.end)
    left = live | Q(retired_at__gt=span.start)
    own = Standing.objects.filter(data_test=OuterRef("pk"))
    passed = ~JUDGES_NO_ROWS & _any(own.filter(state=State.PASS))  # what passes has held; an index knows that
    always = live & Q(created_at__lte=span.start) & passed
    alike = DataTest.objects.filter(dataset=OuterRef("dataset"), category=OuterRef("category"))
    judged = passed | _any(alike.exclude(JUDGES_NO_ROWS).filter(_any(own.exclude(last_outcome=""))))
    counts = judged & (begun | _any(alike.filter(begun))) & (left | _any(alike.filter(left)))
    kind = Case(
        When(counts, then=Value(SpellKind.TESTED)), default=Value(SpellKind.NOTHING), output_field=IntegerField()
    )

    tests = scope.narrow(DataTest.objects.order_by(), who="dataset__")
    if by_category:
        throughout, others = columns_of(tests.filter(always).distinct(), *columns), tests.exclude(always)
    else:
        rows = Dataset.objects.filter(_any(tests.filter(always, dataset=OuterRef("pk"))))
        throughout = columns_of(rows if scope.datasets is None else rows.filter(pk__in=scope.datasets), "pk")
        remaining = set(Dataset.objects.values_list("pk", flat=True)).difference(throughout[0])
        others = of_datasets(remaining, tests.exclude(always), "dataset")
    others = others.annotate(tested=kind).filter(live | Q(tested=SpellKind.TESTED))
    spans = others.values("tested", *columns).annotate(first=Min("created_at"), live=Count("pk", filter=live))
    spans = spans.annotate(
        start=instant_text(Case(When(first__gt=span.start, then=F("first")))),  # null: before the range
        end=instant_text(Case(When(live=0, then=Max("retired_at")))),  # null: not yet
    )
    kinds, starts, ends, *places = columns_of(spans, "tested", "start", "end", *columns)
    return np.hstack(
        [
            _numbers(0, *_places(*places), kinds, instants_of(starts), ends_of(ends)),
            _numbers(0, *_places(*throughout), SpellKind.TESTED, NEVER, FOREVER),
        ]
    )


def _places(datasets: list[int], categories: list[str] | None = None) -> tuple[Any, Any]:
    return datasets, NUMBERS[""] if categories is None else [NUMBERS[name] for name in categories]


def _any(rows: QuerySet[Any]) -> Q:
    """Whether there is such a row: MariaDB reads all that there are for an EXISTS beside an OR, but not for this."""
    return Q(IsNull(Subquery(rows.values("pk")[:1]), False))
