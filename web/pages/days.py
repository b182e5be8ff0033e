"""How the tests of a dataset stand, its days by category, the results on one day, and those of one test."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from alerting.models import Flip, Standing
from alerting.selectors import times_to_complete
from alerting.state import BROKEN, TROUBLED, State
from alerting.verdicts.evidence import sentence_of
from assay.models import Category, Dataset, DataTest, Revision, Scope
from assay.time.windows import Granularity, Partitioning, UnableToPartition, Window, keys_of, zone
from execution_engine.exact import Number as ExactNumber
from execution_engine.exact import from_json as from_stored
from execution_engine.language.evaluate import ZeroDivision, of_known
from execution_engine.language.past import EXPECTED
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import (
    Assertion,
    Between,
    By,
    Comparator,
    Comparison,
    Duration,
    Expression,
    History,
    HistoryFunction,
    Number,
    Percentage,
    columns_named,
    dimension_of,
    operands,
)
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.backtests.services import Backtest, run_of
from incident_manager.quality.now import of_category
from incident_manager.quality.rules import Facts, RangeRequest, ReasonKind, instants, judge
from incident_manager.quality.rules import QualityStatus as Quality
from incident_manager.quality.selectors import window_facts, window_facts_of_all
from web.rendering.charts import ChartUnit, Plot, WindowResult, plot_of, unit_of
from web.rendering.findings import GroupSummary, groups_of
from web.rendering.headline import reason_text
from web.rendering.measures import measure_of
from web.rendering.status import RANK, WORDS, DisplayStatus, Stretch, look_of, plain, status_of

from .page_policy import Zoom

ALL_TIME = Zoom()


@dataclass(frozen=True, kw_only=True)
class PlotBounds:
    """The least and the greatest value that hold; None where there is none, or it is not a literal."""

    low: float | None = None
    high: float | None = None
    widths: float | None = None  # of an anomaly: how many halves of the interval that is expected its value may be off


UPPER = (Comparator.LESS, Comparator.AT_MOST)
LOWER = (Comparator.GREATER, Comparator.AT_LEAST)


def bounds(tree: Assertion) -> PlotBounds:
    """The bounds of a single comparison, or of the share of groups that hold; none for several comparisons."""
    match tree:
        case By():
            return PlotBounds(low=tree.needed)
        case Between(negated=False):
            return _bounds(tree.low, tree.high)
        case Comparison():
            is_mirrored = _figure(tree.left) is not None
            literal, measured = (tree.left, tree.right) if is_mirrored else (tree.right, tree.left)
            if tree.comparator is Comparator.EQUAL:
                return _bounds(literal, literal)
            if tree.comparator in UPPER:
                plot_bounds = _bounds(literal, None) if is_mirrored else _bounds(None, literal)
                is_anomaly = isinstance(measured, History) and measured.function is HistoryFunction.ANOMALY
                return replace(plot_bounds, widths=plot_bounds.high) if is_anomaly else plot_bounds
            if tree.comparator in LOWER:
                return _bounds(None, literal) if is_mirrored else _bounds(literal, None)
    return PlotBounds()


def bounds_with(tree: Assertion, measured: Mapping[str, Any]) -> PlotBounds:
    """The bounds of a single comparison whose sides were measured too, as they were with these values of its operands.

    ``measured`` is as a run keeps it, by the text of each operand. None where a value is not there.
    """
    operand_values = {text: from_stored(value) for text, value in measured.items()}
    match tree:
        case Between(negated=False):
            return PlotBounds(
                low=_reckoned(tree.value, tree.low, operand_values),
                high=_reckoned(tree.value, tree.high, operand_values),
            )
        case Comparison() if tree.comparator in UPPER:
            return PlotBounds(high=_reckoned(tree.left, tree.right, operand_values))
        case Comparison() if tree.comparator in LOWER:
            return PlotBounds(low=_reckoned(tree.left, tree.right, operand_values))
    return PlotBounds()


def _reckoned(value: Expression, bound: Expression, operand_values: Mapping[str, ExactNumber | None]) -> float | None:
    """What a bound came to, where it is a number."""
    compared = Comparison(comparator=Comparator.AT_LEAST, left=value, right=bound)
    if any(operand.text not in operand_values for operand in operands(compared)):
        return None
    limit = of_known(compared, operand_values, zero=ZeroDivision.NULL).bound
    return None if limit is None else float(limit)


def _bounds(low: Expression | None, high: Expression | None) -> PlotBounds:
    return PlotBounds(low=_figure(low), high=_figure(high))


def _figure(expression: Expression | None) -> float | None:
    match expression:
        case Number(value=value):
            return float(value)
        case Percentage(percent=percent):
            return percent / 100
        case Duration(seconds=seconds):
            return seconds
    return None


@dataclass(frozen=True, kw_only=True)
class DataTestSummary:
    """A live test and the standing that counts: the newest trouble, else that of the newest window."""

    test: DataTest
    standing: Standing | None
    status: DisplayStatus
    sentence: str
    columns: tuple[str, ...] = ()  # of its own dataset that the assertion names
    dimension: str = ""

    @property
    def is_troubled(self) -> bool:
        """Whether what it found says more than what it wants."""
        return self.standing is not None and self.standing.state in TROUBLED


def live_tests(dataset: Dataset, veil: Veil) -> list[DataTestSummary]:
    """The live tests of a dataset, the troubled first, in two statements."""
    own = Standing.objects.filter(data_test=OuterRef("pk")).order_by("-window_start").values("pk")
    tests = list(
        DataTest.objects.filter(dataset=dataset, retired_at=None)
        .select_related("revision")
        .annotate(troubled=Subquery(own.filter(state__in=TROUBLED, waiver=None)[:1]), newest=Subquery(own[:1]))
        .order_by("category", "name")
    )
    joined = Standing.objects.select_related("revision", "data_test__dataset")
    standings = joined.in_bulk([pk for test in tests for pk in (test.troubled, test.newest) if pk])
    live = []
    for test in tests:
        standing = standings.get(test.troubled or test.newest)
        tree = from_json(test.revision.tree) if test.revision else None
        summary = DataTestSummary(
            test=test,
            standing=standing,
            status=status_of(standing.state, standing.waiver_id is not None) if standing else DisplayStatus.PENDING,
            sentence=sentence_of(standing, veil) if standing else "",
            columns=columns_named(tree) if tree else (),
            dimension=dimension_of(test.category, tree) if tree else "",
        )
        live.append(summary)
    return sorted(live, key=lambda summary: RANK[summary.status])


COLUMNS = 28
MOST_RUNS = 100
LOOKS = {
    "held": DisplayStatus.PASS,
    "broken": DisplayStatus.FAIL,
    "error": DisplayStatus.UNKNOWN,
    "": DisplayStatus.PENDING,
}


@dataclass(frozen=True, kw_only=True)
class DayCell:
    """One field: how a partition stands (a day, where partitions are hours), and why."""

    label: str
    status: DisplayStatus
    why: str = ""
    was_bad: bool = False  # a test had broken on it, and holds again

    @property
    def said(self) -> str:
        """What a mark's own text says."""
        why = self.why or str(WORDS[self.status]).lower()
        return f"{why}; {gettext('it was bad before')}" if self.was_bad else why


def day_grid(dataset: Dataset, facts: Facts, *, now: datetime) -> dict[str, Any]:
    """How the last 28 partitions of a dataset stand (days, where partitions are hours); ``facts`` are those of now.

    ``labels`` of the columns, oldest first, and ``rows`` for each category that is tested or reported: its ``days``,
    and the status of its tests of the ``whole_table``.
    """
    columns, labels = _newest_days(dataset, now)
    partitions = Facts(dataset=dataset.full_name)
    healed = defaultdict[str, list[Window]](list)  # windows on which a test of partitions broke, and has held since
    if columns:
        span = Window(start=columns[0].start, end=columns[-1].end)
        partitions = _of_scope(window_facts(dataset, span, now=now), whole_table=False)
        flips = Flip.objects.filter(
            data_test__dataset=dataset,
            data_test__scope=Scope.PARTITION,
            window_start__lt=span.end,
            window_end__gt=span.start,
            old__in=BROKEN,
            new=State.PASS,
        )
        for category, start, end in flips.values_list("data_test__category", "window_start", "window_end"):
            healed[category].append(Window(start=start, end=end))
    tables, rows = _of_scope(facts, whole_table=True), []
    for category in Category.values:
        days, whole = of_category(partitions, category), of_category(tables, category)
        if days.tests or days.spoilt or days.claims or whole.tests or whole.spoilt:
            fields = [
                _day(label, column, days, healed[category]) for label, column in zip(labels, columns, strict=True)
            ]
            status = look_of(judge(whole, RangeRequest())) if whole.tests or whole.spoilt else DisplayStatus.NONE
            rows.append({"category": category, "days": fields, "whole_table": status})
    has_whole_table = any(row["whole_table"] is not DisplayStatus.NONE for row in rows)
    return {"labels": labels, "rows": rows, "has_whole_table": has_whole_table}


def _newest_days(dataset: Dataset, now: datetime) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    """The last 28 partitions (days, where partitions are hours), oldest first, and their keys; none without any."""
    partitioning = _day_partitioning(dataset.partitioning)
    if partitioning is None:
        return (), ()
    last = partitioning.at(now)
    columns = (*partitioning.previous(last, COLUMNS - 1), last)
    return columns, tuple(map(partitioning.key, columns))


NAMES = {  # of the partition before the one that is under way, and of that one
    Granularity.DAY: (gettext_lazy("yesterday"), gettext_lazy("today")),
    Granularity.WEEK: (gettext_lazy("last week"), gettext_lazy("this week")),
    Granularity.MONTH: (gettext_lazy("last month"), gettext_lazy("this month")),
}


def _named_days(dataset: Dataset, now: datetime) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    """The same; the keys of the last two with what people call them, such as *yesterday*."""
    columns, labels = _newest_days(dataset, now)
    partitioning = _day_partitioning(dataset.partitioning)
    names = NAMES[partitioning.granularity] if partitioning else ()
    return columns, (*labels[:-2], *(f"{label}, {name}" for label, name in zip(labels[-2:], names, strict=True)))


def strips(datasets: Sequence[Dataset], *, now: datetime) -> dict[int, list[Stretch]]:
    """The worst status of each of the last 28 partitions of these datasets, by id, as ``day_grid`` has it by category.

    In a bounded number of statements for each granularity that there is among them.
    """
    newest = {dataset.pk: _named_days(dataset, now) for dataset in datasets}
    by_granularity = defaultdict[Granularity, list[Dataset]](list)
    for dataset in datasets:
        if partitioning := _day_partitioning(dataset.partitioning):
            by_granularity[partitioning.granularity].append(dataset)
    strips_by_dataset: dict[int, list[Stretch]] = {dataset.pk: [] for dataset in datasets}
    for alike in by_granularity.values():
        columns = [column for dataset in alike for column in newest[dataset.pk][0]]
        span = Window(start=min(column.start for column in columns), end=max(column.end for column in columns))
        for pk, facts in window_facts_of_all(alike, span, now=now).items():
            strips_by_dataset[pk] = _strip(*newest[pk], _of_scope(facts, whole_table=False))
    return strips_by_dataset


def strips_by_place(dataset: Dataset, *, now: datetime) -> list[tuple[str, list[Stretch]]]:
    """The strip of each datacenter that has a copy, home first; none without partitions."""
    columns, labels = _named_days(dataset, now)
    if not columns:
        return []
    facts = window_facts(dataset, Window(start=columns[0].start, end=columns[-1].end), now=now)
    own = _of_scope(facts, whole_table=False)
    places = [replica.datacenter for replica in dataset.replicas.all()]
    return [(place, _strip(columns, labels, own, place)) for place in places]


def _strip(
    columns: Sequence[Window], labels: Sequence[str], facts: Facts, datacenter: str | None = None
) -> list[Stretch]:
    """Only the first of successive partitions is judged, where nothing that is known begins or ends within them."""
    edges, stretches = sorted(set(instants(facts))), list[Stretch]()
    before: Window | None = None
    for at, (label, column) in enumerate(zip(labels, columns, strict=True)):
        last = stretches[-1] if stretches else None
        if last and before and bisect_right(edges, before.start) == bisect_left(edges, column.end):
            status, why = last.status, last.why
        else:
            day = _day(label, column, facts, (), datacenter)
            status, why = day.status, day.why
        before = column
        if last and (last.status, last.why) == (status, why):
            stretches[-1] = replace(last, last=label, count=last.count + 1)
        else:
            stretches.append(Stretch(first=label, last=label, at=at, count=1, status=status, why=why))
    return stretches


def _day_partitioning(partitioning: Partitioning | None) -> Partitioning | None:
    """Days, where partitions are hours."""
    if partitioning is None or partitioning.granularity is not Granularity.HOUR:
        return partitioning
    return Partitioning(granularity=Granularity.DAY, time_zone=partitioning.time_zone)


def _of_scope(facts: Facts, *, whole_table: bool) -> Facts:
    return replace(
        facts,
        tests=[test for test in facts.tests if test.whole_table is whole_table],
        checks=[check for check in facts.checks if check.test.whole_table is whole_table],
        spoilt=[spoilt for spoilt in facts.spoilt if spoilt.whole_table is whole_table],
        claims=[] if whole_table else facts.claims,
    )


def _day(label: str, column: Window, facts: Facts, healed: Sequence[Window], datacenter: str | None = None) -> DayCell:
    answer = judge(facts, RangeRequest(window=column, datacenter=datacenter))
    if not facts.tests and all(reason.kind is ReasonKind.NO_TEST for reason in answer.reasons):
        return DayCell(label=label, status=DisplayStatus.NONE)
    why = reason_text(answer.reasons[0].text) if answer.reasons else ""
    was_bad = answer.status is not Quality.BAD and any(window.overlaps(column) for window in healed)
    return DayCell(label=label, status=look_of(answer), why=why, was_bad=was_bad)


def day_results(dataset: Dataset, label: str, category: str, veil: Veil, *, now: datetime) -> dict[str, Any] | None:
    """The runs over the partition (the day, where partitions are hours) with this key, the newest first.

    Successive runs of a test that found the same, as when it is run again and again, are one with their ``count``. Of a
    category, or of all where it is none. None where there can be none.
    """
    partitioning = _day_partitioning(dataset.partitioning)
    if not label or partitioning is None:
        return None
    try:
        column = partitioning.window(label)
    except UnableToPartition:
        return None
    rows = Run.objects.filter(
        data_test__dataset=dataset,
        data_test__scope="partition",
        window_start__lt=column.end,
        window_end__gt=column.start,
        requested_at__lte=now,
    ).exclude(reason=RunReason.BACKTEST)
    category = category if category in Category.values else ""
    if category:
        rows = rows.filter(data_test__category=category)
    joined = rows.select_related("revision", "data_test__dataset").order_by("-requested_at", "-pk")
    runs, run_rows = list(joined[: MOST_RUNS + 1]), list[dict[str, Any]]()
    newest = dict[int, tuple[dict[str, Any], tuple[Any, ...]]]()  # the row of each test, and what it found
    for run in runs[:MOST_RUNS]:
        is_hidden, result = veil.hides_run(run), (run.outcome, run.value, run.sentence, run.error_reason)
        row, seen = newest.get(run.data_test_id, ({}, ()))
        if seen == result:
            row["count"] += 1
            continue
        run_rows.append(
            {
                "run": run,
                "count": 1,
                "status": LOOKS[run.outcome],
                "word": capfirst(plain(run.outcome)) if run.outcome else gettext("Under way"),
                "value": None if is_hidden else run.value,
                "sentence": HIDDEN if is_hidden else run.sentence,
            }
        )
        newest[run.data_test_id] = run_rows[-1], result
    return {"label": label, "category": category, "runs": run_rows, "has_more": len(runs) > MOST_RUNS}


LONGEST = 1000


def history(data_test: DataTest, veil: Veil, zoom: Zoom = ALL_TIME) -> list[WindowResult]:
    """Its results by window, oldest first, with the value that was first seen broken and the bounds of its revision.

    Of freshness the value is how long the window took to be complete. What must not be told now has no value.
    """
    rows = judged_runs(data_test)
    if zoom.start is not None:
        rows = rows.filter(window_start__gte=zoom.start)
    if zoom.end is not None:
        rows = rows.filter(window_start__lte=zoom.end)
    seen = list(reversed(rows.order_by("-window_start", "-measured_at", "-pk")[:LONGEST]))
    took = dict[datetime, float]()
    if data_test.category == Category.FRESHNESS:
        times = times_to_complete(data_test.dataset, data_test.datacenter, LONGEST)
        took = {time.window.start: time.seconds for time in times if time.is_known}
    for run in seen:
        if veil.hides_run(run):
            run.value, run.operands = None, {}
    runs = list({run.window_start: run for run in seen}.values())
    first_broken = {run.window_start: run for run in reversed(seen) if run.outcome == Outcome.BROKEN}
    revisions = Revision.objects.filter(pk__in={run.revision_id for run in runs})
    trees = {revision.pk: from_json(revision.tree) for revision in revisions}
    results = []
    for run in runs:
        key, was = keys_of(run.window, data_test.dataset.partitioning), first_broken.get(run.window_start)
        result = replace(window_result(run, key, trees[run.revision_id]), was=plotted_value(was))
        is_complete = run.value == 0 and run.window_start in took
        results.append(replace(result, value=took[run.window_start]) if is_complete else result)
    return results


def window_result(run: Run, key: str, tree: Assertion) -> WindowResult:
    """What one run found in the window with this key, with the bounds of then."""
    bound, is_judged = bounds_of_run(run, tree), run.outcome in (Outcome.HELD, Outcome.BROKEN)
    return WindowResult(
        key=key,
        start=run.window_start,
        value=plotted_value(run) if is_judged else None,
        outcome=run.outcome if is_judged else gettext("not judged"),
        was=plotted_value(run) if run.outcome == Outcome.BROKEN else None,
        low=bound.low,
        high=bound.high,
    )


def plot_of_test(data_test: DataTest, veil: Veil, zoom: Zoom = ALL_TIME) -> Plot:
    """Its results over time, as its page draws them."""
    revision = data_test.revision
    unit = unit_of(from_json(revision.tree), data_test.category) if revision else ChartUnit()
    title = measure_of(data_test)
    zone_of_data = zone(data_test.dataset.time_zone)
    return plot_of(history(data_test, veil, zoom), unit, title=title, zone=zone_of_data, period=(zoom.start, zoom.end))


def backtest_results(past_report: Backtest, tree: Assertion, *, hides: bool) -> list[WindowResult]:
    """What a backtest found in each window of its range, oldest first, with the bounds that it tries."""
    partitioning = past_report.test.dataset.partitioning
    runs = {result.window: run_of(result) for result in past_report.windows}
    limits, results = bounds(tree), list[WindowResult]()
    if limits.widths is not None:  # each window has an interval of its own
        limits = PlotBounds()
    for window in sorted({*past_report.missing, *past_report.unknowable, *runs}, key=lambda window: window.start):
        key, run = keys_of(window, partitioning), runs.get(window)
        if run is not None and not hides:
            results.append(window_result(run, key, tree))
            continue
        word, why = gettext("hidden"), gettext("it may not be told to you")
        if run is None:
            why = past_report.unknowable.get(window) or ""
            word = gettext("cannot be known") if why else gettext("never measured")
        results.append(
            WindowResult(
                key=key, start=window.start, value=None, outcome=word, why=why, low=limits.low, high=limits.high
            )
        )
    return results


def judged_runs(data_test: DataTest) -> QuerySet[Run]:
    """The runs that held or broke."""
    runs = data_test.runs.filter(outcome__in=(Outcome.HELD, Outcome.BROKEN)).exclude(reason=RunReason.BACKTEST)
    return runs.select_related("revision", "data_test__dataset")


def newest_groups(data_test: DataTest, veil: Veil) -> GroupSummary | None:
    """The groups of its newest window, where it is by columns and what it found may be told."""
    run = judged_runs(data_test).order_by("-window_start", "-measured_at").first()
    return None if run is None or veil.hides_run(run) else groups_of(veil.findings(run))


def bounds_of_run(run: Run, tree: Assertion) -> PlotBounds:
    """The bounds of a run as they were then: literals, or what their operands came to.

    Of an anomaly they are the interval that was expected of its metric, as wide as the test lets it be.
    """
    limits, finding = bounds(tree), _finding(run)
    if limits.widths is not None and finding is not None:
        low, high = finding["low"], finding["high"]
        if low is None or high is None:
            return PlotBounds(low=low, high=high)
        middle, reach = low / 2 + high / 2, (high / 2 - low / 2) * limits.widths
        return PlotBounds(low=middle - reach, high=middle + reach)
    measured = bounds_with(tree, run.operands)
    return PlotBounds(
        low=measured.low if limits.low is None else limits.low,
        high=measured.high if limits.high is None else limits.high,
    )


def plotted_value(run: Run | None) -> float | None:
    """The run's value; of an anomaly that of its metric, which its bounds are of."""
    if run is None or run.value is None or not isfinite(run.value):
        return None
    finding = _finding(run)
    value = None if finding is None else from_stored(finding["value"])
    return run.value if value is None else float(value)


def _finding(run: Run) -> dict[str, Any] | None:
    """What the one anomaly that a run asked for found."""
    findings = run.findings.get(EXPECTED, [])
    return findings[0] if len(findings) == 1 else None
