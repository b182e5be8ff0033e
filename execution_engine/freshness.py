"""When a window is complete, and how late it is (pure): the rules behind ``freshness(complete=c)``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from zoneinfo import ZoneInfo

from assay.steps import StepUnit
from assay.windows import Granularity, Partitioning, Step, Window, shift
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, Metric
from execution_engine.planning import SHARE_OPTION

USUAL_WINDOWS = 6  # of the same weekday are looked at
USUAL_NEEDED = 3  # of them must be known
USUAL_SHARE = 0.5  # of their median makes a window complete


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What a window is measured against: the same window of a one-to-one upstream, or at home."""

    rows: float
    complete: bool


def is_complete(
    rows: float,
    *,
    share: float,
    supplies: Sequence[Supply],
    announced: bool,
    usual: Sequence[float],
    allow_empty: bool,
) -> bool:
    """Whether a window with so many rows is complete.

    Against its supplies, where it has any; else a completion event named it (``announced``), else it has half the
    rows usual on its weekday, else any rows at all. An empty window is complete only where the dataset allows that.
    """
    if rows <= 0 and not allow_empty:
        return False
    if supplies:
        return all(supply.complete and rows >= share * supply.rows for supply in supplies)
    if announced:
        return True
    return len(usual) < USUAL_NEEDED or rows >= USUAL_SHARE * median(usual)


def share_asked(tree: Assertion) -> float:
    """The share of its upstream's rows from which on a freshness assertion calls a window complete."""
    metrics = (operand for operand in operands(tree) if isinstance(operand, Metric))
    shares = (metric.spec.option(SHARE_OPTION, 1.0) for metric in metrics if metric.spec.name == "freshness")
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
