"""The days of a dataset by category: how each of its last partitions stands."""

from dataclasses import dataclass, replace
from datetime import datetime

from assay.models import Category, Dataset
from assay.time.windows import Granularity, Partitioning, Window
from incident_manager.quality.facts import Facts
from incident_manager.quality.now import of_category
from incident_manager.quality.rules import AskedRange, ReasonKind, judge
from incident_manager.quality.selectors import known_of
from web.shown.status import ShownStatus, look_of

COLUMNS = 28


@dataclass(frozen=True, kw_only=True)
class Day:
    """One field: how a partition stands (a day, where partitions are hours), and why."""

    label: str
    status: ShownStatus
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class GridRow:
    """A category's days, and its tests of the whole table."""

    category: str
    days: tuple[Day, ...]
    whole_table: ShownStatus


@dataclass(frozen=True, kw_only=True)
class DayGrid:
    """The labels of the columns, oldest first, and a row for each category that is tested or reported."""

    labels: tuple[str, ...]
    rows: tuple[GridRow, ...]
    has_whole_table: bool


def day_grid(dataset: Dataset, known: Facts, *, now: datetime) -> DayGrid:
    """The last 28 partitions of a dataset (days, where partitions are hours), whose facts of now are ``known``."""
    columns, labels = _columns(dataset.partitioning, now)
    partitions = Facts(dataset=dataset.full_name)
    if columns:
        window = Window(start=columns[0].start, end=columns[-1].end)
        partitions = _of_scope(known_of(dataset, window, now=now), whole_table=False)
    tables = _of_scope(known, whole_table=True)
    rows = []
    for category in Category.values:
        days, whole = of_category(partitions, category), of_category(tables, category)
        if days.tests or days.spoilt or days.claims or whole.tests or whole.spoilt:
            fields = tuple(_day(label, column, days) for label, column in zip(labels, columns, strict=True))
            status = look_of(judge(whole, AskedRange())) if whole.tests or whole.spoilt else ShownStatus.NONE
            rows.append(GridRow(category=category, days=fields, whole_table=status))
    return DayGrid(
        labels=labels, rows=tuple(rows), has_whole_table=any(row.whole_table is not ShownStatus.NONE for row in rows)
    )


def _of_scope(facts: Facts, *, whole_table: bool) -> Facts:
    return replace(
        facts,
        tests=[test for test in facts.tests if test.whole_table is whole_table],
        checks=[check for check in facts.checks if check.test.whole_table is whole_table],
        spoilt=[spoilt for spoilt in facts.spoilt if spoilt.whole_table is whole_table],
        claims=[] if whole_table else facts.claims,
    )


def _day(label: str, column: Window, facts: Facts) -> Day:
    answer = judge(facts, AskedRange(window=column))
    if not facts.tests and all(reason.kind is ReasonKind.NO_TEST for reason in answer.reasons):
        return Day(label=label, status=ShownStatus.NONE)
    return Day(label=label, status=look_of(answer), why=answer.reasons[0].text if answer.reasons else "")


def _columns(partitioning: Partitioning | None, now: datetime) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    if partitioning is None:
        return (), ()
    days = Partitioning(granularity=Granularity.DAY, time_zone=partitioning.time_zone)
    shown = days if partitioning.granularity is Granularity.HOUR else partitioning
    last = shown.at(now)
    columns = (*shown.previous(last, COLUMNS - 1), last)
    return columns, tuple(shown.key(column) for column in columns)
