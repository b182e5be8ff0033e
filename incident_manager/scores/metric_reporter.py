"""The metric reporter: reads from incidents, reports, tests and look-ups what ``scores`` needs, for any range."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
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
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast
from django.db.models.lookups import IsNull

from alerting.models import Standing
from alerting.state import State
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import OF_CATEGORY, dimension_of
from incident_manager.incidents.lifecycle import ENDED
from incident_manager.intervals import subtract
from incident_manager.models import CONFIRMED, EntryKind, Episode, Incident, LookUp, Report, SpoiltWindow
from incident_manager.quality.now import MOST_NAMED, of_datasets
from incident_manager.quality.selectors import JUDGES_NO_ROWS

from .rules import (
    FOREVER,
    KIND_OF,
    Ints,
    QueryScore,
    Score,
    SpellKind,
    Spells,
    Sums,
    instant_at,
    microseconds,
    score_groups,
    score_queries,
)

ALL, NONE = slice(None), slice(0)  # of the datasets that scores list
USUAL_RANGE = timedelta(days=28)  # what pages and commands show unless another range is asked for
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
    values: Mapping[int, str]  # by incident, of the column that was asked for


def read_facts(scope: ScoreFilter, span: Window, *columns: str, by_category: bool = False) -> ScoreFacts:
    """The facts of the range, with one more column of each incident, if it is asked for.

    When each dataset was tested, or each of its categories: those are five times as many.
    """
    episodes, values = _episodes(scope, span, *columns)
    parts = [episodes, _missed(episodes, scope, span), _tests(scope, span, by_category)]
    if scope.who and (moved := set(episodes[1].tolist()).difference(parts[-1][1].tolist())):
        # to another tier, team or owner since
        parts.append(_tests(ScoreFilter(datasets=moved, category=scope.category), span, by_category))
    incidents, dataset, category, kind, start, end = np.hstack(parts)
    spells = Spells(dataset=dataset, category=category, kind=kind, start=start, end=end)
    return ScoreFacts(spells=spells, incidents=incidents, values=values)


# Spells as rows of numbers, of shape (6, n): their incidents, datasets, categories, kinds, starts and ends.


def _episodes(scope: ScoreFilter, span: Window, *columns: str) -> tuple[Ints, dict[int, str]]:
    """When incidents of the range were open, and one more column by incident; not those of claims unconfirmed.

    They are asked for from the side of the episodes, of which an index holds all that is asked.
    """
    confirmed = Report.objects.filter(incident=OuterRef("incident"), state__in=CONFIRMED)
    rows = Episode.objects.filter(Q(closed_at__isnull=True) | Q(closed_at__gt=span.start), opened_at__lt=span.end)
    if scope.datasets is not None:  # an index leads from these to the incidents of the range
        rows = rows.filter(Q(incident__resolved_at__isnull=True) | Q(incident__resolved_at__gt=span.start))
    rows = scope.narrow(rows, of="incident__", who="incident__")
    rows = rows.filter(Q(incident__kind=EntryKind.DETECTED) | Q(Exists(confirmed)))
    incidents, kinds, opened, closed, datasets, categories, *more = _columns(
        rows.annotate(spell=KINDS, opened=_text(F("opened_at")), closed=_text(F("closed_at"))),
        *("incident", "spell", "opened", "closed"),
        *(f"incident__{name}" for name in ("dataset", "category", *columns)),
    )
    spells = _numbers(incidents, *_places(datasets, categories), kinds, _instants(opened), _ends(closed))
    return spells, dict(zip(incidents, map(str, more[0]), strict=True)) if columns else {}


def _columns(rows: QuerySet[Any], *names: str) -> list[list[Any]]:
    """The columns of the rows; by chunks, as Python sweeps its memory where very many rows stay in it."""
    columns: list[list[Any]] = [[] for _ in names]
    row_tuples = rows.values_list(*names).iterator(chunk_size=CHUNK)
    while chunk := list(islice(row_tuples, CHUNK)):
        for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
            column.extend(values)
    return columns


def _numbers(*rows: Any) -> Ints:
    return np.array(np.broadcast_arrays(*(np.array(row, dtype=np.int64) for row in rows)))


def _text(instant: Any) -> Cast:
    """Django looks for the zone of each instant; so they are read as texts, which numpy reads by the thousand."""
    return Cast(instant, CharField())


def _instants(texts: Sequence[str | None]) -> Ints:
    """Microseconds since 1970; None, as most ends of tests are, is NEVER, the least of them."""
    instants = np.full(len(texts), NEVER)
    places = [at for at, text in enumerate(texts) if text is not None]
    instants[places] = np.array([texts[at] for at in places], dtype="M8[us]").astype(np.int64)
    return instants


def _ends(texts: Sequence[str | None]) -> Ints:
    instants = _instants(texts)
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
    all have a test that passes and was there throughout: only of the other tests the database reads more.
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
    others = tests.exclude(always).annotate(tested=kind).filter(live | Q(tested=SpellKind.TESTED))
    spans = others.values("tested", *columns).annotate(first=Min("created_at"), live=Count("pk", filter=live))
    spans = spans.annotate(
        start=_text(Case(When(first__gt=span.start, then=F("first")))),  # null: before the range
        end=_text(Case(When(live=0, then=Max("retired_at")))),  # null: not yet
    )
    kinds, starts, ends, *places = _columns(spans, "tested", "start", "end", *columns)
    throughout = _columns(tests.filter(always).distinct(), *columns)
    return np.hstack(
        [
            _numbers(0, *_places(*places), kinds, _instants(starts), _ends(ends)),
            _numbers(0, *_places(*throughout), SpellKind.TESTED, NEVER, FOREVER),
        ]
    )


def _places(datasets: list[int], categories: list[str] | None = None) -> tuple[Any, Any]:
    return datasets, NUMBERS[""] if categories is None else [NUMBERS[name] for name in categories]


def _any(rows: QuerySet[Any]) -> Q:
    """Whether there is such a row: MariaDB reads all that there are for an EXISTS beside an OR, but not for this."""
    return Q(IsNull(Subquery(rows.values("pk")[:1]), False))


# What scores are listed by: of which groups each spell is.

Groups = tuple[Sequence[Collection[str]], Ints]  # those of spells that are alike, and which of these each spell is of


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


def groups_of(group: Group, facts: ScoreFacts, span: Window) -> Groups:
    """The groups of each spell; it reads as many statements however many groups there are."""
    match group:
        case Group.CATEGORY:
            return [(name,) for name in NAMES], facts.spells.category
        case Group.DIMENSION:
            return _dimensions(facts)
        case Group.PIPELINE:
            completed = DataChange.objects.filter(kind=ChangeKind.COMPLETED, at__gte=span.start, at__lt=span.end)
            pairs = completed.exclude(pipeline="").order_by().values_list("pipeline", "dataset").distinct()
            wrote: dict[int, set[str]] = defaultdict(set)
            for pipeline, dataset in pairs:
                wrote[dataset].add(pipeline)
            datasets, of_spell = np.unique(facts.spells.dataset, return_inverse=True)
            return [wrote.get(dataset, ()) for dataset in datasets.tolist()], of_spell
        case Group.TIER | Group.TEAM | Group.OWNER:
            # of incidents theirs at their detection; of tests that of now, and those of their incidents
            by_dataset = {pk: {str(value)} for pk, value in Dataset.objects.values_list("pk", group.value)}
            names = list(dict.fromkeys(facts.values.values()))
            numbers = {name: number for number, name in enumerate(names, start=1)}  # 0: it is of a test
            incidents = np.array([0, *facts.values], dtype=np.int64)
            values = np.array([0, *map(numbers.__getitem__, facts.values.values())], dtype=np.int64)
            order = np.argsort(incidents)
            value = values[order[np.searchsorted(incidents, facts.incidents, sorter=order)]]
            pairs, of_spell = np.unique(facts.spells.dataset * (len(names) + 1) + value, return_inverse=True)
            places = [divmod(number, len(names) + 1) for number in pairs.tolist()]
            for dataset, number in places:
                if number:
                    by_dataset[dataset].add(names[number - 1])
            return [(names[number - 1],) if number else by_dataset[dataset] for dataset, number in places], of_spell


def _dimensions(facts: ScoreFacts) -> Groups:
    """Of a category with tests of all kinds, those of its tests; of an incident those that found its bad windows."""
    mixed = [name for name in Category.values if name not in OF_CATEGORY]
    by_place = defaultdict[tuple[int, int], set[str]](set)
    rows = DataTest.objects.filter(category__in=mixed, revision__isnull=False)
    trees = rows.annotate(tree=Cast("revision__tree", TextField())).values_list("dataset", "category", "tree")

    @cache  # many tests assert the same, each of another dataset
    def dimension(category: str, tree: str) -> str:
        return dimension_of(category, from_json(json.loads(tree)))

    for dataset, category, tree in trees.distinct():
        by_place[dataset, NUMBERS[category]].add(dimension(category, tree))

    groups: list[Collection[str]] = [(OF_CATEGORY[name],) if name in OF_CATEGORY else () for name in NAMES]
    of_spell = facts.spells.category.copy()
    unclear = np.flatnonzero(np.isin(of_spell, [NUMBERS[name] for name in mixed]))
    pairs, pair = np.unique(facts.spells.dataset[unclear] * len(NAMES) + of_spell[unclear], return_inverse=True)
    of_spell[unclear] = len(groups) + pair
    groups += [by_place[divmod(number, len(NAMES))] for number in pairs.tolist()]

    is_several = np.array([len(dimensions) > 1 for dimensions in groups])[of_spell]
    several = np.flatnonzero(is_several & (facts.incidents > 0)).tolist()
    by_incident = defaultdict[int, set[str]](set)
    spoilt = SpoiltWindow.objects.filter(incident__in=set(facts.incidents[several].tolist()), data_test__in=rows)
    seen = spoilt.annotate(tree=Cast("data_test__revision__tree", TextField())).order_by()
    for incident, category, tree in seen.values_list("incident", "data_test__category", "tree").distinct():
        by_incident[incident].add(dimension(category, tree))
    for spell in several:
        if dimensions := by_incident.get(int(facts.incidents[spell])):
            of_spell[spell] = len(groups)
            groups.append(dimensions)
    return groups, of_spell


# The scores of a range: in all, by dataset and by group.


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """The score of one dataset, and of each of its categories."""

    dataset: str
    score: Score
    by_category: Mapping[str, Score]


@dataclass(frozen=True, kw_only=True)
class ReportedScores:
    """How good data and tests were over a range; ``end`` is never later than the asking.

    ``rows`` are those of the asked part of the datasets, by name; ``count`` is of all that have a score.
    """

    start: datetime
    end: datetime
    rows: tuple[ScoreRow, ...]
    count: int
    total: Score
    queries: QueryScore
    groups: Sequence["ScoredGroup"]


def scores(
    *,
    start: datetime,
    end: datetime,
    now: datetime,
    tier: int | None = None,
    team: str | None = None,
    owner: str | None = None,
    category: str | None = None,
    dataset: Dataset | None = None,
    listed: slice = ALL,
    by: Group | None = None,
) -> ReportedScores:
    """The scores of a range, narrowed to what is not None, and of each dataset that is ``listed`` by its place.

    Groups are of all data, whatever the scores are narrowed to.
    """
    span = Window(start=start, end=min(end, now))
    who = {"tier": tier, "team": team, "owner": owner}
    scope = ScoreFilter(
        who={name: value for name, value in who.items() if value is not None},
        category=category,
        datasets=None if dataset is None else [dataset.pk],
    )
    grouped = _read_grouped(by, span) if by else None
    facts = grouped if grouped and scope == ScoreFilter() else read_facts(scope, span)
    datasets, sums = _by_dataset(facts, span)
    names = {} if listed == NONE else _names(datasets)
    ordered = sorted(enumerate(datasets), key=lambda place: names[place[1]])[listed] if names else []
    by_category = _by_category(replace(scope, datasets=[pk for _, pk in ordered]), span)
    rows = (
        ScoreRow(dataset=names[pk], score=sums.score(at), by_category=dict(sorted(by_category[pk].items())))
        for at, pk in ordered
    )
    return ReportedScores(
        start=span.start,
        end=span.end,
        rows=tuple(rows),
        count=len(datasets),
        total=sums.all(),
        queries=_score_queries(scope, span),
        groups=_by_group(by, grouped, span, parts=1) if by and grouped else (),
    )


def data_qualities(datasets: Collection[int], *, now: datetime) -> dict[int, float | None]:
    """The data-level quality of these datasets over the usual range; None: nothing has tested it."""
    span = Window(start=now - USUAL_RANGE, end=now)
    scope = ScoreFilter(datasets=datasets if len(datasets) <= MOST_NAMED else None)
    scored, sums = _by_dataset(read_facts(scope, span), span)
    qualities = dict(zip(scored, sums.data_qualities, strict=True))
    return {pk: qualities.get(pk) for pk in datasets}


@dataclass(frozen=True, kw_only=True)
class ScoredGroup:
    """The score of one tier, team, owner or category over a range, and over each of its parts, oldest first."""

    name: str
    total: Score
    parts: tuple[Score, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The scores of all data over a range: together, by group, and of the datasets that were bad for longest."""

    total: Score
    queries: QueryScore
    groups: Sequence[ScoredGroup]
    worst: Sequence[tuple[str, Score]]  # by name, that of the longest first


def overview(group: Group, *, start: datetime, end: datetime, now: datetime, parts: int, most: int) -> Overview:
    """What ``scores`` says of all data, of each group in even parts of the range, and of the ``most`` bad datasets.

    Datasets without a team are in no team. It reads as many statements however many groups there are.
    """
    span = Window(start=start, end=min(end, now))
    facts = _read_grouped(group, span)
    datasets, sums = _by_dataset(facts, span)
    bad = sums.bad.tolist()
    least = min(sorted(bad, reverse=True)[:most], default=0)
    worst = {pk: at for at, pk in enumerate(datasets) if bad[at] >= least}
    names = _names(worst)
    ordered = sorted(worst.items(), key=lambda place: (-bad[place[1]], names[place[0]]))  # of those alike by name
    return Overview(
        total=sums.all(),
        queries=_score_queries(ScoreFilter(), span),
        groups=_by_group(group, facts, span, parts),
        worst=[(names[pk], sums.score(at)) for pk, at in ordered[:most]],
    )


def _by_dataset(facts: ScoreFacts, span: Window) -> tuple[list[int], Sums]:
    """The datasets that are tested, or that had an incident in the range, and the score of each by its place."""
    datasets, group = np.unique(facts.spells.dataset, return_inverse=True)
    return datasets.tolist(), score_groups(facts.spells, group, (span.start, span.end))


def _names(datasets: Collection[int]) -> dict[int, str]:
    return dict(of_datasets(datasets, Dataset.objects.all(), "pk").values_list("pk", "full_name"))


def _by_category(scope: ScoreFilter, span: Window) -> Mapping[int, Mapping[str, Score]]:
    facts = read_facts(scope, span, by_category=True)
    many, spells = len(NAMES), facts.spells
    places, group = np.unique(spells.dataset * many + spells.category, return_inverse=True)
    sums = score_groups(spells, group, (span.start, span.end))
    scores: dict[int, dict[str, Score]] = defaultdict(dict)
    for at, (dataset, category) in enumerate(divmod(place, many) for place in places.tolist()):
        scores[dataset][NAMES[category]] = sums.score(at)
    return scores


def _read_grouped(group: Group, span: Window) -> ScoreFacts:
    """The facts of all data, with what the group lists them by."""
    return read_facts(ScoreFilter(), span, *group.columns, by_category=group in (Group.CATEGORY, Group.DIMENSION))


def _by_group(group: Group, facts: ScoreFacts, span: Window, parts: int) -> list[ScoredGroup]:
    """The scores of each group of the facts, by name, over even parts of the range; what has no name is none."""
    groups, of_spell = groups_of(group, facts, span)
    names = sorted({name for own in groups for name in own})
    numbers = {name: number for number, name in enumerate(names)}
    flat = np.array([numbers[name] for own in groups for name in own], dtype=np.int64)
    counts = np.array([len(own) for own in groups], dtype=np.int64)
    many = counts[of_spell]
    spells = np.repeat(np.arange(len(of_spell)), many)
    first = (np.cumsum(counts) - counts)[of_spell]  # of the groups of each spell, among all
    member = flat[np.arange(len(spells)) + np.repeat(first - np.cumsum(many) + many, many)]
    edges = [span.start + span.duration * n / parts for n in range(parts + 1)]
    sums = score_groups(facts.spells.only(spells), member, edges)
    present = np.unique(member).tolist()
    scored = ((names[at], at) for at in present if names[at])
    return [ScoredGroup(name=name, total=sums.score(at), parts=sums.parts(at)) for name, at in scored]


def _score_queries(scope: ScoreFilter, span: Window) -> QueryScore:
    """The queries that read anything in scope; one fails by any of its tables."""
    rows = LookUp.objects.filter(at__gte=span.start, at__lt=span.end)
    rows = replace(scope, category=None).narrow(rows, who="dataset__")
    failed: dict[object, set[int]] = defaultdict(set)
    for query, incidents in rows.filter(failed=True).values_list("query", "incidents"):
        failed[query].update(incidents)
    ids = {id_ for incidents in failed.values() for id_ in incidents}
    resolutions = dict(Incident.objects.filter(pk__in=ids).values_list("pk", "resolution"))
    hows = {id_: ENDED[resolution] for id_, resolution in resolutions.items()}
    total = rows.aggregate(total=Count("query", distinct=True))["total"]
    return score_queries(total, ([hows.get(id_) for id_ in incidents] for incidents in failed.values()))
