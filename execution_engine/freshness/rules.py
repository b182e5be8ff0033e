"""When a window is complete, and how late it is (pure): the rules behind ``freshness(complete=c)``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil, sqrt
from statistics import median

from assay.time.durations import Step, StepUnit, shift
from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.language.tree import Assertion, Metric, operands
from execution_engine.metrics.definitions import freshness

# How many rows completion events tell of (pure): what a window without an upstream is held to.


@dataclass(frozen=True, kw_only=True)
class CompletionEvent:
    """One completion event: the window that it names, and the rows that its run has written there, if it tells."""

    window: Window
    rows: int | None = None
    overwrites: bool | None = None  # whether the run replaced what was there; None: it does not say
    run: str = ""  # the pipeline's own name of the run: an event that comes twice counts once


def rows_told(window: Window, events: Iterable[CompletionEvent], *, there: float) -> int | None:
    """The rows that should be there by the events in the order in which they came; None where none tells a number.

    Runs add to what others have written, save those that overwrite. A run that does not say so has overwritten too
    if exactly its rows are there. An event of a longer window does not say how many rows this one has.
    """
    events_by_key: dict[object, CompletionEvent] = {}
    seen: set[object] = set()
    for number, event in enumerate(event for event in events if window.contains(event.window)):
        key = (event.run, event.window) if event.run else number
        if key not in seen and event.overwrites:
            events_by_key = {
                other: earlier for other, earlier in events_by_key.items() if not event.window.contains(earlier.window)
            }
        if key not in seen or key in events_by_key:
            events_by_key[key] = event
        seen.add(key)
    counted = [event for event in events_by_key.values() if event.rows is not None]
    newest = counted[-1] if counted else None
    if newest is not None and newest.overwrites is None and newest.window == window and newest.rows == there:
        return newest.rows
    return sum(event.rows or 0 for event in counted) if counted else None


USUAL_WINDOWS = 8  # of the same weekday are looked at
USUAL_NEEDED = 3  # of them must be known
DEVIATIONS = 3  # of a count are chance
ALARMS = 0.002  # of both ends of the forecast's band: 99.9 % of the windows reach its lower end
HALF = 0.5  # of the usual rows: a band that reaches down there cannot tell half a load from a whole one


class WindowEvidence(StrEnum):
    """What a judgement of a window stands on."""

    BEFORE = "before"  # it was complete before, and its completeness test answers for it since
    UPSTREAM = "upstream"  # the rows of one-to-one upstreams, or of home
    COMPLETION = "completion"  # a completion event that names the window
    SAMPLE = "sample"  # keys drawn from sampled upstreams
    FORECAST = "forecast"  # the rows of windows like it
    NOTHING = "nothing"  # any rows: whether these are all cannot be known


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What a window is measured against: the same window of a one-to-one upstream, or at home."""

    rows: float
    complete: bool
    name: str = "its upstream"
    expected: float | None = None  # rows, once it is complete


@dataclass(frozen=True, kw_only=True)
class SampledSupply:
    """How many keys were drawn from the same window of a sampled upstream, and how many of them are here."""

    size: float
    present: float
    name: str


@dataclass(frozen=True, kw_only=True)
class JudgedWindow:
    """Whether a window is complete, what that stands on as a word and as people read it, and the rows wanted."""

    complete: bool
    evidence: WindowEvidence
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
    event_rows: int | None = None,
    samples: Sequence[SampledSupply] = (),
) -> JudgedWindow:
    """Whether a window with so many rows is complete.

    Against its supplies, where it has any; else a completion event named it (``announced``), and it has the share
    asked for of the ``event_rows``, if the event told of rows; else it has that share of the keys that were drawn
    from its sampled upstreams; else at least as many rows as 99.9 % of the windows like it have, by a forecast from the
    ``usual`` ones, where that can tell half a load from a whole one; else any rows at all, and nobody can know. An
    empty window is complete only where the dataset allows that.
    """
    is_there = rows > 0 or allow_empty
    if supplies:
        most = max(supplies, key=lambda supply: supply.rows)  # by the supply that asks for most
        counted = f"{rows:,.0f} of {most.rows:,.0f} rows of {most.name}"
        if waiting := [supply.name for supply in supplies if not supply.complete]:  # which says more than any number
            expected = max((supply.expected for supply in supplies if supply.expected is not None), default=None)
            waiting_for = f"{counted}; {', '.join(waiting)} not complete yet"
            return _judged(False, WindowEvidence.UPSTREAM, waiting_for, expected=expected)
        is_complete = is_there and rows >= share * most.rows
        return _judged(is_complete, WindowEvidence.UPSTREAM, counted, expected=most.rows)
    if announced and event_rows is not None:
        counted = f"{rows:,.0f} of {event_rows:,} rows that the pipeline told of"
        return _judged(is_there and rows >= share * event_rows, WindowEvidence.COMPLETION, counted, expected=event_rows)
    if not is_there:
        return _judged(False, WindowEvidence.NOTHING, "no rows")
    if announced:
        counted = f"{rows:,.0f} rows, and the pipeline says that these are all"
        return _judged(True, WindowEvidence.COMPLETION, counted)
    if drawn := [sample for sample in samples if sample.size]:
        worst = min(drawn, key=lambda sample: sample.present / sample.size)
        counted = f"{worst.present:,.0f} of {worst.size:,.0f} keys drawn from {worst.name} are here"
        return _judged(worst.present >= share * worst.size, WindowEvidence.SAMPLE, counted)
    if len(usual) < USUAL_NEEDED:
        unknown = "whether these are all cannot be known, as nothing says yet how many there should be"
        return _judged(True, WindowEvidence.NOTHING, f"{rows:,.0f} rows; {unknown}")
    return _judge_by_forecast(rows, usual)


def _judge_by_forecast(rows: float, usual: Sequence[float]) -> JudgedWindow:
    """Whether a window has what those like it have; where half of that could be all, nobody can know."""
    least, middle = least_rows(usual), median(usual)
    if rows >= least and middle and least <= HALF * middle:
        any_number = f"any number from {least:,} on" if least else "any number"
        why = f"as after {len(usual)} windows like it {any_number} would be usual"
        unknown = f"{rows:,.0f} rows; whether these are all cannot be known, {why}"
        return _judged(True, WindowEvidence.NOTHING, unknown, expected=middle)
    counted = f"{rows:,.0f} rows, of at least {least:,} expected after {len(usual)} windows like it"
    return _judged(rows >= least, WindowEvidence.FORECAST, counted, expected=middle)


def least_rows(usual: Sequence[float]) -> int:
    """The rows that 99.9 % of the windows reach, by a forecast from those of windows alike.

    A count varies by its square root of itself, so three equal windows do not make one row fewer an incomplete window.
    """
    from execution_engine.anomalies.strategies import Predictive  # with it numpy, for which a gate need not wait

    low, _ = Predictive(alarms=ALARMS, min_values=USUAL_NEEDED).expected(usual)
    middle = median(usual)
    by_chance = middle - DEVIATIONS * sqrt(middle)
    return max(ceil(min(low, by_chance)), 0)


def _judged(complete: bool, evidence: WindowEvidence, basis: str, expected: float | None = None) -> JudgedWindow:
    text = f"{'complete' if complete else 'incomplete'}: {basis}"
    return JudgedWindow(complete=complete, evidence=evidence, basis=text, expected=expected)


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
    steps = [Step(amount=-weeks, unit=StepUnit.WEEK) for weeks in range(1, USUAL_WINDOWS + 1)]
    ends = [[shift(at, step, partitioning.zone) for at in (window.start, window.end)] for step in steps]
    return tuple(Window(start=start, end=end) for start, end in ends)
