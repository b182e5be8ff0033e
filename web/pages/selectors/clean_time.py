"""For how much of the last four weeks datasets were free of incidents, whatever the category.

This is wall time over all categories at once; the scores weigh each category's time by itself.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import F, Q

from assay.windows import Window
from incident_manager.intervals import clip, total
from incident_manager.models import Episode, Kind, Report, ReportState, Resolution

SPAN = timedelta(days=28)
REAL = ("", Resolution.AUTO, Resolution.ACCEPTED)


def clean_shares(datasets: Collection[int], *, now: datetime) -> dict[int, float]:
    """The share of the last 28 days in which no real incident was open, by dataset, in two statements."""
    asked = Window(start=now - SPAN, end=now)
    bad: dict[int, list[Window]] = {dataset: [] for dataset in datasets}
    for dataset, start, end in (*_episodes(datasets, asked), *_reports(datasets, asked)):
        if start < (end or asked.end):
            bad[dataset].append(Window(start=start, end=end or asked.end))
    return {dataset: 1 - total(clip(windows, asked)) / SPAN for dataset, windows in bad.items()}


def _episodes(datasets: Collection[int], asked: Window) -> list[tuple[int, datetime, datetime | None]]:
    real = Episode.objects.filter(
        Q(closed_at=None) | Q(closed_at__gt=asked.start),
        # which no episode can have outlived: incidents of years are left out by their index
        Q(incident__resolved_at=None) | Q(incident__resolved_at__gt=asked.start),
        incident__dataset__in=datasets,
        incident__kind=Kind.DETECTED,
        incident__resolution__in=REAL,
        opened_at__lt=asked.end,
    )
    return list(real.values_list("incident__dataset_id", "opened_at", "closed_at"))


def _reports(datasets: Collection[int], asked: Window) -> list[tuple[int, datetime, datetime | None]]:
    confirmed = Report.objects.filter(
        Q(closed_at=None) | Q(closed_at__gt=asked.start),
        dataset__in=datasets,
        state__in=(ReportState.CONFIRMED, ReportState.FIXED),
        created_at__lt=asked.end,
    )
    return list(confirmed.annotate(start=F("created_at")).values_list("dataset_id", "start", "closed_at"))
