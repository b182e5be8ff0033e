"""The days of a dataset by category, the results on one day, and those of one test over its windows."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext

from alerting.models import Flip
from alerting.selectors import times_to_complete
from alerting.state import BROKEN, State
from assay.models import Category, Dataset, DataTest, Revision, Scope
from assay.time.windows import Granularity, Partitioning, UnableToPartition, Window, keys_of
from execution_engine.exact import from_json as from_stored
from execution_engine.language.past import EXPECTED
from execution_engine.language.serialise import from_json
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.quality.now import of_category
from incident_manager.quality.rules import AskedRange, Facts, ReasonKind, judge
from incident_manager.quality.rules import Status as Quality
from incident_manager.quality.selectors import known_of
from web.pages.plot_bounds import PlotBounds, bounds
from web.shown.groups import ShownGroups, groups_of
from web.shown.headline import told
from web.shown.status import WORDS, ShownStatus, look_of, plain

# The days of a dataset by category: how each of its last partitions stands, and which were bad before.

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


# The results on one day of a dataset: every run of its tests over it, the newest first.

MOST_RUNS = 100
LOOKS = {"held": ShownStatus.PASS, "broken": ShownStatus.FAIL, "error": ShownStatus.UNKNOWN, "": ShownStatus.PENDING}


@dataclass(frozen=True, kw_only=True)
class ShownRun:
    """One run, as it may be shown now."""

    run: Run
    status: ShownStatus
    word: str
    value: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class DayResults:
    """The runs over one day, of one category or of all."""

    label: str
    category: str
    runs: Sequence[ShownRun]
    has_more: bool


def day_results(dataset: Dataset, label: str, category: str, veil: Veil, *, now: datetime) -> DayResults | None:
    """Of the partition (the day, where partitions are hours) with this key; None where there can be none."""
    try:
        column = column_of(dataset.partitioning, label)
    except UnableToPartition:
        return None
    if column is None:
        return None
    runs = Run.objects.filter(
        data_test__dataset=dataset,
        data_test__scope="partition",
        window_start__lt=column.end,
        window_end__gt=column.start,
        requested_at__lte=now,
    ).exclude(reason=RunReason.BACKTEST)
    if category:
        runs = runs.filter(data_test__category=category)
    joined = runs.select_related("revision", "data_test__dataset").order_by("-requested_at", "-pk")
    found = list(joined[: MOST_RUNS + 1])
    return DayResults(
        label=label,
        category=category,
        runs=[_shown(run, veil) for run in found[:MOST_RUNS]],
        has_more=len(found) > MOST_RUNS,
    )


def _shown(run: Run, veil: Veil) -> ShownRun:
    is_hidden = veil.hides_run(run)
    return ShownRun(
        run=run,
        status=LOOKS[run.outcome],
        word=capfirst(plain(run.outcome)) if run.outcome else gettext("Under way"),
        value=None if is_hidden else run.value,
        sentence=HIDDEN if is_hidden else run.sentence,
    )


# The results of one data test over its windows, ready to be drawn.

LONGEST = 1000


def history(data_test: DataTest, veil: Veil) -> dict[str, Any]:
    """Parallel columns by window, oldest first: key, start (seconds), value, outcome and the bounds of its revision.

    ``was`` is the value that was first seen broken, whatever the newest result is: what is mended stays in sight.
    Of freshness the value is how long the window took to be complete. What must not be told now has no value.
    """
    # what held or broke, by window and then as it was measured, oldest first
    judged = data_test.runs.filter(outcome__in=(Outcome.HELD, Outcome.BROKEN)).exclude(reason=RunReason.BACKTEST)
    joined = judged.select_related("revision", "data_test__dataset")
    seen, took = list(reversed(joined.order_by("-window_start", "-measured_at", "-pk")[:LONGEST])), _took(data_test)
    for run in seen:
        if veil.hides_run(run):
            run.value = None
    runs = list({run.window_start: run for run in seen}.values())
    first_broken = {run.window_start: run for run in reversed(seen) if run.outcome == Outcome.BROKEN}
    limits = {
        revision.pk: bounds(from_json(revision.tree))
        for revision in Revision.objects.filter(pk__in={run.revision_id for run in runs})
    }
    of_run = [expected(run, limits.get(run.revision_id, PlotBounds())) for run in runs]
    return {
        "test": data_test.name,
        "duration": any(bound.is_duration for bound in of_run),
        "key": [keys_of(run.window, data_test.dataset.partitioning) for run in runs],
        "start": [int(run.window_start.timestamp()) for run in runs],
        "value": [took.get(run.window_start, shown(run)) if run.value == 0 else shown(run) for run in runs],
        "was": [shown(first_broken.get(run.window_start)) for run in runs],
        "outcome": [run.outcome for run in runs],
        "low": [bound.low for bound in of_run],
        "high": [bound.high for bound in of_run],
    }


def newest_groups(data_test: DataTest, veil: Veil) -> ShownGroups | None:
    """The groups of its newest window, where it is by columns and what it found may be told."""
    judged = data_test.runs.filter(outcome__in=(Outcome.HELD, Outcome.BROKEN)).exclude(reason=RunReason.BACKTEST)
    run = judged.select_related("revision", "data_test__dataset").order_by("-window_start", "-measured_at").first()
    return None if run is None or veil.hides_run(run) else groups_of(veil.findings(run))


def _took(data_test: DataTest) -> dict[datetime, float]:
    """The seconds that windows took, where the test asks for them and they are known."""
    if data_test.category != Category.FRESHNESS:
        return {}
    found = times_to_complete(data_test.dataset, data_test.datacenter, LONGEST)
    return {took.window.start: took.seconds for took in found if took.is_known}


def expected(run: Run, limits: PlotBounds) -> PlotBounds:
    """The bounds of a run: of an anomaly the interval that was expected then, as wide as the test lets it be."""
    found = _finding(run)
    if limits.widths is None or found is None:
        return limits
    low, high = found["low"], found["high"]
    if low is None or high is None:
        return PlotBounds(low=low, high=high)
    middle, reach = low / 2 + high / 2, (high / 2 - low / 2) * limits.widths
    return PlotBounds(low=middle - reach, high=middle + reach)


def shown(run: Run | None) -> float | None:
    """The run's value; of an anomaly that of its metric, which its bounds are of."""
    if run is None or run.value is None or not isfinite(run.value):
        return None
    found = _finding(run)
    value = None if found is None else from_stored(found["value"])
    return run.value if value is None else float(value)


def _finding(run: Run) -> dict[str, Any] | None:
    """What the one anomaly that a run asked for found."""
    found = run.findings.get(EXPECTED, [])
    return found[0] if len(found) == 1 else None
