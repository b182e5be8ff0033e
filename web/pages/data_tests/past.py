"""What an assertion would have found and raised in the last windows of its dataset, ready to be shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext

from assay.catalog.selectors import slas
from assay.models import Dataset, DataTest
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import Assertion
from execution_engine.models import Run, Scan
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.as_json import run_of
from incident_manager.backtests.services import Backtest
from incident_manager.services import UnableToBacktest, backtest
from web.pages.plot_bounds import PlotBounds, bounds, bounds_with
from web.pages.selectors.drawn_results import expected, shown
from web.shown.status import ShownStatus

from .past_plot import PastPlot, PastPoint, past_plot
from .told import datasets_of

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
