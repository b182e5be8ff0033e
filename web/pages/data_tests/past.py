"""What an assertion would have found and raised in the last windows of its dataset, ready to be shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from math import isfinite

from django.utils.translation import gettext

from assay.catalog.selectors import slas
from assay.models import Dataset, DataTest
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import Assertion
from execution_engine.models import Run, Scan
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import Backtest, run_of
from incident_manager.services import UnableToBacktest, backtest
from web.pages.plot_bounds import PlotBounds, bounds, bounds_with
from web.pages.selectors.days import expected, shown
from web.shown.status import ShownStatus

from .assertion_words import datasets_of

# The values of an assertion over past windows as points of SVG: a line with gaps, marks, and its bounds. Pure.

WIDTH, HEIGHT, MARGIN = 720.0, 180.0, 10.0

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PastPoint:
    """One window: its value, None where there is none, and between which figures it had to lie."""

    value: float | None
    low: float | None = None
    high: float | None = None
    broken: bool = False


@dataclass(frozen=True, kw_only=True)
class PastPlot:
    """Points of polylines; ``bounds`` are those of the bounds, ``low`` and ``high`` the figures at both ends."""

    lines: tuple[str, ...]
    bounds: tuple[str, ...]
    held: tuple[Point, ...]
    broken: tuple[Point, ...]
    low: float
    high: float


def past_plot(points: Sequence[PastPoint]) -> PastPlot | None:
    """The plot of windows at even steps; None where no value is known."""
    figures = [
        figure
        for point in points
        if point.value is not None and isfinite(point.value)
        for figure in (point.value, point.low, point.high)
        if figure is not None and isfinite(figure)
    ]
    if not figures:
        return None
    low, high = min(figures), max(figures)
    step = (WIDTH - 2 * MARGIN) / max(len(points) - 1, 1)

    def at(place: int, figure: float | None) -> Point | None:
        if figure is None or not isfinite(figure):
            return None
        share = (figure / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return round(MARGIN + place * step, 1), round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)

    values = [at(place, point.value) for place, point in enumerate(points)]
    marked = [(point, spot) for point, spot in zip(points, values, strict=True) if spot is not None]
    known = [point if spot else PastPoint(value=None) for point, spot in zip(points, values, strict=True)]
    sides = (
        [at(place, point.low) for place, point in enumerate(known)],
        [at(place, point.high) for place, point in enumerate(known)],
    )
    return PastPlot(
        lines=tuple(_polylines(values)),
        bounds=tuple(line for side in sides for line in _polylines(side)),
        held=tuple(spot for point, spot in marked if not point.broken),
        broken=tuple(spot for point, spot in marked if point.broken),
        low=low,
        high=high,
    )


def _polylines(points: Sequence[Point | None]) -> Iterator[str]:
    """One for each run of known points; of a single one none, as it is no line."""
    for is_known, run in groupby(points, bool):
        spots = [spot for spot in run if spot is not None]
        if is_known and len(spots) > 1:
            yield " ".join(f"{x},{y}" for x, y in spots)


WINDOWS = 30
BROKEN = (ShownStatus.FAIL, ShownStatus.WARN)


@dataclass(frozen=True, kw_only=True)
class PastRow:
    """One window as people read it."""

    key: str
    status: ShownStatus
    word: str
    said: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class ShownPast:
    """What is shown of the last windows; ``reading`` is how many scans are under way for those never measured."""

    rows: tuple[PastRow, ...]
    found: Backtest
    plot: PastPlot | None
    is_duration: bool
    reading: int
    measured: int
    seconds: int | None

    @property
    def first(self) -> str:
        """The key of the oldest window."""
        return self.rows[-1].key

    @property
    def last(self) -> str:
        """The key of the newest."""
        return self.rows[0].key


def shown_past(
    dataset: Dataset, test: DataTest, *, sustain: timedelta | None, now: datetime, measure: bool = False
) -> ShownPast:
    """The last windows that were due; ``measure`` asks for what was never measured. Raises UnableToBacktest."""
    assert test.revision is not None
    start = first_of_last(dataset, now)
    found = backtest(test, start=start, end=now, now=now, sustain=sustain, measure=measure)
    tree = from_json(test.revision.tree)
    hides = Veil(now).hides(test.revision, dataset)
    rows = _rows(dataset, found, tree, hides=hides)
    points = [
        PastPoint(
            value=row.value, low=row.low, high=row.high, broken=row.status in (ShownStatus.FAIL, ShownStatus.WARN)
        )
        for row in rows
    ]
    return ShownPast(
        rows=tuple(reversed(rows)),
        found=found,
        plot=past_plot(points),
        is_duration=bounds(tree).is_duration,
        reading=_reading(dataset, tree, start) if found.missing else 0,
        measured=len(found.windows),
        seconds=None if found.seconds is None else max(1, round(found.seconds.total_seconds())),
    )


def first_of_last(dataset: Dataset, now: datetime) -> datetime:
    """When the first of the last windows that were due starts; raises UnableToBacktest without partitions."""
    partitioning = dataset.partitioning
    if partitioning is None:
        raise UnableToBacktest(
            f"{dataset.full_name} has no partitions: a test reads the whole table as it is now, and so has no past"
        )
    at = now - slas(dataset).freshness
    newest = partitioning.at(at)
    if newest.end > at:
        (newest,) = partitioning.previous(newest)
    return partitioning.previous(newest, WINDOWS - 1)[0].start


def _rows(dataset: Dataset, found: Backtest, tree: Assertion, *, hides: bool) -> list[PastRow]:
    partitioning = dataset.partitioning
    assert partitioning is not None
    failed = {window for one in found.raised.incidents for window in one.windows}
    runs = {one.window: run_of(one) for one in found.windows}
    every = {**dict.fromkeys(found.missing), **dict.fromkeys(found.unknowable), **runs}
    rows = []
    for window in sorted(every, key=lambda window: window.start):
        key, run = partitioning.key(window), runs.get(window)
        if run is None:
            why = found.unknowable.get(window)
            word = gettext("cannot be known") if why else gettext("never measured")
            rows.append(PastRow(key=key, status=ShownStatus.NONE, word=word, said=why or ""))
        elif hides:
            rows.append(
                PastRow(
                    key=key, status=ShownStatus.NONE, word=gettext("hidden"), said=gettext("it may not be told to you")
                )
            )
        else:
            rows.append(_row(key, run, tree, is_failed=window in failed))
    return rows


def _row(key: str, run: Run, tree: Assertion, *, is_failed: bool) -> PastRow:
    status, word = {
        Outcome.HELD: (ShownStatus.PASS, gettext("held")),
        Outcome.BROKEN: (ShownStatus.FAIL, gettext("broken: FAIL"))
        if is_failed
        else (ShownStatus.WARN, gettext("broken: WARN only")),
    }.get(Outcome(run.outcome), (ShownStatus.LEARNING, gettext("not judged")))
    if status is ShownStatus.LEARNING:
        return PastRow(key=key, status=status, word=word, said=run.sentence)
    limits = _limits(run, tree)
    return PastRow(
        key=key, status=status, word=word, said=run.sentence, value=shown(run), low=limits.low, high=limits.high
    )


def _limits(run: Run, tree: Assertion) -> PlotBounds:
    literal = bounds(tree)
    if literal.widths is not None:  # of an anomaly: the interval of its metric, which its own bound is none of
        return expected(run, literal)
    then = bounds_with(tree, run.operands)
    return replace(
        literal,
        low=then.low if literal.low is None else literal.low,
        high=then.high if literal.high is None else literal.high,
    )


def _reading(dataset: Dataset, tree: Assertion, start: datetime) -> int:
    """The scans of these windows, and of the other datasets that it names, that have not ended yet."""
    names: Sequence[str] = [dataset.full_name, *datasets_of(tree)]
    open_ = Scan.objects.filter(dataset__full_name__in=names, ended_at__isnull=True, window_start__gte=start)
    return open_.count()


def usual_scan(dataset: Dataset) -> Scan | None:
    """The newest scan of the dataset that took anything: how long it took, and whether Spark did it."""
    ended = Scan.objects.filter(dataset=dataset, ended_at__isnull=False, taken__gt=0)
    return ended.order_by("-ended_at").first()
