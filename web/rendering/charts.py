"""Charts as pages show them: results of windows with their bounds and words, in a size for each kind of screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from assay.charts.drawing import NARROW, WIDE, Chart, Mark, Point, PointState, draw, draw_small
from assay.charts.ticks import Unit, value_text
from assay.models import Category
from execution_engine.language.tree import (
    Assertion,
    Between,
    By,
    Comparison,
    Duration,
    History,
    HistoryFunction,
    Metric,
    Percentage,
    metric_of,
    operands,
    postorder,
)
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Outcome

from .status import plain

MIDDLE = 700  # pixels, for a tablet
SHARES = {Category.COMPLETENESS, Category.DUPLICATES, Category.CONSISTENCY}  # of the rows
WORST = 4  # windows that are told in words


@dataclass(frozen=True, kw_only=True)
class ChartUnit:
    """What values are a number of, with the word that stands above their axis."""

    unit: Unit = Unit.NUMBER
    word: str = ""

    def text(self, value: float | None) -> str:
        """A value in full, with its unit."""
        return value_text(value, self.unit)


def unit_of(tree: Assertion, category: str) -> ChartUnit:
    """What the value of an assertion is a number of, as far as its text or its category tells."""
    nodes = postorder(tree)
    if any(isinstance(node, Duration) for node in nodes):
        return ChartUnit(unit=Unit.LENGTH)
    if category in SHARES or isinstance(tree, By) or any(isinstance(node, Percentage) for node in nodes):
        return ChartUnit(unit=Unit.SHARE)
    sides = (
        (tree.value,) if isinstance(tree, Between) else (tree.left, tree.right) if isinstance(tree, Comparison) else ()
    )
    measured = next((side for side in sides if isinstance(side, Metric | History)), None)
    if measured is None or (isinstance(measured, History) and measured.function is HistoryFunction.NOVELTY):
        return ChartUnit()
    name = metric_of(measured).spec.name
    if name == "row_count":
        return ChartUnit(unit=Unit.COUNT, word=gettext("rows"))
    is_share = name in METRICS and METRICS[name].is_share and len(operands(tree)) == 1
    return ChartUnit(unit=Unit.SHARE if is_share else Unit.NUMBER)


@dataclass(frozen=True, kw_only=True)
class WindowResult:
    """What one window shows in a chart, and in the table below it.

    ``was`` is the value that was first seen broken, whatever the newest is. ``outcome`` is held, broken, or a word
    where there is neither, and ``why`` says more of that.
    """

    key: str
    start: datetime
    value: float | None
    outcome: str
    was: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""

    @property
    def is_mended(self) -> bool:
        """Whether it had been broken, and holds."""
        return self.was is not None and self.outcome == Outcome.HELD

    @property
    def state(self) -> PointState:
        """The shape of its point."""
        return PointState(self.outcome) if self.outcome in (Outcome.HELD, Outcome.BROKEN) else PointState.UNKNOWN

    def outcome_text(self, unit: ChartUnit) -> str:
        """Its outcome in words, with the bound that was broken."""
        if self.is_mended:
            return gettext("held, was broken at %(value)s") % {"value": unit.text(self.was)}
        word = plain(self.outcome)
        return f"{word}, {limit}" if self.outcome == Outcome.BROKEN and (limit := self.limit_text(unit)) else word

    def limit_text(self, unit: ChartUnit) -> str:
        """The bound that what was broken missed; empty where it is not known."""
        value = self.value if self.was is None else self.was
        if self.low is not None and (value is None or value < self.low or self.high is None):
            return gettext("wanted at least %(value)s") % {"value": unit.text(self.low)}
        if self.high is not None:
            return gettext("wanted at most %(value)s") % {"value": unit.text(self.high)}
        return ""

    def points(self, unit: ChartUnit) -> list[Point]:
        """Its point, and one more for what it was before it was mended."""
        text = f"{self.key}: {unit.text(self.value)}, {self.outcome_text(unit)}"
        point = Point(at=self.start, value=self.value, state=self.state, text=text, low=self.low, high=self.high)
        if not self.is_mended:
            return [point]
        return [point, Point(at=self.start, value=self.was, state=PointState.MENDED, text=text)]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A chart with what stands below it: what broke in words, and a row for each window, the newest first."""

    title: str  # what is measured
    svg: SafeString
    states: frozenset[str]  # that it has points of
    has_bounds: bool
    broken_text: str
    rows: Sequence[tuple[datetime, str, str]]


def plot_of(
    results: Sequence[WindowResult],
    unit: ChartUnit,
    *,
    title: str,
    zone: tzinfo,
    period: tuple[datetime | None, datetime | None] = (None, None),
    marks: Sequence[Mark] = (),
) -> Plot:
    """The plot of windows in the order of time: of those that start in a ``period``, or of all of them."""
    start, end = period
    results = [
        result
        for result in results
        if (start is None or result.start >= start) and (end is None or result.start <= end)
    ]
    chart = chart_of(results, unit, title=title, zone=zone, period=period, marks=marks)
    points = chart.points
    rows = [(result.start, unit.text(result.value), result.outcome_text(unit)) for result in reversed(results)]
    return Plot(
        title=title,
        svg=page_chart(chart) if points else mark_safe(""),
        states=frozenset(point.state.value for point in points),
        has_bounds=any(point.low is not None or point.high is not None for point in points),
        broken_text=chart.description,
        rows=rows,
    )


def chart_of(
    results: Sequence[WindowResult],
    unit: ChartUnit,
    *,
    title: str,
    zone: tzinfo,
    period: tuple[datetime | None, datetime | None] = (None, None),
    marks: Sequence[Mark] = (),
) -> Chart:
    """The same as it is drawn."""
    start, end = period
    return Chart(
        title=title,
        description=broken_text(results, unit),
        points=[point for result in results for point in result.points(unit)],
        unit=unit.unit,
        unit_word=unit.word,
        marks=marks,
        start=start,
        end=end,
        zone=zone,
    )


def broken_text(results: Sequence[WindowResult], unit: ChartUnit) -> str:
    """What is broken, or was, what still is first, then the furthest from its bound; empty where nothing is."""
    broken = [result for result in results if result.was is not None]
    broken.sort(key=lambda result: (not result.is_mended, _distance(result), result.start), reverse=True)
    texts, mended = [], gettext("mended")
    for result in broken[:WORST]:
        limit = f" ({text})" if (text := result.limit_text(unit)) else ""
        end = f", {mended}" if result.is_mended else ""
        texts.append(f"{result.key}: {unit.text(result.was)}{limit}{end}")
    if len(broken) > WORST:
        texts.append(gettext("and %(count)s more") % {"count": len(broken) - WORST})
    return gettext("Broken: %(windows)s.") % {"windows": "; ".join(texts)} if texts else ""


def _distance(result: WindowResult) -> float:
    """How far beyond its bound a value was."""
    was = result.was or 0.0
    low = 0.0 if result.low is None else result.low - was
    return max(low, 0.0 if result.high is None else was - result.high, 0.0)


def page_chart(chart: Chart, key: str = "chart") -> SafeString:
    """The chart for phones, for tablets and for wide screens; the style sheet shows one of them."""
    sizes = {"narrow": NARROW, "middle": MIDDLE, "wide": WIDE}
    svgs = (
        f'<div class="{name}">{draw(chart, key=f"{key}-{name}", width=width)}</div>' for name, width in sizes.items()
    )
    return mark_safe(f'<div class="charts">{"".join(svgs)}</div>')  # all texts in it are escaped where it is drawn


def small_chart(
    values: Sequence[float | None],
    is_broken: Sequence[bool],
    *,
    title: str,
    unit: Unit = Unit.NUMBER,
    usual: tuple[float | None, float | None] = (None, None),
    scale: Sequence[float] = (),
) -> SafeString:
    """A small chart of values at even steps, without axes; empty where fewer than two are known.

    Charts beside one another are drawn to one ``scale``: its values have room in each of them.
    """
    low, high = usual
    points = [
        Point(at=_FIRST + place * _STEP, value=value, state=STATES[broken], low=low, high=high)
        for place, (value, broken) in enumerate(zip(values, is_broken, strict=True))
    ]
    return mark_safe(draw_small(Chart(title=title, points=points, unit=unit), scale))


_FIRST, _STEP = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1)  # any instants at even steps
STATES = (PointState.HELD, PointState.BROKEN)
