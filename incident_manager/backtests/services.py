"""A backtest: what a test, written or not, would have raised over a range of the past. It writes no result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from alerting.inhibition.selectors import size_of_run
from assay.catalog.selectors import begins_at, slas
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.windows import Window
from execution_engine.exact import from_json as number
from execution_engine.language.evaluating.evaluate import of_known
from execution_engine.language.operands import operands
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import By
from execution_engine.models import Run
from execution_engine.outcome import Outcome
from execution_engine.planning.catalog_sources import Sources
from execution_engine.runs.evaluate_runs import zero_of
from execution_engine.runs.past_results import ask_for_missing, scans_for_missing, usual_seconds
from execution_engine.selectors import period
from test_generator.data_tests.services import draft

from .bounds import OtherBound, other_bounds
from .rules import BacktestTerms, PastWindow, Raised, raised
from .selectors import Causes, FoundPast, FoundWindow, LiveIncident, find_past, known_bad, live_incidents

MOST_WINDOWS = 1000


class UnableToBacktest(ValueError):
    """A backtest that cannot be made; the message says why, and what to ask instead."""


@dataclass(frozen=True, kw_only=True)
class WithOtherBound:
    """What the test would have raised with another bound."""

    other: OtherBound
    raised: Raised


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """What a test would have raised over a range, window by window, and with three looser and three stricter bounds.

    ``scans`` are what would have to be read for the windows that were never measured, ``seconds`` how long that takes
    one after the other, None where no scan of the dataset has ended yet.
    """

    test: DataTest
    terms: BacktestTerms
    span: Window
    windows: tuple[FoundWindow, ...]
    raised: Raised
    others: tuple[WithOtherBound, ...]
    missing: tuple[Window, ...]
    unknowable: dict[Window, str]
    scans: int
    seconds: timedelta | None
    live: tuple[LiveIncident, ...]  # that the test has had in the range


def as_revised(test: DataTest, number: int | None) -> DataTest:
    """The test as a revision of this number had it, None for the newest; raises UnableToBacktest where it has none."""
    assert test.revision is not None
    if number is None or number == test.revision.number:
        return test
    revision = test.revisions.filter(number=number).first()
    if revision is None:
        raise UnableToBacktest(f"{test} has no revision {number}: take one from 1 to {test.revision.number}")
    test.revision = revision
    return test


def backtest(
    test: DataTest,
    *,
    start: datetime,
    end: datetime,
    now: datetime,
    sustain: timedelta | None = None,
    grace: timedelta | None = None,
    measure: bool = False,
) -> Backtest:
    """What the test would have raised over the windows that start in the range and were due by now.

    The range starts with the first partition that ever existed at the earliest. ``measure`` asks for what was never
    measured, as a run would; ask for the backtest again when that is taken. Raises UnableToBacktest for a test of a
    whole table, and for too many windows.
    """
    assert test.revision is not None
    sources = Sources(now)
    windows = _windows(test, start, min(end, now), now)
    terms = BacktestTerms(
        sustain=test.revision.sustain if sustain is None else sustain,
        period=period(test),
        grace=slas(test.dataset).grace if grace is None else grace,
        settles=test.category == Category.FRESHNESS,
    )
    found = find_past(test, windows, terms, now, sources)
    if measure and found.rest.missing:
        ask_for_missing(found.rest, now, sources)
    start = max(start, begins_at(test.dataset) or start)
    return _report(test, found, terms, Window(start=start, end=min(end, now)))


USUAL_RANGE = timedelta(days=28)
TRIED_TIERS = (0, 1)  # in which a test that blocks pipelines must have been tried on the past


def untried(test: DataTest, now: datetime) -> str | None:
    """Why the test may not be hard yet: its tier wants it tried on the past, and nothing of the past can be judged.

    A test of a whole table has no past to be tried on, so it may.
    """
    if test.dataset.tier not in TRIED_TIERS or test.scope == Scope.TABLE:
        return None
    try:
        tried = backtest(test, start=now - USUAL_RANGE, end=now, now=now)
    except UnableToBacktest as error:
        return str(error)
    if tried.raised.held + tried.raised.broken:
        return None
    return f"a hard test of tier {test.dataset.tier} is tried on the past first, and no window of it was measured"


def untried_if_hard(
    dataset: Dataset, assertion: str, severity: str | None, now: datetime, *, schedule: str = "partition"
) -> str | None:
    """Why a test of partitions with this assertion may not be hard yet; None where it may, or is not to be.

    One that is scheduled weekly is of the whole table. Raises UnableToWrite for an assertion that is none.
    """
    if severity != Severity.HARD or dataset.partitioning is None or schedule == "weekly":
        return None
    return untried(draft(dataset, assertion, severity=severity), now)


def _windows(test: DataTest, start: datetime, end: datetime, now: datetime) -> list[Window]:
    """The partitions that start in the range and are due."""
    partitioning = test.dataset.partitioning
    name = test.dataset.full_name
    if partitioning is None or test.scope == Scope.TABLE:
        raise UnableToBacktest(
            f"a test of the whole of {name} reads the table as it is now, and nobody knows what it was: "
            "backtest a test of its partitions"
        )
    if start >= end:
        raise UnableToBacktest(f"the range from {start.isoformat()} to {end.isoformat()} has no past: begin earlier")
    begun = max(start, begins_at(test.dataset) or start)
    windows = partitioning.between(begun, end, MOST_WINDOWS + 1) if begun < end else ()
    if len(windows) > MOST_WINDOWS:
        raise UnableToBacktest(f"{name} has more than {MOST_WINDOWS} partitions in this range: take a shorter one")
    freshness = slas(test.dataset).freshness
    due = [window for window in windows if window.end + freshness <= now]
    if not due and begun > start:
        raise UnableToBacktest(
            f"the first partition of {name} starts at {begun.isoformat()}, and none was due by the end of this range: "
            "wait for it, or end later"
        )
    if not due:
        raise UnableToBacktest(f"no partition of {name} that starts in this range was due yet: begin earlier")
    return due


def _report(test: DataTest, found: FoundPast, terms: BacktestTerms, span: Window) -> Backtest:
    scans = scans_for_missing(found.rest)
    seconds = usual_seconds(test.dataset_id)
    bad = known_bad(test.dataset, span)
    assert test.revision is not None
    sizes = {
        one.window: size_of_run(run, category=test.category, tree=test.revision.tree)
        for one in found.windows
        for run in one.runs
        if run.outcome == Outcome.BROKEN
    }
    causes = Causes(test.dataset, test.category, terms, sizes=sizes)
    past = [one.past for one in found.windows]

    def of(windows: Sequence[PastWindow]) -> Raised:
        return raised(windows, terms, known_bad=bad, span=span, explained=causes)

    tree = from_json(test.revision.tree)
    values = [run.value for one in found.windows for run in one.runs[:1] if run.value is not None]
    others = [
        WithOtherBound(other=other, raised=of([_by_bound(one, test, other) for one in found.windows]))
        for other in ([] if isinstance(tree, By) else other_bounds(tree, values))
    ]
    return Backtest(
        test=test,
        terms=terms,
        span=span,
        windows=found.windows,
        raised=of(past),
        others=tuple(others),
        missing=tuple(found.rest.missing),
        unknowable=found.rest.unknowable,
        scans=scans,
        seconds=None if seconds is None else timedelta(seconds=seconds * scans),
        live=live_incidents(test, span) if test.pk else (),
    )


def _by_bound(one: FoundWindow, test: DataTest, other: OtherBound) -> PastWindow:
    """The window as the same values would have been judged by another bound."""
    results = [
        replace(result, outcome=_outcome(run, test, other)) if result.outcome is not Outcome.ERROR else result
        for run, result in zip(one.runs, one.past.results, strict=True)
    ]
    return replace(one.past, results=tuple(results))


def _outcome(run: Run, test: DataTest, other: OtherBound) -> Outcome:
    known = {text: number(value) for text, value in run.operands.items()}
    if any(operand.text not in known for operand in operands(other.tree)):  # of a run whose operands are not kept
        return Outcome(run.outcome)
    return of_known(other.tree, known, zero=zero_of(test)).outcome
