"""The catalogue page: every dataset by category, those with open incidents first."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Q, QuerySet, When

from assay.models import Category, Dataset, Pull
from incident_manager.metric_reporter import data_qualities
from incident_manager.models import Incident
from incident_manager.quality.now import answers_now, facts_now
from incident_manager.quality.rules import Asked, judge
from incident_manager.quality.rules import Status as Quality
from web.pages.selectors.matrix import matrix
from web.pages.status import Cell, Status

PAGE_SIZE = 50
FILTERS = tuple(Status(status.value) for status in Quality)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the reader filters by; empty: everything."""

    text: str = ""
    tier: int | None = None
    status: Status | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One dataset of the catalogue."""

    dataset: Dataset
    status: Status
    cells: tuple[Cell, ...]  # in the order of Category
    quality: float | None  # data-level, of the last 28 days; None: nothing has tested it
    open_incidents: int


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """One page of rows, and where it stands among all."""

    page: Page[Dataset]
    rows: tuple[Row, ...]


def catalogue(wanted: Wanted, *, page: int, now: datetime) -> Catalogue:
    """The rows of one page, in as many statements however many datasets there are."""
    counts = _open_counts()
    shown = Paginator(_filtered(wanted, counts, now), PAGE_SIZE).get_page(page)
    datasets = list(shown.object_list)
    ids = [dataset.pk for dataset in datasets]
    known = facts_now({dataset.pk: dataset.full_name for dataset in datasets}, now=now)
    cells, qualities = matrix(known), data_qualities(ids, now=now)
    rows = tuple(
        Row(
            dataset=dataset,
            status=Status(judge(known[dataset.pk], Asked()).status.value),
            cells=tuple(cells.get((dataset.pk, category), Cell()) for category in Category.values),
            quality=qualities[dataset.pk],
            open_incidents=counts.get(dataset.pk, 0),
        )
        for dataset in datasets
    )
    return Catalogue(page=shown, rows=rows)


def open_incidents(limit: int = 6) -> list[Incident]:
    """The newest open incidents of the most critical tiers."""
    found = Incident.objects.filter(resolved_at=None).select_related("dataset", "alert__cause__dataset")
    return list(found.order_by("tier", "-detected_at")[:limit])


def failing_pull() -> Pull | None:
    """The scheduled read of the catalog, while it is refused."""
    return Pull.objects.filter(failing_since__isnull=False).first()


def summary(*, now: datetime) -> dict[str, int]:
    """How many datasets there are, how many of each status, and how many incidents are open."""
    names = dict(Dataset.objects.values_list("pk", "full_name"))
    found = Counter(answer.status.value for answer in answers_now(names, now=now).values())
    incidents = Incident.objects.filter(resolved_at=None).count()
    return {status.value: found[status.value] for status in Quality} | {"datasets": len(names), "incidents": incidents}


def _filtered(wanted: Wanted, broken: Collection[int], now: datetime) -> QuerySet[Dataset]:
    """The datasets that are wanted, the broken ones first; of each what the page shows."""
    first = Case(When(pk__in=broken, then=0), default=1)
    found = Dataset.objects.order_by(first, "tier", "full_name").only("full_name", "tier", "owner")
    for word in wanted.text.split():
        found = found.filter(Q(full_name__icontains=word) | Q(owner__icontains=word) | Q(team__icontains=word))
    if wanted.tier is not None:
        found = found.filter(tier=wanted.tier)
    if wanted.status is None:
        return found
    answers = answers_now(dict(found.values_list("pk", "full_name")), now=now)
    return found.filter(pk__in=[id_ for id_, answer in answers.items() if answer.status.value == wanted.status.value])


def _open_counts() -> dict[int, int]:
    """How many incidents are open, by the datasets that have any."""
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("dataset").annotate(Count("pk"))
    return dict(rows)
