"""When a window is complete, and how late it is (pure): the rules behind ``freshness(complete=c)``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from zoneinfo import ZoneInfo

from assay.time.steps import StepUnit
from assay.time.windows import Granularity, Partitioning, Step, Window, shift
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, Metric
from execution_engine.metrics.definitions import freshness

USUAL_WINDOWS = 6  # of the same weekday are looked at
USUAL_NEEDED = 3  # of them must be known
USUAL_SHARE = 0.5  # of their median makes a window complete


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What a window is measured against: the same window of a one-to-one upstream, or at home."""

    rows: float
    complete: bool
    name: str = "its upstream"
    expected: float | None = None  # rows, once it is complete


@dataclass(frozen=True, kw_only=True)
class JudgedWindow:
    """Whether a window is complete, and what that stands on, as people read it; the rows that it should have."""

    complete: bool
    basis: str
    expected: float | None = None


def judge_rows(
    rows: float,
    *,
    share: float,
    supplies: Sequence[Supply],
    announced: bool,
    usual: Sequence[float],
    allow_empty: bool,
    told: int | None = None,
) -> JudgedWindow:
    """Whether a window with so many rows is complete.

    Against its supplies, where it has any; else a completion event named it (``announced``), and it has the share
    asked for of the rows that the event ``told`` of, if it did; else it has half the rows usual on its weekday, else
    any rows at all. An empty window is complete only where the dataset allows that.
    """
    is_there = rows > 0 or allow_empty
    if supplies:
        return _against(rows, share, supplies, is_there=is_there)
    if announced and told is not None:
        is_all = is_there and rows >= share * told
        return _judged(is_all, f"{rows:,.0f} of {told:,} rows that the pipeline told of", expected=told)
    if not is_there:
        return _judged(False, "no rows")
    if announced:
        return _judged(True, f"{rows:,.0f} rows, and the pipeline says that these are all")
    if len(usual) < USUAL_NEEDED:
        return _judged(True, "any rows, as there is no history yet")
    is_usual = rows >= USUAL_SHARE * median(usual)
    least = "at least" if is_usual else "less than"
    return _judged(
        is_usual, f"{rows:,.0f} rows, {least} half of the usual {median(usual):,.0f} rows", expected=median(usual)
    )


def _against(rows: float, share: float, supplies: Sequence[Supply], *, is_there: bool) -> JudgedWindow:
    """By the supply that asks for most; one that is incomplete itself says more than any number."""
    waiting = [supply.name for supply in supplies if not supply.complete]
    most = max(supplies, key=lambda supply: supply.rows)
    counted = f"{rows:,.0f} of {most.rows:,.0f} rows of {most.name}"
    if waiting:
        expected = max((supply.expected for supply in supplies if supply.expected is not None), default=None)
        return _judged(False, f"{counted}; {', '.join(waiting)} not complete yet", expected=expected)
    return _judged(is_there and rows >= share * most.rows, counted, expected=most.rows)


def _judged(complete: bool, basis: str, expected: float | None = None) -> JudgedWindow:
    said = f"{'complete' if complete else 'incomplete'}: {basis}"
    return JudgedWindow(complete=complete, basis=said, expected=expected)


def waits(rows: float, *, share: float, supplies: Sequence[Supply]) -> bool:
    """Whether an incomplete window has all that its supplies have, and lacks only what they lack themselves."""
    return bool(supplies) and all(rows >= share * supply.rows for supply in supplies)


def share_asked(tree: Assertion) -> float:
    """The share of its upstream's rows from which on a freshness assertion calls a window complete."""
    metrics = (operand for operand in operands(tree) if isinstance(operand, Metric))
    shares = (metric.spec.option(freshness.COMPLETE, 1.0) for metric in metrics if metric.spec.name == freshness.NAME)
    return min((float(share or 0.0) for share in shares), default=1.0)


def freshness_value(*, complete: bool, measured_at: datetime, window_end: datetime) -> float:
    """0 for a complete window, else the seconds from its end to the measurement (negative before its end)."""
    return 0.0 if complete else (measured_at - window_end).total_seconds()


def is_covered(window: Window, pieces: Iterable[Window]) -> bool:
    """Whether the pieces together leave no gap in ``window``."""
    reached = window.start
    for piece in sorted(pieces, key=lambda piece: piece.start):
        if piece.start > reached:
            break
        reached = max(reached, piece.end)
    return reached >= window.end


def same_weekdays(window: Window, partitioning: Partitioning) -> tuple[Window, ...]:
    """Earlier windows that should look like this one, newest first: of the same weekday, or simply the previous."""
    if partitioning.granularity in (Granularity.WEEK, Granularity.MONTH):
        return tuple(reversed(partitioning.previous(window, USUAL_WINDOWS)))
    return tuple(_weeks_before(window, weeks, partitioning.zone) for weeks in range(1, USUAL_WINDOWS + 1))


def _weeks_before(window: Window, weeks: int, zone: ZoneInfo) -> Window:
    step = Step(amount=-weeks, unit=StepUnit.WEEK)
    return Window(start=shift(window.start, step, zone), end=shift(window.end, step, zone))
