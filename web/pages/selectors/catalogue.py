"""The catalogue page: every dataset by category, the worst first."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from assay.models import Category, Dataset, Pull
from incident_manager.models import Incident
from incident_manager.quality.now import facts_now, of_category
from incident_manager.quality.rules import RANK, AskedRange, Facts, judge
from incident_manager.quality.rules import Status as Quality
from incident_manager.scores.metric_reporter import data_qualities
from test_generator.models import Gap
from web.shown.headline import told
from web.shown.status import Cell, ShownStatus, look_of

PAGE_SIZE = 50
FILTERS = tuple(ShownStatus(status.value) for status in Quality)


@dataclass(frozen=True, kw_only=True)
class CatalogueFilter:
    """What the reader filters by; empty: everything."""

    text: str = ""
    team: str = ""  # exactly this one
    tier: int | None = None
    status: ShownStatus | None = None


@dataclass(frozen=True, kw_only=True)
class CatalogueRow:
    """One dataset of the catalogue."""

    dataset: Dataset
    status: ShownStatus
    cells: tuple[Cell, ...]  # in the order of Category
    quality: float | None  # data-level, of the last 28 days; None: nothing has tested it
    open_incidents: int


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """One page of rows, and where it stands among all."""

    page: Page[int]  # of the ids of datasets
    rows: tuple[CatalogueRow, ...]


def catalogue(wanted: CatalogueFilter, statuses: Mapping[int, Quality], *, page: int, now: datetime) -> Catalogue:
    """The rows of one page, the worst status first and by name where it is the same; ``statuses``: by dataset.

    In as many statements however many datasets there are.
    """
    names = {id_: name for id_, name in _filtered(wanted).values_list("pk", "full_name") if id_ in statuses}
    found = [id_ for id_ in names if wanted.status is None or statuses[id_].value == wanted.status.value]
    found.sort(key=lambda id_: (RANK[statuses[id_]], names[id_].lower()))
    shown = Paginator(found, PAGE_SIZE).get_page(page)
    ids = list(shown.object_list)
    datasets = Dataset.objects.only("full_name", "tier", "owner").in_bulk(ids)
    cells = matrix(facts_now({id_: names[id_] for id_ in ids}, now=now))
    opened = Incident.objects.filter(dataset__in=ids, resolved_at=None).order_by()
    counts = dict(opened.values_list("dataset").annotate(Count("pk")))
    qualities = data_qualities(ids, now=now)
    rows = tuple(
        CatalogueRow(
            dataset=datasets[id_],
            status=ShownStatus(statuses[id_].value),
            cells=tuple(cells.get((id_, category), Cell()) for category in Category.values),
            quality=qualities[id_],
            open_incidents=counts.get(id_, 0),
        )
        for id_ in ids
    )
    return Catalogue(page=shown, rows=rows)


def failing_pull() -> Pull | None:
    """The scheduled read of the catalog, while it is refused."""
    return Pull.objects.filter(failing_since__isnull=False).first()


def summary(statuses: Mapping[int, Quality]) -> dict[str, int]:
    """How many datasets there are, how many of each status, and how many incidents are open."""
    found = Counter(statuses.values())
    incidents = Incident.objects.filter(resolved_at=None).count()
    return {status.value: found[status] for status in Quality} | {"datasets": len(statuses), "incidents": incidents}


def _filtered(wanted: CatalogueFilter) -> QuerySet[Dataset]:
    """The datasets that are wanted, of any status."""
    found = matching(wanted.text)
    if wanted.team:
        found = found.filter(team=wanted.team)
    return found if wanted.tier is None else found.filter(tier=wanted.tier)


def matching(text: str) -> QuerySet[Dataset]:
    """The datasets of which each word of a text is in the name, the owner or the team."""
    found = Dataset.objects.all()
    for word in text.split():
        found = found.filter(Q(full_name__icontains=word) | Q(owner__icontains=word) | Q(team__icontains=word))
    return found


Matrix = dict[tuple[int, str], Cell]


def matrix(known: Mapping[int, Facts]) -> Matrix:
    """The cell of each (dataset, category) that has a live test, a report or a known gap, in one statement more."""
    gaps = Gap.objects.filter(dataset__in=list(known), closed_at=None, template="")
    reasons = gaps.values_list("dataset_id", "category", "reason")
    cells: Matrix = {(dataset, category): Cell(reason=reason) for dataset, category, reason in reasons}
    for dataset, facts in known.items():
        for category in Category.values:
            own = of_category(facts, category)
            if own.tests or own.spoilt or own.claims:
                answer = judge(own, AskedRange())
                weighing = [reason for reason in answer.reasons if reason.status is answer.status]
                windows = max((reason.count for reason in weighing), default=0)
                why = told(weighing[0].text) if weighing else ""
                cells[dataset, category] = Cell(status=look_of(answer), windows=windows, reason=why)
    return cells
