"""The metric reporter: the scores of any range, in all, by dataset and by group, and the incidents behind each."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import pairwise

import numpy as np
from django.db.models import Count, TextField
from django.db.models.functions import Cast

from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import OF_CATEGORY, dimension_of
from incident_manager.incidents.lifecycle import ENDED
from incident_manager.models import Incident, LookUp, SpoiltWindow
from incident_manager.quality.now import MOST_NAMED, of_datasets

from .facts import NAMES, NUMBERS, ScoreFacts, ScoreFilter, read_facts
from .response_times import Step, StepTime, step_time, step_times
from .rules import Ints, QueryScore, Score, SpellKind, Sums, microseconds, score_groups, score_queries

ALL, NONE = slice(None), slice(0)  # of the datasets that scores list
USUAL_RANGE = timedelta(days=28)  # what pages and commands show unless another range is asked for

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
            of_incidents = facts.values[group.value]
            names = list(dict.fromkeys(of_incidents.values()))
            numbers = {name: number for number, name in enumerate(names, start=1)}  # 0: it is of a test
            incidents = np.array([0, *of_incidents], dtype=np.int64)
            values = np.array([0, *map(numbers.__getitem__, of_incidents.values())], dtype=np.int64)
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
    steps: Mapping[Step, StepTime]


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
        groups=_by_group(by, grouped, span, edges=(span.start, span.end)) if by and grouped else (),
        steps={step: step_time(times, span.start, span.end) for step, times in step_times(scope, span, now).items()},
    )


class Counted(StrEnum):
    """What the time of an incident counts as in a score."""

    BAD = "bad"
    FALSE = "false alarm"
    MISSED = "missed"


SPELLS = {
    Counted.BAD: (SpellKind.REAL, SpellKind.MISSED),
    Counted.FALSE: (SpellKind.FALSE,),
    Counted.MISSED: (SpellKind.MISSED,),
}


def incidents_counted(
    counted: Counted | Step, *, start: datetime, end: datetime, now: datetime, by: Group | None = None, name: str = ""
) -> list[int]:
    """The incidents behind one figure of the scores, of one group where it is named; what counts longest comes first.

    They are of all data, as the scores are: whoever shows them leaves out what a reader may not see.
    """
    if start >= min(end, now):
        return []
    span = Window(start=start, end=min(end, now))
    if isinstance(counted, Step):
        incidents, _, durations, _ = step_times(ScoreFilter(), span, now)[counted].tolist()
        lengths = dict(zip(incidents, durations, strict=True))
    else:
        facts = read_facts(ScoreFilter(), span, *(by.columns if by else ()), with_tests=False)
        which = np.isin(facts.spells.kind, SPELLS[counted])
        if by:
            groups, of_spell = groups_of(by, facts, span)
            which &= np.array([name in group for group in groups], dtype=np.bool_)[of_spell]
        first, last = microseconds(span.start), microseconds(span.end)
        times = facts.spells.end[which].clip(first, last) - facts.spells.start[which].clip(first, last)
        lengths = defaultdict(int)
        for incident, length in zip(facts.incidents[which].tolist(), times.tolist(), strict=True):
            lengths[incident] += length
    return sorted((pk for pk in lengths if lengths[pk] or isinstance(counted, Step)), key=lambda pk: (-lengths[pk], pk))


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


BY_DAY, MOST_DAYS = (Group.TIER, Group.TEAM), 28  # what is scored day by day


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The scores of all data over a range: together, by group, and of the datasets that were bad for longest."""

    total: Score
    parts: tuple[Score, ...]
    steps: Mapping[Step, StepTime]
    step_parts: Mapping[Step, Sequence[StepTime]]
    queries: QueryScore
    groups: Sequence[ScoredGroup]
    worst: Sequence[tuple[str, Score]]  # by name, that of the longest first
    days: Sequence[datetime]  # the last of the range: their starts in UTC, and the end of the last one
    by_day: Mapping[Group, Sequence[ScoredGroup]]


def overview(group: Group, *, start: datetime, end: datetime, now: datetime, parts: int, most: int) -> Overview:
    """What ``scores`` says of all data, of each group in even parts of the range, and of the ``most`` bad datasets.

    Datasets without a team are in no team. It reads as many statements however many groups there are.
    """
    span = Window(start=start, end=min(end, now))
    edges = [span.start + span.duration * n / parts for n in range(parts + 1)]
    facts = _read_grouped(group, span, *(column for by in BY_DAY for column in by.columns))
    datasets, sums = _by_dataset(facts, span)
    midnight = (span.end - timedelta(microseconds=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [midnight - timedelta(days=n) for n in reversed(range(min(MOST_DAYS, span.duration.days)))]
    days.append(span.end)
    recent = facts.since(days[0])
    whole = score_groups(facts.spells, np.zeros_like(facts.spells.dataset), edges)
    steps = step_times(ScoreFilter(), span, now)
    bad = sums.bad.tolist()
    least = min(sorted(bad, reverse=True)[:most], default=0)
    worst = {pk: at for at, pk in enumerate(datasets) if bad[at] >= least}
    names = _names(worst)
    ordered = sorted(worst.items(), key=lambda place: (-bad[place[1]], names[place[0]]))  # of those alike by name
    return Overview(
        total=sums.all(),
        parts=whole.parts(0) if facts.spells.dataset.size else (Score(),) * parts,
        steps={step: step_time(times, span.start, span.end) for step, times in steps.items()},
        step_parts={step: [step_time(times, *part) for part in pairwise(edges)] for step, times in steps.items()},
        queries=_score_queries(ScoreFilter(), span),
        groups=_by_group(group, facts, span, edges),
        worst=[(names[pk], sums.score(at)) for pk, at in ordered[:most]],
        days=days,
        by_day={by: _by_group(by, recent, span, days) for by in BY_DAY},
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


def _read_grouped(group: Group, span: Window, *columns: str) -> ScoreFacts:
    """The facts of all data, with what the group lists them by, and more columns."""
    columns = tuple(dict.fromkeys((*group.columns, *columns)))
    return read_facts(ScoreFilter(), span, *columns, by_category=group in (Group.CATEGORY, Group.DIMENSION))


def _by_group(group: Group, facts: ScoreFacts, span: Window, edges: Sequence[datetime]) -> list[ScoredGroup]:
    """The scores of each group of the facts, by name, between the edges; what has no name is none."""
    groups, of_spell = groups_of(group, facts, span)
    names = sorted({name for own in groups for name in own})
    numbers = {name: number for number, name in enumerate(names)}
    flat = np.array([numbers[name] for own in groups for name in own], dtype=np.int64)
    counts = np.array([len(own) for own in groups], dtype=np.int64)
    many = counts[of_spell]
    spells = np.repeat(np.arange(len(of_spell)), many)
    first = (np.cumsum(counts) - counts)[of_spell]  # of the groups of each spell, among all
    member = flat[np.arange(len(spells)) + np.repeat(first - np.cumsum(many) + many, many)]
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
