"""The days of a dataset by category: how each of its last partitions stands."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from alerting.models import Standing
from assay.models import Category, Dataset, Scope
from assay.windows import Granularity, Partitioning, Window
from web.pages.status import Status, status_of, worst

COLUMNS = 28


@dataclass(frozen=True, kw_only=True)
class Day:
    """One field: the status that counts most of the windows that start in it, and how many have it."""

    label: str
    status: Status
    windows: int = 0
    of: int = 0


@dataclass(frozen=True, kw_only=True)
class GridRow:
    """A category's days, and its tests of the whole table."""

    category: str
    days: tuple[Day, ...]
    whole_table: Status


@dataclass(frozen=True, kw_only=True)
class DayGrid:
    """The labels of the columns, oldest first, and a row for each category that is tested."""

    labels: tuple[str, ...]
    rows: tuple[GridRow, ...]
    has_whole_table: bool


def day_grid(dataset: Dataset, *, now: datetime) -> DayGrid:
    """The last 28 partitions of a dataset (days, where partitions are hours), in one statement."""
    columns, labels = _columns(dataset.partitioning, now)
    found = _standings(dataset, columns)
    rows = []
    for category in Category.values:
        own = [(window, status, scope) for kind, window, status, scope in found if kind == category]
        if not own:
            continue
        partitions = [(window, status) for window, status, scope in own if scope == Scope.PARTITION]
        days = tuple(_day(label, column, partitions) for label, column in zip(labels, columns, strict=True))
        whole = worst(status for _, status, scope in own if scope == Scope.TABLE)
        rows.append(GridRow(category=category, days=days, whole_table=whole))
    return DayGrid(
        labels=labels, rows=tuple(rows), has_whole_table=any(row.whole_table is not Status.NONE for row in rows)
    )


def _columns(partitioning: Partitioning | None, now: datetime) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    if partitioning is None:
        return (), ()
    days = Partitioning(granularity=Granularity.DAY, time_zone=partitioning.time_zone)
    shown = days if partitioning.granularity is Granularity.HOUR else partitioning
    last = shown.at(now)
    columns = (*shown.previous(last, COLUMNS - 1), last)
    return columns, tuple(shown.key(column) for column in columns)


def _standings(dataset: Dataset, columns: tuple[Window, ...]) -> list[tuple[str, Window, Status, str]]:
    wanted = Q(data_test__scope=Scope.TABLE)
    if columns:
        wanted |= Q(window_start__gte=columns[0].start)
    live = Standing.objects.filter(wanted, data_test__dataset=dataset, data_test__retired_at=None)
    rows = live.values_list(
        "data_test__category", "window_start", "window_end", "state", "waiver_id", "data_test__scope"
    )
    return [
        (category, Window(start=start, end=end), status_of(state, waiver is not None), scope)
        for category, start, end, state, waiver, scope in rows
    ]


def _day(label: str, column: Window, standings: list[tuple[Window, Status]]) -> Day:
    inside = [status for window, status in standings if column.contains(window.start)]
    status = worst(inside)
    return Day(label=label, status=status, windows=inside.count(status), of=len(inside))
