"""The metric reporter: reads from incidents, reports, tests and look-ups what ``scores`` needs, for any range."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Count

from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.models import Incident, LookUp

from .facts import NAMES, Facts, Group, ScoreFilter, groups_of, read_facts
from .resolutions import HOW
from .rules import QueryScore, Score, score_queries
from .together import Sums, score_groups

__all__ = ["ALL", "NONE", "USUAL_RANGE", "Group", "data_qualities", "overview", "scores"]

ALL, NONE = slice(None), slice(0)  # of the datasets that scores list
MOST_NAMED = 500
USUAL_RANGE = timedelta(days=28)  # what pages and commands show unless another range is asked for


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
    asked = Window(start=start, end=min(end, now))
    who = {"tier": tier, "team": team, "owner": owner}
    wanted = ScoreFilter(
        who={name: value for name, value in who.items() if value is not None},
        category=category,
        datasets=None if dataset is None else [dataset.pk],
    )
    grouped = _read_grouped(by, asked) if by else None
    whole = _ByDataset.of(grouped if grouped and wanted == ScoreFilter() else read_facts(wanted, asked), asked)
    named = whole.named(listed)
    by_category = _by_category(replace(wanted, datasets=[pk for pk, _, _ in named]), asked)
    rows = (
        ScoreRow(dataset=name, score=score, by_category=dict(sorted(by_category[pk].items())))
        for pk, name, score in named
    )
    return ReportedScores(
        start=asked.start,
        end=asked.end,
        rows=tuple(rows),
        count=len(whole.datasets),
        total=whole.sums.all(),
        queries=_score_queries(wanted, asked),
        groups=_by_group(by, grouped, asked, parts=1) if by and grouped else (),
    )


def data_qualities(datasets: Collection[int], *, now: datetime) -> dict[int, float | None]:
    """The data-level quality of these datasets over the usual range; None: nothing has tested it."""
    asked = Window(start=now - USUAL_RANGE, end=now)
    whole = _ByDataset.of(read_facts(ScoreFilter(datasets=datasets), asked), asked)
    found = {pk: whole.sums.score(at).data_quality for at, pk in enumerate(whole.datasets)}
    return {pk: found.get(pk) for pk in datasets}


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
    asked = Window(start=start, end=min(end, now))
    facts = _read_grouped(group, asked)
    whole = _ByDataset.of(facts, asked)
    return Overview(
        total=whole.sums.all(),
        queries=_score_queries(ScoreFilter(), asked),
        groups=_by_group(group, facts, asked, parts),
        worst=whole.worst(most),
    )


@dataclass(frozen=True, kw_only=True)
class _ByDataset:
    """The scores of each dataset that is tested, or that had an incident in the range."""

    datasets: Sequence[int]  # by their number in the sums
    sums: Sums

    @classmethod
    def of(cls, facts: Facts, asked: Window) -> "_ByDataset":
        datasets, group = np.unique(facts.spells.dataset, return_inverse=True)
        return cls(datasets=datasets.tolist(), sums=score_groups(facts.spells, group, (asked.start, asked.end)))

    def named(self, listed: slice) -> list[tuple[int, str, Score]]:
        """The id, the full name and the score of those with these places, in the order of their names."""
        if listed == NONE:
            return []
        names = _names(self.datasets)
        ordered = sorted(enumerate(self.datasets), key=lambda place: names[place[1]])
        return [(pk, names[pk], self.sums.score(at)) for at, pk in ordered[listed]]

    def worst(self, most: int) -> list[tuple[str, Score]]:
        """The full name and the score of so many that were bad for longest; of those that are alike by name."""
        bad = self.sums.bad[:, 0].tolist()
        least = min(sorted(bad, reverse=True)[:most], default=0)
        candidates = {pk: at for at, pk in enumerate(self.datasets) if bad[at] >= least}
        names = _names(candidates)
        ordered = sorted(candidates.items(), key=lambda each: (-bad[each[1]], names[each[0]]))
        return [(names[pk], self.sums.score(at)) for pk, at in ordered[:most]]


def _names(datasets: Collection[int]) -> dict[int, str]:
    """The full names; of very many the database is not told the ids, which takes longer than to read all names."""
    rows = Dataset.objects.filter(**{"pk__in": datasets} if len(datasets) <= MOST_NAMED else {})
    return dict(rows.values_list("pk", "full_name"))


def _by_category(wanted: ScoreFilter, asked: Window) -> Mapping[int, Mapping[str, Score]]:
    """The scores of these datasets by category."""
    facts = read_facts(wanted, asked, by_category=True)
    many, spells = len(NAMES), facts.spells
    places, group = np.unique(spells.dataset * many + spells.category, return_inverse=True)
    sums = score_groups(spells, group, (asked.start, asked.end))
    found: dict[int, dict[str, Score]] = defaultdict(dict)
    for at, (dataset, category) in enumerate(divmod(place, many) for place in places.tolist()):
        found[dataset][NAMES[category]] = sums.score(at)
    return found


def _read_grouped(group: Group, asked: Window) -> Facts:
    """The facts of all data, with what the group lists them by."""
    return read_facts(ScoreFilter(), asked, *group.columns, by_category=group in (Group.CATEGORY, Group.DIMENSION))


def _by_group(group: Group, facts: Facts, asked: Window, parts: int) -> list[ScoredGroup]:
    """The scores of each group of the facts, by name, over even parts of the range; what has no name is none."""
    groups, of_spell = groups_of(group, facts, asked)
    names = sorted({name for own in groups for name in own})
    numbers = {name: number for number, name in enumerate(names)}
    flat = np.array([numbers[name] for own in groups for name in own], dtype=np.int64)
    counts = np.array([len(own) for own in groups], dtype=np.int64)
    many = counts[of_spell]
    spells = np.repeat(np.arange(len(of_spell)), many)
    first = (np.cumsum(counts) - counts)[of_spell]  # of the groups of each spell, among all
    member = flat[np.arange(len(spells)) + np.repeat(first - np.cumsum(many) + many, many)]
    edges = [asked.start + asked.duration * n / parts for n in range(parts + 1)]
    sums = score_groups(facts.spells.only(spells), member, edges)
    present = np.unique(member).tolist()
    scored = ((names[at], at) for at in present if names[at])
    return [ScoredGroup(name=name, total=sums.score(at), parts=sums.parts(at)) for name, at in scored]


def _score_queries(wanted: ScoreFilter, asked: Window) -> QueryScore:
    """The queries that read anything in wanted; one fails by any of its tables."""
    rows = LookUp.objects.filter(at__gte=asked.start, at__lt=asked.end)
    rows = replace(wanted, category=None).narrow(rows, who="dataset__")
    failed: dict[object, set[int]] = defaultdict(set)
    for query, incidents in rows.filter(failed=True).values_list("query", "incidents"):
        failed[query].update(incidents)
    ids = {id_ for incidents in failed.values() for id_ in incidents}
    resolutions = dict(Incident.objects.filter(pk__in=ids).values_list("pk", "resolution"))
    hows = {id_: HOW[how] if how else None for id_, how in resolutions.items()}
    total = rows.aggregate(total=Count("query", distinct=True))["total"]
    return score_queries(total, ([hows.get(id_) for id_ in incidents] for incidents in failed.values()))
