"""What a test would have raised over past windows: the live fold, incidents and scores, replayed (pure)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median

from alerting.state import State
from alerting.verdicts.sustain import SeenRun, first_run, fold, streak_fails, unknown_after, with_streak
from assay.time.windows import Window
from execution_engine.language.evaluate import only_predicate
from execution_engine.language.serialise import to_text
from execution_engine.language.tree import (
    Between,
    By,
    Comparator,
    Comparison,
    Condition,
    Duration,
    Expression,
    Negative,
    Not,
    Number,
    Percentage,
)
from execution_engine.outcome import Outcome
from incident_manager.incidents.lifecycle import How, reopens
from incident_manager.intervals import START, Intervals, clip, subtract, total, union

# Three looser and three stricter bounds than that of an assertion, in steps that its own values give (pure).

STRICTER = (0.75, 0.5, 0.25)  # of the distance between the bound and the median of the values
LOOSER = (1.25, 1.5, 2.0)
OF_NO_DISTANCE = 0.01  # of the bound, where the median is the bound itself
LOOSER_STEPS = dict(zip(LOOSER, (1, 2, 5), strict=True))
DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class BacktestBound:
    """An assertion with another bound."""

    text: str
    is_looser: bool
    tree: Condition


def other_bounds(tree: Condition | By, values: Sequence[float]) -> list[BacktestBound]:
    """The stricter ones first, the strictest at the start; none where there is no single bound, or no value.

    Each bound moves away from the median of the values, or towards it, by a share of its distance from it.
    """
    only = None if isinstance(tree, By) else only_predicate(tree)
    if only is None or only[1] or isinstance(tree, Not | By) or not values:
        return []
    predicate, middle = only[0], median(values)
    factors = [(factor, False) for factor in sorted(STRICTER)] + [(factor, True) for factor in LOOSER]
    bounds_by_text = {
        to_text(moved): BacktestBound(text=to_text(moved), is_looser=looser, tree=moved)
        for factor, looser in factors
        for moved in _moved(predicate, middle, factor)
    }
    return [bound for text, bound in bounds_by_text.items() if text != to_text(predicate)]


def _moved(predicate: Comparison | Between, middle: float, factor: float) -> Iterator[Condition]:
    if isinstance(predicate, Between):
        low, high = _value(predicate.low), _value(predicate.high)
        if low is not None and high is not None and not predicate.negated and low <= middle <= high:
            lower, upper = _at(predicate.low, middle, factor), _at(predicate.high, middle, factor)
            yield replace(predicate, low=lower, high=upper)
        return
    if predicate.comparator in (Comparator.EQUAL, Comparator.UNEQUAL):
        return
    is_mirrored = _value(predicate.left) is not None
    bound = predicate.left if is_mirrored else predicate.right
    value = _value(bound)
    upper_side = (predicate.comparator in (Comparator.LESS, Comparator.AT_MOST)) is not is_mirrored
    if value is None or (middle > value if upper_side else middle < value):
        return
    other = _at(bound, middle, factor, upwards=upper_side)
    yield replace(predicate, left=other) if is_mirrored else replace(predicate, right=other)


def _at(bound: Expression, middle: float, factor: float, *, upwards: bool | None = None) -> Expression:
    """The bound so far from the median; where that is the bound itself, a hundredth of it looser for each step."""
    value = _value(bound)
    assert value is not None
    moved = middle + (value - middle) * factor
    if value == middle and factor > 1 and upwards is not None:
        step = OF_NO_DISTANCE * (abs(value) or 1.0) * LOOSER_STEPS[factor]
        moved = value + step if upwards else value - step
    moved = float(f"{moved:.{DIGITS}g}")
    match bound:
        case Percentage():
            return Percentage(percent=float(f"{moved * 100:.{DIGITS}g}"))
        case Duration():
            return Duration(seconds=float(round(max(moved, 0.0))))
    return Negative(value=Number(value=-moved)) if moved < 0 else Number(value=moved)


def _value(node: Expression) -> float | None:
    """The number that a literal says."""
    match node:
        case Number(value=value):
            return float(value)
        case Negative(value=Number(value=value)):
            return -float(value)
        case Percentage(percent=percent):
            return float(Decimal(repr(percent)) / 100)
        case Duration(seconds=seconds):
            return seconds
    return None


CHECKED_WITHIN = timedelta(minutes=15)  # a check that is so much later than t0 + sustain was the one asked for then
WEEK = timedelta(weeks=1)


@dataclass(frozen=True, kw_only=True)
class BacktestTerms:
    """How results are judged: as a revision of a test says, and the dataset's grace."""

    sustain: timedelta
    period: timedelta
    grace: timedelta
    settles: bool = False  # the first held result is final: freshness beside a completeness test


@dataclass(frozen=True, kw_only=True)
class PastWindow:
    """One window, when it was due, and what results there are of it."""

    window: Window
    due_at: datetime
    results: tuple[SeenRun, ...]

    @property
    def first_outcome(self) -> Outcome | None:
        """What the first result said that held or broke, from when the window was due; None: none did."""
        judged = [result for result in self.results if result.outcome is not Outcome.ERROR]
        return next((result.outcome for result in judged if result.measured_at >= self.due_at), None) or next(
            (result.outcome for result in reversed(judged)), None
        )


@dataclass(frozen=True, kw_only=True)
class Failing:
    """A window from the instant it FAILed to the one it held again; without an end it still fails."""

    window: Window
    t0: datetime
    failed_at: datetime
    healed_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class BacktestIncident:
    """An incident that would have been opened, with the times it was open, and the windows it was of.

    ``told_at`` is when its owner would have been told, None if nobody was: it was over within the grace, or muted.
    """

    episodes: tuple[Window, ...]
    windows: tuple[Window, ...]
    is_open: bool = False  # at the end of the range; its last episode ends there
    told_at: datetime | None = None
    muted_by: str = ""  # what explained it, where nobody was told

    @property
    def opened_at(self) -> datetime:
        """When it was first opened."""
        return self.episodes[0].start

    @property
    def resolved_at(self) -> datetime | None:
        """When it was resolved for good; None while it is open."""
        return None if self.is_open else self.episodes[-1].end

    @property
    def duration(self) -> timedelta:
        """How long it was open in all."""
        return total(self.episodes)


@dataclass(frozen=True, kw_only=True)
class Raised:
    """What a rule would have raised over a range: counts of windows, incidents, and its score against what is known.

    ``precision`` and ``recall`` are by duration; None where nothing was raised, or nothing is known to have been bad.
    """

    held: int
    broken: int
    unjudged: int
    incidents: tuple[BacktestIncident, ...]
    weeks: float
    precision: float | None
    recall: float | None

    @property
    def notices(self) -> int:
        """How many of the incidents somebody would have been told of."""
        return sum(1 for incident in self.incidents if incident.told_at is not None)

    def a_week(self, count: int) -> float | None:
        """So many, for each week of the range."""
        return count / self.weeks if self.weeks else None


@dataclass(frozen=True, kw_only=True)
class Muted:
    """What explains an incident at one instant, and when to ask again; None: nothing will change."""

    cause: str
    again_at: datetime | None


Explains = Callable[[BacktestIncident, datetime], Muted | None]


def raised(
    windows: Sequence[PastWindow],
    terms: BacktestTerms,
    *,
    bad_intervals: Intervals,
    span: Window,
    explained: Explains | None = None,
) -> Raised:
    """What would have been raised until the end of ``span``, whose part that is known to have been bad is the truth."""
    fails = failings(windows, terms, until=span.end)
    backtest_incidents = incidents(fails, terms, until=span.end, explained=explained)
    alerted = clip((window for incident in backtest_incidents for window in incident.episodes), span)
    bad = clip(bad_intervals, span)
    both = total(alerted) - total(subtract(alerted, bad))
    first = [past.first_outcome for past in windows]
    return Raised(
        held=first.count(Outcome.HELD),
        broken=first.count(Outcome.BROKEN),
        unjudged=first.count(None),
        incidents=backtest_incidents,
        weeks=span.duration / WEEK,
        precision=both / total(alerted) if alerted else None,
        recall=both / total(bad) if bad else None,
    )


def failings(windows: Sequence[PastWindow], terms: BacktestTerms, *, until: datetime) -> list[Failing]:
    """Every stretch in which a window FAILs, by the fold and the streak that judge live windows."""
    streaks: Mapping[Window, datetime] = {}
    if terms.period < terms.sustain:
        firsts = (first_run(past.window, due_at=past.due_at, seen=past.results) for past in windows)
        streaks = streak_fails([first for first in firsts if first], sustain=terms.sustain)
    stretches: list[Failing] = []
    for past in windows:
        streak_at, seen = streaks.get(past.window), checked_when_sustained(past, terms, until)
        since: tuple[datetime, datetime] | None = None  # t0 and failed_at
        for instant in sorted({*(run.measured_at for run in seen), *([streak_at] if streak_at else [])}):
            folded = fold(
                [run for run in seen if run.measured_at <= instant],
                due_at=past.due_at,
                sustain=terms.sustain,
                now=instant,
                unknown_after=unknown_after(period=terms.period, sustain=terms.sustain),
                settles=terms.settles and len(past.results) > 1,
            )
            verdict = with_streak(folded, streak_at if streak_at and streak_at <= instant else None)
            if verdict.state is State.FAIL and since is None:
                since = (verdict.t0 or instant, instant)
            elif verdict.state is not State.FAIL and since is not None:
                stretches.append(Failing(window=past.window, t0=since[0], failed_at=since[1], healed_at=instant))
                since = None
        if since is not None:
            stretches.append(Failing(window=past.window, t0=since[0], failed_at=since[1]))
    return stretches


def checked_when_sustained(past: PastWindow, terms: BacktestTerms, until: datetime) -> list[SeenRun]:
    """The results, with the check at t0 + sustain that a live test would have had, which finds what was last found.

    Where such a check is stored, within a quarter of an hour, nothing is added.
    """
    seen = sorted(
        (run for run in past.results if run.measured_at <= until), key=lambda run: (run.measured_at, run.run_id)
    )
    added: list[SeenRun] = []
    t0: datetime | None = None
    for at, run in enumerate(seen):
        if run.outcome is Outcome.ERROR:
            continue
        t0 = None if run.outcome is Outcome.HELD else t0 or max(run.measured_at, past.due_at)
        if t0 is None:
            continue
        due = t0 + terms.sustain
        until_then = [later for later in seen[at + 1 :] if later.measured_at <= due + CHECKED_WITHIN]
        is_checked = any(later.outcome is not Outcome.ERROR or later.measured_at >= due for later in until_then)
        if run.measured_at < due <= until and not is_checked:
            added.append(replace(run, run_id=run.run_id, measured_at=due))
    numbered = (replace(run, run_id=number) for number, run in enumerate([*seen, *added]))
    return sorted(numbered, key=lambda run: (run.measured_at, run.run_id))


def incidents(
    fails: Iterable[Failing], terms: BacktestTerms, *, until: datetime, explained: Explains | None = None
) -> tuple[BacktestIncident, ...]:
    """One open incident at a time, joined by what fails meanwhile, re-opened by what fails soon after it."""
    backtest_incidents: list[BacktestIncident] = []
    for fail in sorted(fails, key=lambda failing: (failing.failed_at, failing.window.start)):
        stretch = Window(start=fail.failed_at, end=max(fail.healed_at or until, fail.failed_at + timedelta.resolution))
        last = backtest_incidents[-1] if backtest_incidents else None
        joins = last is not None and stretch.start <= last.episodes[-1].end
        how = How.AUTO if last is not None and not last.is_open else None
        if last is None or not (
            joins or reopens(how, ended_at=last.episodes[-1].end, failed_at=stretch.start, period=terms.period)
        ):
            backtest_incidents.append(
                BacktestIncident(episodes=(stretch,), windows=(fail.window,), is_open=fail.healed_at is None)
            )
            continue
        backtest_incidents[-1] = replace(
            last,
            episodes=union((*last.episodes, stretch)),
            windows=tuple(sorted({*last.windows, fail.window}, key=START)),
            is_open=last.is_open or fail.healed_at is None,
        )
    return tuple(_with_notice(incident, terms, explained) for incident in backtest_incidents)


def _with_notice(incident: BacktestIncident, terms: BacktestTerms, explained: Explains | None) -> BacktestIncident:
    """With when its owner would have been told: after the grace, while it is open and nothing explains it."""
    for episode in incident.episodes:
        at: datetime | None = episode.start + terms.grace
        while at is not None and at < episode.end:
            muted = explained(incident, at) if explained else None
            if muted is None:
                return replace(incident, told_at=at, muted_by="")
            incident, at = replace(incident, muted_by=muted.cause), muted.again_at
    return incident
