"""The status of datasets by category."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Count, Q

from alerting.models import Standing
from assay.models import DataTest
from test_generator.models import Gap
from web.pages.status import TROUBLE, Cell, Status, status_of, worst

RECENT = timedelta(days=35)

Matrix = dict[tuple[int, str], Cell]


def matrix(datasets: Collection[int], *, now: datetime) -> Matrix:
    """The cell of each (dataset, category) that has a live test or a known gap, in three statements.

    A trouble counts however old its window is; otherwise the windows of the last 35 days do.
    """
    gaps = Gap.objects.filter(dataset__in=datasets, closed_at=None).values_list("dataset_id", "category", "reason")
    cells: Matrix = {(dataset, category): Cell(reason=reason) for dataset, category, reason in gaps}
    live = DataTest.objects.filter(dataset__in=datasets, retired_at=None)
    for place in live.values_list("dataset_id", "category").distinct():
        cells[place] = Cell(status=Status.PENDING)
    for place, counts in _counts(datasets, now).items():
        status = worst(counts)
        cells[place] = Cell(status=status, windows=counts[status])
    return cells


def overall(cells: Matrix) -> dict[int, Status]:
    """The status that counts most of each dataset."""
    found: dict[int, list[Status]] = {}
    for (dataset, _), cell in cells.items():
        found.setdefault(dataset, []).append(cell.status)
    return {dataset: worst(statuses) for dataset, statuses in found.items()}


def _counts(datasets: Collection[int], now: datetime) -> dict[tuple[int, str], dict[Status, int]]:
    standings = Standing.objects.filter(
        Q(window_end__gte=now - RECENT) | Q(state__in=TROUBLE),
        data_test__dataset__in=datasets,
        data_test__retired_at=None,
    )
    rows = standings.values_list("data_test__dataset_id", "data_test__category", "state").annotate(
        windows=Count("pk"), waived=Count("waiver")
    )
    found: dict[tuple[int, str], dict[Status, int]] = {}
    for dataset, category, state, windows, waived in rows:
        counts = found.setdefault((dataset, category), {})
        for is_waived, number in ((True, waived), (False, windows - waived)):
            status = status_of(state, is_waived)
            if number:
                counts[status] = counts.get(status, 0) + number
    return found
