"""What changed in the two days before an incident began: each kind in one statement, of what is stored."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from django.db.models import QuerySet

from assay.catalog.deploys import deploys_of
from assay.models import AuditEntry, Dataset, LineageEdge, Revision
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.models import Measurement
from execution_engine.planning.planner import hash_of
from incident_manager.models import Incident

BEFORE = timedelta(days=2)
PAST = timedelta(days=14)  # of windows that the volume of an upstream is compared with
MOST = 5  # of each kind, the newest
MOST_COUNTS = 500  # of upstreams' rows that are looked at
LEAST_COUNTS = 3  # windows that make a usual number of rows
PUSH = "dataset.push"  # of the audit: the metadata of one dataset was written by the API
UNUSUAL = 0.2  # a share that a volume differs by


class ChangeOf(StrEnum):
    """What changed."""

    COLUMN = "column"  # declared, or declared with another type
    CATALOG = "catalog"  # owner, location and so on
    REVISION = "revision"  # of a test
    VOLUME = "volume"  # of an upstream
    UPSTREAM = "upstream incident"
    DEPLOY = "deploy"  # of code that writes it


@dataclass(frozen=True, kw_only=True)
class EarlierChange:
    """One thing that changed: of which ``subject``, at what instant, by whom, and what it was and is."""

    kind: ChangeOf
    at: datetime
    subject: str
    author: str = ""
    url: str = ""
    fields: tuple[str, ...] = field(default=())
    was: float | None = None
    now: float | None = None
    incident: Incident | None = None


def earlier_changes(incident: Incident, *, hidden: Collection[int] = ()) -> list[EarlierChange]:
    """The changes in the two days before, the newest first; none of upstreams that are ``hidden``. Five statements."""
    dataset, end = incident.dataset, incident.detected_at
    start = end - BEFORE
    edges = LineageEdge.objects.filter(downstream=dataset).exclude(upstream__in=hidden)
    upstreams = edges.values("upstream")
    changes = [
        *_columns(dataset, start, end),
        *_catalog_entries(dataset, start, end),
        *_revisions(dataset, start, end),
        *(
            EarlierChange(kind=ChangeOf.DEPLOY, at=row.at, subject=row.version, author=row.author, url=row.url)
            for row in deploys_of(dataset, start, end)[:MOST]
        ),
        *_volumes(Measurement.objects.filter(dataset__in=upstreams), start, end),
        *(
            EarlierChange(kind=ChangeOf.UPSTREAM, at=row.detected_at, subject=row.dataset.full_name, incident=row)
            for row in Incident.objects.filter(dataset__in=upstreams, detected_at__range=(start, end))
            .select_related("dataset")
            .order_by("-detected_at")[:MOST]
        ),
    ]
    return sorted(changes, key=lambda change: change.at, reverse=True)


def _columns(dataset: Dataset, start: datetime, end: datetime) -> list[EarlierChange]:
    """The columns that were declared then, or with another type; those of a new dataset are no change."""
    since = {name: datetime.fromisoformat(text) for name, text in dataset.declared.items()}
    if not since or min(since.values()) >= start:
        return []
    changed = sorted(((at, name) for name, at in since.items() if start <= at <= end), reverse=True)
    return [EarlierChange(kind=ChangeOf.COLUMN, at=at, subject=name) for at, name in changed[:MOST]]


def _catalog_entries(dataset: Dataset, start: datetime, end: datetime) -> Iterator[EarlierChange]:
    rows = AuditEntry.objects.filter(object_kind="dataset", object_id=dataset.full_name, at__range=(start, end))
    rows = rows.filter(action=PUSH)
    for row in rows.order_by("-at")[:MOST]:
        fields = tuple(sorted({*(row.before or {}), *(row.after or {})}))
        if fields:
            yield EarlierChange(
                kind=ChangeOf.CATALOG, at=row.at, subject=dataset.full_name, author=row.actor, fields=fields
            )


def _revisions(dataset: Dataset, start: datetime, end: datetime) -> Iterator[EarlierChange]:
    rows = Revision.objects.filter(data_test__dataset=dataset, number__gt=1, created_at__range=(start, end))
    for row in rows.select_related("data_test").order_by("-created_at")[:MOST]:
        yield EarlierChange(kind=ChangeOf.REVISION, at=row.created_at, subject=row.data_test.name, author=row.author)


def _volumes(counts: QuerySet[Measurement], start: datetime, end: datetime) -> list[EarlierChange]:
    """The windows of upstreams that ended then with another number of rows than is usual of those before."""
    rows = counts.filter(spec_hash=hash_of(ALL_ROWS), window_end__range=(end - PAST, end), value__isnull=False)
    by_upstream = defaultdict[str, dict[datetime, float]](dict)
    values_list = rows.order_by("-window_end", "-measured_at").values_list("dataset__full_name", "window_end", "value")
    for name, at, value in values_list[:MOST_COUNTS]:
        assert value is not None
        by_upstream[name].setdefault(at, value)  # the newest measurement of each window
    changes = []
    for name, values in by_upstream.items():
        usual = [value for at, value in values.items() if at < start]
        if len(usual) < LEAST_COUNTS or not (middle := median(usual)):
            continue
        changes += [
            EarlierChange(kind=ChangeOf.VOLUME, at=at, subject=name, was=middle, now=value)
            for at, value in values.items()
            if at >= start and abs(value / middle - 1) > UNUSUAL
        ]
    return sorted(changes, key=lambda change: change.at, reverse=True)[:MOST]
