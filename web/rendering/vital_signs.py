"""Vital signs of all tables, the most important first, as the page and the API show them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from assay.models import Dataset
from execution_engine.models import Heartbeat, TableCommit
from execution_engine.services import obsolete_reason, out_of_bounds
from incident_manager.vital_signs import Importance, importance_of, sentences_of

SHOWN = timedelta(days=28)
UNREAD = ("columns", "declared", "place_limits")  # of a dataset: there may be thousands of columns


class SignState(StrEnum):
    """What the commits of a table come to now."""

    LATE = "late"
    UNUSUAL = "unusual"
    USUAL = "usual"
    LEARNING = "learning"
    OBSOLETE = "obsolete"
    UNREADABLE = "unreadable"


class Missing(StrEnum):
    """What nobody has declared of a table."""

    OWNER = "owner"
    KEY = "primary key"
    PARTITION = "partition"
    TESTS = "tests"


class TableSort(StrEnum):
    """What tables are sorted by; with a minus before it from the end."""

    IMPORTANCE = "importance"
    NAME = "name"


@dataclass(frozen=True, kw_only=True)
class TableSigns:
    """One table: its heartbeat, what is unusual of it, why a sign is not judged, and what to declare next.

    ``loads``: what each of the last 28 days brought, in rows or bytes, None where there was no commit.
    """

    dataset: Dataset
    heartbeat: Heartbeat | None
    importance: Importance
    state: SignState
    sentences: Sequence[str]
    notes: Sequence[str]
    missing: Sequence[Missing]
    loads: Sequence[float | None]


def ordered_tables(
    rows: QuerySet[Dataset], *, hidden: Collection[int], unusual: bool, sort: str | None, now: datetime
) -> tuple[list[int], dict[int, Importance]]:
    """The ids of the tables that match, in their order, and how important each is."""
    rows = rows.filter(missing_since=None, business_metric__isnull=True).exclude(pk__in=hidden)
    if unusual:
        rows = rows.filter(pk__in=Heartbeat.objects.filter(out_of_bounds(now)).values("dataset"))
    keys = list(rows.order_by("full_name").values_list("pk", flat=True))
    importance, sort = importance_of(None, now), sort or TableSort.IMPORTANCE
    if sort.removeprefix("-") == TableSort.IMPORTANCE:
        keys.sort(key=lambda pk: importance[pk], reverse=sort == TableSort.IMPORTANCE)
    elif sort.startswith("-"):
        keys.reverse()
    return keys, importance


def signs_of(keys: Sequence[int], importance: dict[int, Importance], now: datetime) -> list[TableSigns]:
    """What is known of these tables, in five statements."""
    live = Count("data_tests", filter=Q(data_tests__retired_at=None))
    datasets = Dataset.objects.defer(*UNREAD).annotate(live_tests=live).in_bulk(keys)
    heartbeats = {row.dataset_id: row for row in Heartbeat.objects.filter(dataset__in=keys)}
    loads = _loads_of(keys, heartbeats, now)
    return [
        _signs(datasets[pk], heartbeats.get(pk), importance[pk], loads.get(pk, []), now)
        for pk in keys
        if pk in datasets
    ]


def _signs(
    dataset: Dataset, row: Heartbeat | None, importance: Importance, loads: Sequence[float | None], now: datetime
) -> TableSigns:
    declared = {
        Missing.OWNER: dataset.owner,
        Missing.KEY: dataset.primary_key,
        Missing.PARTITION: dataset.partition_column,
        Missing.TESTS: dataset.live_tests,  # type: ignore[attr-defined]
    }
    notes = [row.fault or "", row.arrival_note, row.volume_note] if row else []
    if is_obsolete := row is not None and row.obsolete_since is not None:
        notes = [obsolete_reason(row)]
    return TableSigns(
        dataset=dataset,
        heartbeat=row,
        importance=importance,
        state=_state(row, now),
        sentences=sentences_of(row, now) if row else [],
        notes=[note for note in notes if note],
        missing=[name for name, value in declared.items() if not value and not is_obsolete],
        loads=loads,
    )


def _state(row: Heartbeat | None, now: datetime) -> SignState:
    if row is not None and row.obsolete_since:
        return SignState.OBSOLETE
    if row is not None and row.late_at and row.late_at < now:
        return SignState.LATE
    if row is not None and row.is_unusual:
        return SignState.UNUSUAL
    if row is not None and row.fault:
        return SignState.UNREADABLE
    return SignState.USUAL if row is not None and row.late_at else SignState.LEARNING


def _loads_of(keys: Sequence[int], heartbeats: dict[int, Heartbeat], now: datetime) -> dict[int, list[float | None]]:
    """By dataset what each day up to now brought."""
    since = now - SHOWN
    rows = TableCommit.objects.filter(dataset__in=keys, at__gt=since).annotate(day=TruncDate("at"))
    sums = rows.values("dataset", "day").annotate(rows=Sum("rows_added"), size=Sum("bytes_added"))
    by_day: defaultdict[int, dict[object, float]] = defaultdict(dict)
    for row in sums.order_by():
        unit = heartbeats[row["dataset"]].volume.get("unit") if row["dataset"] in heartbeats else None
        by_day[row["dataset"]][row["day"]] = float((row["size"] if unit == "bytes" else row["rows"]) or 0)
    days = [(since + timedelta(days=number)).date() for number in range(1, SHOWN.days + 1)]
    return {pk: [loads.get(day) for day in days] for pk, loads in by_day.items()}
