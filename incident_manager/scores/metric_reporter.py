"""The metric reporter: reads from incidents, reports, tests and look-ups what ``scores`` needs, for any range."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from alerting.models import Standing
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.language.dimension import OF_CATEGORY, dimension_of
from execution_engine.language.serialise import from_json
from execution_engine.metrics.dimensions import Dimension
from incident_manager.incidents.lifecycle import How
from incident_manager.models import EntryKind, Incident, LookUp, ReportState, Resolution, SpoiltWindow
from incident_manager.quality.facts_of_rows import judges_rows

from .rules import (
    ConfirmedReport,
    DatasetScore,
    DetectedIncident,
    OpenTime,
    QueryScore,
    Record,
    Score,
    combine,
    score_dataset,
    score_queries,
    time_tested,
)

USUAL_RANGE = timedelta(days=28)  # what pages and commands show unless another range is asked for
CONFIRMED = (ReportState.CONFIRMED, ReportState.FIXED)
HOW = {how.value: how for how in How} | {Resolution.FIXED.value: How.AUTO, Resolution.REJECTED.value: How.FORCED}

Spans = dict[str, Window | None]  # by category, when a dataset was tested; None: not at all yet


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """The score of one dataset, and of each of its categories."""

    dataset: str
    score: Score
    by_category: Mapping[str, Score]


@dataclass(frozen=True, kw_only=True)
class ReportedScores:
    """How good data and tests were over a range; ``end`` is never later than the asking."""

    start: datetime
    end: datetime
    rows: tuple[ScoreRow, ...]
    total: Score
    queries: QueryScore


class Group(StrEnum):
    """What scores are listed by; those of people are columns of incidents."""

    CATEGORY = "category"
    DIMENSION = "dimension"  # of quality
    TIER = "tier"
    TEAM = "team"
    OWNER = "owner"
    PIPELINE = "pipeline"  # that has told in the range of what it had written


class Life(NamedTuple):
    """From when to when one test was live, and whether it ever came to a verdict on rows of its windows."""

    created_at: datetime
    retired_at: datetime | None
    judged: bool


@dataclass(frozen=True, kw_only=True)
class ScoreFilter:
    """Whose data counts: tier, team and owner of an incident are those at its detection."""

    who: Mapping[str, Any] = field(default_factory=dict)
    category: str | None = None
    datasets: Collection[int] | None = None  # None: all

    def narrow(self, rows: QuerySet[Any], *, of_dataset: str = "") -> QuerySet[Any]:
        """The rows that count; ``of_dataset`` leads to the columns of tier, team and owner."""
        rows = rows.filter(**{f"{of_dataset}{name}": value for name, value in self.who.items()})
        if self.category is not None:
            rows = rows.filter(category=self.category)
        return rows if self.datasets is None else rows.filter(dataset__in=self.datasets)


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
) -> ReportedScores:
    """The scores of a range, narrowed to what is not None."""
    asked = Window(start=start, end=min(end, now))
    who = {"tier": tier, "team": team, "owner": owner}
    wanted = ScoreFilter(
        who={name: value for name, value in who.items() if value is not None},
        category=category,
        datasets=None if dataset is None else [dataset.pk],
    )
    found = _score(wanted, asked)
    names = dict(Dataset.objects.filter(pk__in=found).values_list("pk", "full_name"))
    rows = [
        ScoreRow(dataset=names[pk], score=one.whole, by_category=dict(sorted(one.by_category.items())))
        for pk, one in found.items()
    ]
    return ReportedScores(
        start=asked.start,
        end=asked.end,
        rows=tuple(sorted(rows, key=lambda row: row.dataset)),
        total=combine(one.whole for one in found.values()),
        queries=_score_queries(wanted, asked),
    )


def data_qualities(datasets: Collection[int], *, now: datetime) -> dict[int, float | None]:
    """The data-level quality of these datasets over the usual range; None: nothing has tested it."""
    found = _score(ScoreFilter(datasets=datasets), Window(start=now - USUAL_RANGE, end=now))
    return {pk: found[pk].whole.data_quality if pk in found else None for pk in datasets}


def _score(wanted: ScoreFilter, asked: Window) -> dict[int, DatasetScore]:
    """The scores by dataset: of each that is tested, or that had an incident in the range."""
    incidents = _incidents(wanted, asked)
    tested = _tested(wanted, asked)
    if moved := {row.dataset_id for row in incidents} - set(tested):  # to another tier, team or owner since
        tested |= _tested(ScoreFilter(datasets=moved, category=wanted.category), asked)
    claimed = {row.dataset_id for row in incidents if row.kind == EntryKind.REPORTED}
    rivals = _incidents(ScoreFilter(datasets=claimed), asked) if claimed else []  # of all categories and owners
    return _History.of(incidents, rivals, tested).scored(asked)


@dataclass(frozen=True, kw_only=True)
class _History:
    """What scores are made of, read once for any part of the range that it was read for."""

    records: Mapping[int, Mapping[str, Record]]  # by dataset and category
    detected: Mapping[int, Sequence[DetectedIncident]]  # of the datasets that somebody reported on

    @classmethod
    def of(cls, incidents: Collection[Incident], rivals: Iterable[Incident], tested: Mapping[int, Spans]) -> "_History":
        """From the incidents that count, all others of the datasets that were reported, and when these were tested."""
        claimed = {row.dataset_id for row in incidents if row.kind == EntryKind.REPORTED}
        others = [row for row in rivals if row.dataset_id in claimed]
        windows = _windows([*incidents, *others], claimed)
        detected: dict[int, list[DetectedIncident]] = defaultdict(list)
        for row in others:
            if row.kind == EntryKind.DETECTED:
                detected[row.dataset_id].append(_detected(row, windows))
        return cls(records=_records(incidents, windows, tested), detected=detected)

    def scored(self, asked: Window) -> dict[int, DatasetScore]:
        """The scores by dataset over the range, or over a part of it."""
        return {pk: score_dataset(each, asked, detected=self.detected.get(pk, ())) for pk, each in self.records.items()}

    def total(self, asked: Window) -> Score:
        """Of all together; of the many in which nothing happened only the tested time counts."""
        eventful = {
            pk: each for pk, each in self.records.items() if any(one.incidents or one.reports for one in each.values())
        }
        calm = sum(
            (time_tested(each.values(), asked) for pk, each in self.records.items() if pk not in eventful), timedelta(0)
        )
        bad = replace(self, records=eventful).scored(asked).values()
        return combine([Score(total=calm), *(one.whole for one in bad)])


@dataclass(frozen=True, kw_only=True)
class ScoredGroup:
    """The score of one tier, team, owner or category over a range, and over each of its parts, oldest first."""

    name: str
    total: Score
    parts: tuple[Score, ...]


def scores_by(group: Group, *, start: datetime, end: datetime, now: datetime, parts: int) -> list[ScoredGroup]:
    """The scores of each member of the group, each as ``scores`` gives it, by name, and of even parts of the range.

    Datasets without a team are in no team. It reads as many statements however many groups there are.
    """
    asked = Window(start=start, end=min(end, now))
    incidents, tested = _incidents(ScoreFilter(), asked), _tested(ScoreFilter(), asked)
    match group:
        case Group.CATEGORY:
            found = {name: _of_category(name, incidents, tested) for name in Category.values}
        case Group.DIMENSION:
            found = _of_dimensions(incidents, tested)
        case Group.PIPELINE:
            found = _of_pipelines(asked, incidents, tested)
        case _:
            found = _of_people(group, incidents, tested)
    steps = [asked.start + asked.duration * n / parts for n in range(parts + 1)]
    pieces = [Window(start=one, end=other) for one, other in pairwise(steps)]
    return [
        ScoredGroup(name=name, total=history.total(asked), parts=tuple(history.total(piece) for piece in pieces))
        for name, history in sorted(found.items())
        if name and history.records
    ]


def _of_category(name: str, incidents: Collection[Incident], tested: Mapping[int, Spans]) -> _History:
    own = [row for row in incidents if row.category == name]
    spans = {pk: {name: each[name]} for pk, each in tested.items() if name in each}
    return _History.of(own, incidents, spans)


def _of_dimensions(incidents: Collection[Incident], tested: Mapping[int, Spans]) -> dict[str, _History]:
    """By dimension; of a category with tests of all kinds, by that of each test, and an incident by its bad windows."""
    mixed = [name for name in Category.values if name not in OF_CATEGORY]
    rows = DataTest.objects.filter(category__in=mixed, revision__isnull=False, dataset__in=list(tested))
    by_test, by_place = dict[int, str](), defaultdict[tuple[int, str], set[str]](set)
    for pk, dataset, category, tree in rows.values_list("pk", "dataset", "category", "revision__tree"):
        by_test[pk] = dimension_of(category, from_json(tree))
        by_place[dataset, category].add(by_test[pk])
    unclear = [row.pk for row in incidents if row.category in mixed]
    by_incident = defaultdict[int, set[str]](set)
    spoilt = SpoiltWindow.objects.filter(incident__in=unclear).order_by()
    for incident, test in spoilt.values_list("incident", "data_test").distinct():
        if test in by_test:
            by_incident[incident].add(by_test[test])

    def is_of(dimension: str, row: Incident) -> bool:
        if row.category in OF_CATEGORY:
            return OF_CATEGORY[row.category] == dimension
        return dimension in (by_incident[row.pk] or by_place[row.dataset_id, row.category])

    found = {}
    for dimension in Dimension:
        spans: dict[int, Spans] = {}
        for pk, each in tested.items():
            own = {c: s for c, s in each.items() if OF_CATEGORY.get(c) == dimension or dimension in by_place[pk, c]}
            if own:
                spans[pk] = own
        found[dimension.value] = _History.of([row for row in incidents if is_of(dimension, row)], incidents, spans)
    return found


def _of_pipelines(asked: Window, incidents: Collection[Incident], tested: Mapping[int, Spans]) -> dict[str, _History]:
    """By the pipelines that completed in the range: all datasets that each of them wrote."""
    told = DataChange.objects.filter(kind=ChangeKind.COMPLETED, at__gte=asked.start, at__lt=asked.end)
    written: dict[str, set[int]] = defaultdict(set)
    for pipeline, dataset in told.exclude(pipeline="").order_by().values_list("pipeline", "dataset").distinct():
        written[pipeline].add(dataset)
    return {
        pipeline: _History.of(
            [row for row in incidents if row.dataset_id in own],
            incidents,
            {pk: tested[pk] for pk in own if pk in tested},
        )
        for pipeline, own in written.items()
    }


def _of_people(group: Group, incidents: Collection[Incident], tested: Mapping[int, Spans]) -> dict[str, _History]:
    """By tier, team or owner: of incidents those at their detection, else those of now."""
    datasets: dict[str, set[int]] = defaultdict(set)
    for pk, value in Dataset.objects.values_list("pk", group.value):
        datasets[str(value)].add(pk)
    by_value: dict[str, list[Incident]] = defaultdict(list)
    for row in incidents:
        by_value[str(getattr(row, group.value))].append(row)
    found = {}
    for value in {*datasets, *by_value}:
        own = {*datasets[value], *(row.dataset_id for row in by_value[value])}
        found[value] = _History.of(by_value[value], incidents, {pk: tested[pk] for pk in own if pk in tested})
    return found


def _records(
    incidents: Iterable[Incident], windows: Mapping[int, list[Window]], tested: Mapping[int, Spans]
) -> dict[int, dict[str, Record]]:
    """What counts, by dataset and category."""
    by_place: dict[tuple[int, str], list[Incident]] = defaultdict(list)
    for row in incidents:
        by_place[row.dataset_id, row.category].append(row)
    spans = {(pk, category): span for pk, each in tested.items() for category, span in each.items()}
    found: dict[int, dict[str, Record]] = defaultdict(dict)
    for pk, category in {*spans, *by_place}:
        found[pk][category] = _record(by_place.get((pk, category), []), windows, spans.get((pk, category)))
    return found


def _tested(wanted: ScoreFilter, asked: Window) -> dict[int, Spans]:
    """When each dataset was tested, by category: from its first test on, or to the end of its last if none is live.

    A test that has never come to a verdict has tested nothing yet. A test that judges no row of a partition never does.
    """
    verdicts = Standing.objects.filter(data_test=OuterRef("pk")).exclude(last_outcome="")
    tests = wanted.narrow(DataTest.objects.annotate(judged=Exists(verdicts)), of_dataset="dataset__")
    rows = tests.values_list("dataset", "category", "name", "origin", "created_at", "retired_at", "judged")
    lives: dict[tuple[int, str], list[Life]] = defaultdict(list)
    for dataset, category, name, origin, created_at, retired_at, judged in rows:
        lives[dataset, category].append(Life(created_at, retired_at, judged and judges_rows(name, origin)))
    found: dict[int, Spans] = defaultdict(dict)
    for (dataset, category), members in lives.items():
        span = _span(members, asked)
        if any(life.retired_at is None for life in members) or (span and span.overlaps(asked)):
            found[dataset][category] = span
    return found


def _span(lives: Collection[Life], asked: Window) -> Window | None:
    start, end = min(life.created_at for life in lives), max(life.retired_at or asked.end for life in lives)
    return Window(start=start, end=end) if start < end and any(life.judged for life in lives) else None


def _incidents(wanted: ScoreFilter, asked: Window) -> list[Incident]:
    """What was open in the range, but claims that nobody confirmed."""
    rows = Incident.objects.filter(Q(resolved_at__isnull=True) | Q(resolved_at__gt=asked.start))
    rows = wanted.narrow(rows.filter(detected_at__lt=asked.end)).filter(
        Q(kind=EntryKind.DETECTED) | Q(report__state__in=CONFIRMED)
    )
    read = ("dataset_id", "category", "kind", "resolution", "tier", "team", "owner")
    return list(rows.only(*read).prefetch_related("episodes"))


def _windows(incidents: Iterable[Incident], datasets: Collection[int]) -> dict[int, list[Window]]:
    """The spoilt windows by incident, of the datasets that somebody reported on: of the others nobody asks."""
    wanted = {incident.pk for incident in incidents if incident.dataset_id in datasets}
    rows = SpoiltWindow.objects.filter(incident__in=wanted) if wanted else SpoiltWindow.objects.none()
    found: dict[int, list[Window]] = defaultdict(list)
    for incident, start, end in rows.values_list("incident", "window_start", "window_end"):
        found[incident].append(Window(start=start, end=end))
    return found


def _record(incidents: list[Incident], windows: Mapping[int, list[Window]], tested: Window | None) -> Record:
    return Record(
        incidents=tuple(_detected(row, windows) for row in incidents if row.kind == EntryKind.DETECTED),
        reports=tuple(
            ConfirmedReport(episode=episode, windows=tuple(windows.get(row.pk, ())))
            for row in incidents
            if row.kind == EntryKind.REPORTED
            for episode in _episodes(row)
        ),
        tested=tested,
    )


def _detected(incident: Incident, windows: Mapping[int, list[Window]]) -> DetectedIncident:
    how = HOW[incident.resolution] if incident.resolution else None
    return DetectedIncident(episodes=_episodes(incident), how=how, windows=tuple(windows.get(incident.pk, ())))


def _episodes(incident: Incident) -> tuple[OpenTime, ...]:
    rows = sorted(incident.episodes.all(), key=lambda row: row.opened_at)
    return tuple(OpenTime(start=row.opened_at, end=row.closed_at) for row in rows)


def _score_queries(wanted: ScoreFilter, asked: Window) -> QueryScore:
    """The queries that read anything in wanted; one fails by any of its tables."""
    rows = LookUp.objects.filter(at__gte=asked.start, at__lt=asked.end)
    rows = replace(wanted, category=None).narrow(rows, of_dataset="dataset__")
    failed: dict[object, set[int]] = defaultdict(set)
    for query, incidents in rows.filter(failed=True).values_list("query", "incidents"):
        failed[query].update(incidents)
    ids = {id_ for incidents in failed.values() for id_ in incidents}
    resolutions = dict(Incident.objects.filter(pk__in=ids).values_list("pk", "resolution"))
    hows = {id_: HOW[how] if how else None for id_, how in resolutions.items()}
    total = rows.aggregate(total=Count("query", distinct=True))["total"]
    return score_queries(total, ([hows.get(id_) for id_ in incidents] for incidents in failed.values()))
