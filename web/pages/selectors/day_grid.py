"""The days of a dataset by category: how each of its last partitions stands, and which were bad before."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext

from alerting.models import Flip
from alerting.state import BROKEN, State
from assay.models import Category, Dataset, Scope
from assay.time.windows import Granularity, Partitioning, Window
from incident_manager.quality.facts import Facts
from incident_manager.quality.now import of_category
from incident_manager.quality.rules import AskedRange, ReasonKind, judge
from incident_manager.quality.rules import Status as Quality
from incident_manager.quality.selectors import known_of
from web.shown.reasons import told
from web.shown.status import WORDS, ShownStatus, look_of

COLUMNS = 28


@dataclass(frozen=True, kw_only=True)
class Day:
    """One field: how a partition stands (a day, where partitions are hours), and why."""

    label: str
    status: ShownStatus
    why: str = ""
    was_bad: bool = False  # a test had broken on it, and holds again

    @property
    def said(self) -> str:
        """What a mark's own text says."""
        why = self.why or str(WORDS[self.status]).lower()
        return f"{why}; {gettext('it was bad before')}" if self.was_bad else why


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
    healed = _healed(dataset, columns)
    rows = []
    for category in Category.values:
        days, whole = of_category(partitions, category), of_category(tables, category)
        if days.tests or days.spoilt or days.claims or whole.tests or whole.spoilt:
            fields = tuple(
                _day(label, column, days, healed[category]) for label, column in zip(labels, columns, strict=True)
            )
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


def _healed(dataset: Dataset, columns: Sequence[Window]) -> defaultdict[str, list[Window]]:
    """By category the windows on which a test of partitions had broken, and has held since."""
    found: defaultdict[str, list[Window]] = defaultdict(list)
    if columns:
        mended = Flip.objects.filter(
            data_test__dataset=dataset,
            data_test__scope=Scope.PARTITION,
            window_start__lt=columns[-1].end,
            window_end__gt=columns[0].start,
            old__in=BROKEN,
            new=State.PASS,
        )
        for category, start, end in mended.values_list("data_test__category", "window_start", "window_end"):
            found[category].append(Window(start=start, end=end))
    return found


def _day(label: str, column: Window, facts: Facts, healed: Sequence[Window]) -> Day:
    answer = judge(facts, AskedRange(window=column))
    if not facts.tests and all(reason.kind is ReasonKind.NO_TEST for reason in answer.reasons):
        return Day(label=label, status=ShownStatus.NONE)
    why = told(answer.reasons[0].text) if answer.reasons else ""
    was_bad = answer.status is not Quality.BAD and any(window.overlaps(column) for window in healed)
    return Day(label=label, status=look_of(answer), why=why, was_bad=was_bad)


def column_of(partitioning: Partitioning | None, label: str) -> Window | None:
    """The window of the column with this label; None without partitions; raises UnableToPartition."""
    return None if partitioning is None else _shown_partitioning(partitioning).window(label)


def _shown_partitioning(partitioning: Partitioning) -> Partitioning:
    """Days, where partitions are hours."""
    days = Partitioning(granularity=Granularity.DAY, time_zone=partitioning.time_zone)
    return days if partitioning.granularity is Granularity.HOUR else partitioning


def _columns(partitioning: Partitioning | None, now: datetime) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    if partitioning is None:
        return (), ()
    shown = _shown_partitioning(partitioning)
    last = shown.at(now)
    columns = (*shown.previous(last, COLUMNS - 1), last)
    return columns, tuple(shown.key(column) for column in columns)
