"""What scores are made of, read as plain values: the incidents and reports of a range, and when tests were live."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    When,
)
from django.db.models.functions import Cast
from django.db.models.lookups import IsNull

from alerting.models import Standing
from alerting.state import State
from assay.clock import instant_of
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import OF_CATEGORY, dimension_of
from incident_manager.models import EntryKind, Episode, Report, Resolution, SpoiltWindow
from incident_manager.quality.selectors import JUDGES_NO_ROWS

from .resolutions import CONFIRMED, HOW
from .rules import ConfirmedReport, DetectedIncident, OpenTime, missed
from .together import FOREVER, KIND_OF, Ints, Kind, Spells, microseconds

KINDS = (
    {(EntryKind.DETECTED.value, resolution): KIND_OF[how].value for resolution, how in HOW.items()}
    | {(EntryKind.DETECTED.value, ""): KIND_OF[None].value}
    | {(EntryKind.REPORTED.value, resolution): Kind.REPORTED.value for resolution in ("", *Resolution.values)}
)
COLUMNS = ("incident", *(f"incident__{name}" for name in ("dataset", "category", "kind", "resolution")), "start", "end")


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


class Part(NamedTuple):
    """Some spells and what each is of, one an index; a test's is of incident 0."""

    datasets: Sequence[int]
    categories: Sequence[str]
    incidents: Sequence[int]
    kind: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All spells of a range, and what each is of, one an index; a test's is of incident 0."""

    spells: Spells
    datasets: Sequence[int]
    categories: Sequence[str]
    incidents: Sequence[int]
    category_names: Sequence[str]  # by their number in the spells
    values: Mapping[int, str]  # by incident, of the column that was asked for


def read_facts(wanted: ScoreFilter, asked: Window, *columns: str, by_category: bool = False) -> Facts:
    """The facts of the range, with one more column of each incident, if it is asked for.

    When each dataset was tested, or each of its categories: those are five times as many.
    """
    rows = _episodes(wanted, asked, *columns)
    read = _columns(rows, len(COLUMNS) + len(columns))
    parts = [_of_incidents(read), _of_reports(rows, wanted, asked), _of_tests(wanted, asked, by_category)]
    moved = set(read[1]) - set(parts[-1].datasets) if wanted.who else None
    if moved:  # to another tier, team or owner since
        parts.append(_of_tests(ScoreFilter(datasets=moved, category=wanted.category), asked, by_category))
    datasets, categories, incidents = ([*chain(*(part[at] for part in parts))] for at in range(3))
    numbers: dict[str, int] = {}
    category = [numbers.setdefault(name, len(numbers)) for name in categories]
    kind, start, end = (np.concatenate([part[at] for part in parts]) for at in range(3, 6))
    return Facts(
        spells=Spells(dataset=_ints(datasets), category=_ints(category), kind=kind, start=start, end=end),
        datasets=datasets,
        categories=categories,
        incidents=incidents,
        category_names=list(numbers),
        values=dict(zip(read[0], map(str, read[-1]), strict=True)) if columns else {},
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _episodes(wanted: ScoreFilter, asked: Window, *columns: str) -> list[tuple[Any, ...]]:
    """The episodes in the range, each with COLUMNS and these of its incident; not those of claims unconfirmed.

    They are asked for from the side of the episodes, of which an index holds all that is asked. Django looks for the
    zone of each instant; so they are read as texts, which numpy reads by the thousand.
    """
    confirmed = Report.objects.filter(incident=OuterRef("incident"), state__in=CONFIRMED)
    rows = Episode.objects.filter(Q(closed_at__isnull=True) | Q(closed_at__gt=asked.start), opened_at__lt=asked.end)
    if wanted.datasets is not None:  # an index leads from these to the incidents of the range
        rows = rows.filter(Q(incident__resolved_at__isnull=True) | Q(incident__resolved_at__gt=asked.start))
    rows = wanted.narrow(rows, of="incident__", who="incident__")
    rows = rows.filter(Q(incident__kind=EntryKind.DETECTED) | Q(Exists(confirmed)))
    ends = {"start": _text(F("opened_at")), "end": _text(F("closed_at"))}
    return list(rows.annotate(**ends).values_list(*COLUMNS, *(f"incident__{name}" for name in columns)))


def _text(instant: Any) -> Cast:
    return Cast(instant, CharField())


NEVER = int(np.iinfo(np.int64).min)


def _instants(texts: Sequence[str | None]) -> Ints:
    """Microseconds since 1970; None is NEVER, the least of them."""
    instants = np.full(len(texts), NEVER)
    known = [at for at, text in enumerate(texts) if text is not None]
    instants[known] = np.array([texts[at] for at in known], dtype="M8[us]").astype(np.int64)
    return instants


def _ends(texts: Sequence[str | None]) -> Ints:
    instants = _instants(texts)
    return np.where(instants == NEVER, FOREVER, instants)


def _of_incidents(columns: Sequence[Sequence[Any]]) -> Part:
    """The episodes of what tests found, and of what was reported."""
    incidents, datasets, categories, kinds, resolutions, starts, ends = columns[: len(COLUMNS)]
    return Part(
        datasets=datasets,
        categories=categories,
        incidents=incidents,
        kind=_ints([KINDS[both] for both in zip(kinds, resolutions, strict=True)]),
        start=_instants(starts),
        end=_ends(ends),
    )


def _of_reports(rows: Sequence[tuple[Any, ...]], wanted: ScoreFilter, asked: Window) -> Part:
    """The times of confirmed reports of which no test knew, whatever category or owner its incident was of."""
    reports = [row for row in rows if row[3] == EntryKind.REPORTED]
    claims = defaultdict[int, list[OpenTime]](list)
    for row in reports:
        claims[row[1]].append(_episode(row))
    found = list[tuple[int, str, int, int, int]]()
    if reports:
        others = rows if wanted == ScoreFilter() else _episodes(ScoreFilter(datasets=list(claims)), asked)
        rivals = [row for row in others if row[3] == EntryKind.DETECTED and _meets_any(row, claims.get(row[1], ()))]
        windows = _windows({row[0] for row in (*reports, *rivals)})
        detected = _detected(rivals, windows)
        for row in reports:
            report = ConfirmedReport(episode=_episode(row), windows=tuple(windows.get(row[0], ())))
            for window in missed(report, detected.get(row[1], ()), asked):
                found.append((row[1], row[2], row[0], microseconds(window.start), microseconds(window.end)))
    datasets, categories, incidents, starts, ends = _columns(found, 5)
    kind = np.full(len(found), Kind.MISSED, dtype=np.int64)
    return Part(datasets, categories, incidents, kind, _ints(starts), _ints(ends))


def _detected(
    rows: Iterable[tuple[Any, ...]], windows: Mapping[int, Sequence[Window]]
) -> dict[int, list[DetectedIncident]]:
    """What tests found, by dataset, one for each episode."""
    found: dict[int, list[DetectedIncident]] = defaultdict(list)
    for row in rows:
        how = HOW[row[4]] if row[4] else None
        own = tuple(windows.get(row[0], ()))
        found[row[1]].append(DetectedIncident(episodes=(_episode(row),), how=how, windows=own))
    return found


def _episode(row: tuple[Any, ...]) -> OpenTime:
    return OpenTime(start=instant_of(row[5]), end=None if row[6] is None else instant_of(row[6]))


def _meets_any(row: tuple[Any, ...], claims: Sequence[OpenTime]) -> bool:
    return bool(claims) and any(map(_episode(row).meets, claims))


def _windows(incidents: Collection[int]) -> dict[int, list[Window]]:
    """The spoilt windows by incident."""
    rows = SpoiltWindow.objects.filter(incident__in=incidents)
    found: dict[int, list[Window]] = defaultdict(list)
    for incident, start, end in rows.values_list("incident", "window_start", "window_end"):
        found[incident].append(Window(start=start, end=end))
    return found


def _of_tests(wanted: ScoreFilter, asked: Window, by_category: bool) -> Part:
    """When each dataset, or each of its categories, was tested: from its first test on, to the end of its last.

    A category counts if it has come to a verdict and had tests in the range; a live one is listed all the same.
    """
    columns = ("dataset", "category") if by_category else ("dataset",)
    tests, live = wanted.narrow(DataTest.objects.order_by(), who="dataset__"), Q(retired_at__isnull=True)
    counted = _counted(asked)
    spans = tests.filter(counted).values(*columns)
    spans = spans.annotate(first=Min("created_at"), live=Count("pk", filter=live)).annotate(
        start=_text(Case(When(first__gt=asked.start, then=F("first")))),  # null: before the range
        end=_text(Case(When(live=0, then=Max("retired_at")))),  # null: not yet
    )
    *places, starts, ends = _columns(spans.values_list(*columns, "start", "end"), len(columns) + 2)
    others = _columns(tests.filter(live).exclude(counted).values_list(*columns).distinct(), len(columns))
    datasets, nothing = [*places[0], *others[0]], np.zeros(len(others[0]), dtype=np.int64)
    return Part(
        datasets=datasets,
        categories=[*places[1], *others[1]] if by_category else [""] * len(datasets),
        incidents=[0] * len(datasets),
        kind=np.concatenate((np.full(len(starts), Kind.TESTED, dtype=np.int64), nothing + Kind.NOTHING)),
        start=np.concatenate((_instants(starts), nothing)),
        end=np.concatenate((_ends(ends), nothing)),
    )


def _columns(rows: Iterable[tuple[Any, ...]], count: int) -> list[Sequence[Any]]:
    """So many columns of the rows, which may be none."""
    return list(zip(*rows, strict=True)) or [()] * count


def _counted(asked: Window) -> Q:
    """The tests of categories that have come to a verdict on rows, and that had a test within the range.

    A test that judges no row of a partition comes to none. What passes has held; an index knows that of nearly all
    tests, as of nearly all it is known that they were there: few are asked for the other tests of their category.
    """
    own = Standing.objects.filter(data_test=OuterRef("pk"))
    alike = DataTest.objects.filter(dataset=OuterRef("dataset"), category=OuterRef("category"))
    judged = _any(alike.exclude(JUDGES_NO_ROWS).filter(_any(own.exclude(last_outcome=""))))
    passed = _any(own.filter(state=State.PASS)) & ~JUDGES_NO_ROWS
    begun, left = Q(created_at__lt=asked.end), Q(retired_at__isnull=True) | Q(retired_at__gt=asked.start)
    return (passed | judged) & (begun | _any(alike.filter(begun))) & (left | _any(alike.filter(left)))


def _any(rows: QuerySet[Any]) -> Q:
    """Whether there is such a row: MariaDB reads all that there are for an EXISTS beside an OR, but not for this."""
    return Q(IsNull(Subquery(rows.values("pk")[:1]), False))


# What scores are listed by: of which groups each spell is.

Names = Sequence[Collection[str]]  # of each spell, the groups that it is of


class Group(StrEnum):
    """What scores are listed by; those of people are columns of incidents."""

    CATEGORY = "category"
    DIMENSION = "dimension"  # of quality
    TIER = "tier"
    TEAM = "team"
    OWNER = "owner"
    PIPELINE = "pipeline"  # that has told in the range of what it had written

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of incidents that facts must be read with."""
        return (self.value,) if self in (Group.TIER, Group.TEAM, Group.OWNER) else ()


def groups_of(group: Group, facts: Facts, asked: Window) -> Names:
    """The groups of each spell; it reads as many statements however many groups there are."""
    match group:
        case Group.CATEGORY:
            return [(category,) for category in facts.categories]
        case Group.DIMENSION:
            return _dimensions(facts)
        case Group.PIPELINE:
            return _pipelines(facts, asked)
        case _:
            return _people(group, facts)


def _dimensions(facts: Facts) -> Names:
    """Of a category with tests of all kinds, those of its tests; of an incident those that found its bad windows."""
    mixed = [name for name in Category.values if name not in OF_CATEGORY]
    spells = list(zip(facts.datasets, facts.categories, facts.incidents, strict=True))
    by_place = defaultdict[tuple[int, str], set[str]](set)
    rows = DataTest.objects.filter(category__in=mixed, revision__isnull=False)
    trees = rows.annotate(tree=Cast("revision__tree", TextField())).values_list("dataset", "category", "tree")
    known = cache(_dimension_of)  # many tests assert the same, each of another dataset
    for dataset, category, tree in trees.distinct():
        by_place[dataset, category].add(known(category, tree))
    unclear = {incident for dataset, category, incident in spells if incident and len(by_place[dataset, category]) > 1}
    by_incident = defaultdict[int, set[str]](set)
    spoilt = SpoiltWindow.objects.filter(incident__in=unclear, data_test__in=rows)
    seen = spoilt.annotate(tree=Cast("data_test__revision__tree", TextField())).order_by()
    for incident, category, tree in seen.values_list("incident", "data_test__category", "tree").distinct():
        by_incident[incident].add(known(category, tree))

    clear = {category: (dimension,) for category, dimension in OF_CATEGORY.items()}
    return [
        clear.get(category) or by_incident.get(incident) or by_place[dataset, category]
        for dataset, category, incident in spells
    ]


def _dimension_of(category: str, tree: str) -> str:
    return dimension_of(category, from_json(json.loads(tree)))


def _pipelines(facts: Facts, asked: Window) -> Names:
    """Those that completed in the range: all datasets that each of them wrote."""
    told = DataChange.objects.filter(kind=ChangeKind.COMPLETED, at__gte=asked.start, at__lt=asked.end)
    wrote: dict[int, set[str]] = defaultdict(set)
    for pipeline, dataset in told.exclude(pipeline="").order_by().values_list("pipeline", "dataset").distinct():
        wrote[dataset].add(pipeline)
    return [wrote.get(dataset, ()) for dataset in facts.datasets]


def _people(group: Group, facts: Facts) -> Names:
    """Of incidents the tier, team or owner at their detection; of tests that of now, and those of their incidents."""
    known = {pk: {str(value)} for pk, value in Dataset.objects.values_list("pk", group.value)}
    spells = list(zip(facts.datasets, map(facts.values.get, facts.incidents), strict=True))  # of a test: None
    for dataset, value in set(spells):
        if value is not None:
            known[dataset].add(value)
    alone = {value: (value,) for value in facts.values.values()}
    return [known[dataset] if value is None else alone[value] for dataset, value in spells]
