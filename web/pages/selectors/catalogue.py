"""The catalogue page: every dataset by category, those with open incidents first."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, When

from alerting.models import Standing
from assay.models import Category, Dataset, DataTest
from incident_manager.models import Incident
from web.pages.selectors.clean_time import clean_shares
from web.pages.selectors.matrix import matrix
from web.pages.status import TROUBLE, Cell, Status

PAGE_SIZE = 50
FILTERS = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.PASS, Status.UNTESTED)


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
    cells: tuple[Cell, ...]  # in the order of Category
    clean: float  # share of the last 28 days
    open_incidents: int


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """One page of rows, and where it stands among all."""

    page: Page[Dataset]
    rows: tuple[Row, ...]


def catalogue(wanted: Wanted, *, page: int, now: datetime) -> Catalogue:
    """The rows of one page, in eight statements however many datasets there are."""
    counts = _open_counts()
    shown = Paginator(_filtered(wanted, counts), PAGE_SIZE).get_page(page)
    datasets = list(shown.object_list)
    ids = [dataset.pk for dataset in datasets]
    cells, clean = matrix(ids, now=now), clean_shares(ids, now=now)
    rows = tuple(
        Row(
            dataset=dataset,
            cells=tuple(cells.get((dataset.pk, category), Cell()) for category in Category.values),
            clean=clean[dataset.pk],
            open_incidents=counts.get(dataset.pk, 0),
        )
        for dataset in datasets
    )
    return Catalogue(page=shown, rows=rows)


def open_incidents(limit: int = 6) -> list[Incident]:
    """The newest open incidents of the most critical tiers."""
    found = Incident.objects.filter(resolved_at=None).select_related("dataset", "alert__cause__dataset")
    return list(found.order_by("tier", "-detected_at")[:limit])


def summary() -> dict[str, int]:
    """How many datasets there are, how many are broken, warn or cannot be judged, and how many incidents are open."""
    troubled = _troubled(TROUBLE).values_list("data_test__dataset_id", "state").distinct()
    by_state: dict[str, set[int]] = {state: set() for state in TROUBLE}
    for dataset, state in troubled:
        by_state[state].add(dataset)
    counts = {state.lower(): len(datasets) for state, datasets in by_state.items()}
    total, sick = Dataset.objects.count(), set().union(*by_state.values())
    incidents = Incident.objects.filter(resolved_at=None).count()
    return {**counts, "datasets": total, "good": total - len(sick), "incidents": incidents}


def _filtered(wanted: Wanted, broken: Collection[int]) -> QuerySet[Dataset]:
    """The datasets that are wanted, the broken ones first; of each what the page shows."""
    first = Case(When(pk__in=broken, then=0), default=1)
    found = Dataset.objects.order_by(first, "tier", "full_name").only("full_name", "tier", "owner")
    for word in wanted.text.split():
        found = found.filter(Q(full_name__icontains=word) | Q(owner__icontains=word) | Q(team__icontains=word))
    if wanted.tier is not None:
        found = found.filter(tier=wanted.tier)
    return found if wanted.status is None else _with_status(found, wanted.status)


def _with_status(found: QuerySet[Dataset], status: Status) -> QuerySet[Dataset]:
    if status is Status.UNTESTED:
        return found.exclude(Exists(DataTest.objects.filter(dataset=OuterRef("pk"), retired_at=None)))
    if status is Status.PASS:
        return found.exclude(Exists(_troubled(TROUBLE).filter(data_test__dataset=OuterRef("pk"))))
    return found.filter(Exists(_troubled([status.upper()]).filter(data_test__dataset=OuterRef("pk"))))


def _troubled(states: "list[str] | tuple[str, ...]") -> QuerySet[Standing]:
    return Standing.objects.filter(state__in=states, waiver=None, data_test__retired_at=None)


def _open_counts() -> dict[int, int]:
    """How many incidents are open, by the datasets that have any."""
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("dataset").annotate(Count("pk"))
    return dict(rows)
