"""A backtest: what a test, written or not, would have raised over a range of the past. It writes no result."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from alerting.inhibition.rules import AlertAction, EffectTerms, Spot, Trouble, decide
from alerting.inhibition.selectors import named_upstreams, size_of_run
from alerting.inhibition.sizes import UNKNOWN_SIZE, Size
from alerting.verdicts.evidence import seen
from assay.catalog.selectors import begins_at, lineage_above, slas
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest, Scope, Severity
from assay.time.durations import format_duration
from assay.time.windows import Window
from execution_engine.exact import from_json as number
from execution_engine.language.evaluate import of_known
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import By, operands
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.planning.catalog_sources import Sources
from execution_engine.runs.evaluate_runs import zero_of
from execution_engine.runs.past_results import (
    PastResults,
    ask_for_missing,
    past_results,
    scans_for_missing,
    usual_seconds,
)
from execution_engine.runs.shown_results import Veil
from execution_engine.selectors import period
from execution_engine.services import snapshot_objection
from incident_manager.incidents.lifecycle import ENDED, REAL, How
from incident_manager.intervals import START, Intervals, union
from incident_manager.models import CONFIRMED, EntryKind, Incident, Resolution, SpoiltWindow
from test_generator.data_tests import draft

from .rules import BacktestBound, BacktestIncident, BacktestTerms, Muted, PastWindow, Raised, other_bounds, raised

# What a backtest reads: results of past windows, times that are known to have been bad, and what explains what.


@dataclass(frozen=True, kw_only=True)
class WindowRuns:
    """One past window with the results there are, and what is to be said of them."""

    window: Window
    due_at: datetime
    runs: tuple[Run, ...]
    measured_late: bool = False  # only long after it was due: what is found counts as if it had been found then
    changed_since: bool = False  # its data was written again between then and its first measurement

    @property
    def past(self) -> PastWindow:
        """As the rules take it."""
        results = tuple(seen(run) for run in self.runs)
        if self.measured_late:
            results = (replace(results[0], measured_at=self.due_at), *results[1:])
        return PastWindow(window=self.window, due_at=self.due_at, results=results)


def find_past(
    test: DataTest,
    windows: Sequence[Window],
    terms: BacktestTerms,
    now: datetime,
    sources: Sources,
    *,
    as_of_due: bool = False,
) -> tuple[tuple[WindowRuns, ...], PastResults]:
    """The windows that have results, and what is missing of the others.

    Results are those that live runs of this very assertion told, else those of stored measurements: of the data as it
    is, or ``as_of_due`` as it was when each window was due.
    """
    live, freshness = live_runs(test, windows), slas(test.dataset).freshness
    others = [window for window in windows if window not in live]
    instants = {window: {"*": (window.end + freshness).isoformat()} for window in others if as_of_due}
    rest = past_results(test, others, now, sources, as_of=instants)
    rewritten = DataChange.objects.filter(  # as far as anybody noticed
        dataset=test.dataset, window_start__lt=windows[-1].end, window_end__gt=windows[0].start
    )
    changes = [(change.window, change.at) for change in rewritten.exclude(kind=ChangeKind.COMPLETED)]
    past_windows = []
    for window in windows:
        runs = live.get(window) or rest.runs.get(window)
        if not runs:
            continue
        scheduled = [run.due_at for run in live.get(window, ()) if run.reason == RunReason.SCHEDULE]
        due_at = min(scheduled, default=window.end + freshness)
        first = runs[0].measured_at or due_at
        late = window not in live and first > due_at + max(terms.sustain, terms.period)
        is_as_now = late and not as_of_due
        since = is_as_now and any(due_at < at <= first and window.overlaps(changed) for changed, at in changes)
        past_windows.append(
            WindowRuns(window=window, due_at=due_at, runs=tuple(runs), measured_late=late, changed_since=since)
        )
    return tuple(past_windows), rest


def live_runs(test: DataTest, windows: Sequence[Window]) -> Mapping[Window, Sequence[Run]]:
    """What runs of the test found while it asserted what it asserts now, in the order of their measurements."""
    if test.pk is None or test.revision is None:
        return {}
    rows = Run.objects.filter(
        data_test=test.pk,
        revision__assertion=test.revision.assertion,
        evaluated_at__isnull=False,
        window_start__gte=windows[0].start,
        window_start__lte=windows[-1].start,
    ).exclude(reason=RunReason.BACKTEST)
    runs_by_window: dict[Window, list[Run]] = defaultdict(list)
    for run in rows.select_related("revision").order_by("measured_at", "pk"):
        run.data_test = test
        runs_by_window[run.window].append(run)
    return {window: runs_by_window[window] for window in windows if window in runs_by_window}


def bad_intervals(dataset: Dataset, span: Window) -> Intervals:
    """When the dataset is known to have been bad: incidents that were real, and reports that were confirmed."""
    rows = Incident.objects.filter(dataset=dataset, detected_at__lt=span.end).filter(
        Q(resolved_at__isnull=True) | Q(resolved_at__gt=span.start),
        Q(kind=EntryKind.DETECTED) | Q(report__state__in=CONFIRMED),
    )
    windows = []
    for row in rows.prefetch_related("episodes"):
        if row.kind == EntryKind.DETECTED and ENDED[row.resolution] not in REAL:
            continue
        for episode in row.episodes.all():
            end = episode.closed_at or span.end
            if episode.opened_at < end:
                windows.append(Window(start=episode.opened_at, end=end))
    return union(windows)


class Causes:
    """Other troubles of a dataset and of what feeds it, as they were at any instant of the past."""

    def __init__(self, dataset: Dataset, category: str, terms: BacktestTerms, *, sizes: Mapping[Window, Size]) -> None:
        lineage = lineage_above(dataset.pk)
        self._upstreams, reached = named_upstreams(lineage), lineage.keys()
        self._dataset, self._category, self._terms, self._sizes = dataset, category, terms, sizes
        rows = SpoiltWindow.objects.filter(dataset__in=reached, data_test__isnull=False).exclude(
            how__in=(Resolution.FORCED, Resolution.REDEFINED)
        )
        self._rows = [
            row
            for row in rows.select_related("incident", "dataset")
            if (row.dataset_id, row.incident.category) != (dataset.pk, category)
        ]
        tests = {row.data_test_id for row in self._rows}
        broken = Run.objects.filter(data_test__in=tests, outcome=Outcome.BROKEN).select_related("revision", "data_test")
        self._size_of: dict[tuple[int | None, Window], Size] = {
            (run.data_test_id, run.window): size_of_run(run, category=run.data_test.category, tree=run.revision.tree)
            for run in broken.order_by("measured_at", "pk")
        }

    def __call__(self, incident: BacktestIncident, at: datetime) -> Muted | None:
        """What explains every window of an incident then, and when to ask again; None where nothing does."""
        effect = Trouble(
            id=0,
            dataset=str(self._dataset.pk),
            category=self._category,
            spots=tuple(
                Spot(window=window, since=incident.opened_at, size=self._sizes.get(window, UNKNOWN_SIZE))
                for window in incident.windows
            ),
            since=incident.opened_at,
            failed_at=incident.opened_at,
        )
        terms = EffectTerms(sustain=self._terms.sustain, grace=self._terms.grace, measured_at=at)
        others, names = self._troubles(at)
        decision = decide(effect, (effect, *others), self._upstreams, terms, now=at)
        if decision.action is AlertAction.NOTIFY or decision.cause_id is None:
            return None
        healed = [row.healed_at for row in self._rows if row.healed_at is not None and row.healed_at > at]
        ends = [end + self._terms.grace for end in healed] + ([decision.until] if decision.until else [])
        return Muted(cause=names[decision.cause_id], again_at=min((end for end in ends if end > at), default=None))

    def _troubles(self, at: datetime) -> tuple[list[Trouble], dict[int, str]]:
        by_place: dict[tuple[int, str], list[SpoiltWindow]] = defaultdict(list)
        for row in self._rows:
            if row.spoilt_at <= at and (row.healed_at is None or row.healed_at > at):
                by_place[row.dataset_id, row.incident.category].append(row)
        troubles, names = [], {}
        for place, ((dataset_id, category), rows) in enumerate(sorted(by_place.items()), 1):
            names[place] = f"{category} of {rows[0].dataset.full_name}"
            troubles.append(
                Trouble(
                    id=place,
                    dataset=str(dataset_id),
                    category=category,
                    spots=tuple(
                        Spot(
                            window=row.window,
                            datacenter=row.datacenter or None,
                            since=row.spoilt_at,
                            size=self._size_of.get((row.data_test_id, row.window), UNKNOWN_SIZE),
                        )
                        for row in rows
                    ),
                    since=min(row.spoilt_at for row in rows),
                    failed_at=min(row.spoilt_at for row in rows),
                )
            )
        return troubles, names


MOST_WINDOWS = 1000


class UnableToBacktest(ValueError):
    """A backtest that cannot be made; the message says why, and what to ask instead."""


@dataclass(frozen=True, kw_only=True)
class WithOtherBound:
    """What the test would have raised with another bound."""

    other: BacktestBound
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
    windows: tuple[WindowRuns, ...]
    raised: Raised
    others: tuple[WithOtherBound, ...]
    missing: tuple[Window, ...]
    unknowable: dict[Window, str]
    scans: int
    seconds: timedelta | None


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
    as_of_due: bool = False,
) -> Backtest:
    """What the test would have raised over the windows that start in the range and were due by now.

    The range starts with the first partition that ever existed at the earliest. ``measure`` asks for what was never
    measured, as a run would; ask for the backtest again when that is taken. ``as_of_due`` takes each window from the
    snapshot of when it was due. Raises UnableToBacktest for a test of a whole table, for too many windows, and for a
    table without snapshots.
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
    if as_of_due and (objection := snapshot_objection(test.dataset)):
        raise UnableToBacktest(objection)
    past_windows, rest = find_past(test, windows, terms, now, sources, as_of_due=as_of_due)
    if measure and rest.missing:
        ask_for_missing(rest, now, sources)
    start = max(start, begins_at(test.dataset) or start)
    return _report(test, past_windows, rest, terms, Window(start=start, end=min(end, now)))


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


def _report(
    test: DataTest, past_windows: Sequence[WindowRuns], rest: PastResults, terms: BacktestTerms, span: Window
) -> Backtest:
    assert test.revision is not None
    bad, scans, seconds = bad_intervals(test.dataset, span), scans_for_missing(rest), usual_seconds(test.dataset_id)
    tree = from_json(test.revision.tree)
    sizes = {
        window_runs.window: size_of_run(run, category=test.category, tree=test.revision.tree)
        for window_runs in past_windows
        for run in window_runs.runs
        if run.outcome == Outcome.BROKEN
    }
    causes = Causes(test.dataset, test.category, terms, sizes=sizes)

    def raised_by(windows: Sequence[PastWindow]) -> Raised:
        return raised(windows, terms, bad_intervals=bad, span=span, explained=causes)

    values = [run.value for window_runs in past_windows for run in window_runs.runs[:1] if run.value is not None]
    return Backtest(
        test=test,
        terms=terms,
        span=span,
        windows=tuple(past_windows),
        raised=raised_by([window_runs.past for window_runs in past_windows]),
        others=tuple(
            WithOtherBound(
                other=other, raised=raised_by([_by_bound(window_runs, test, other) for window_runs in past_windows])
            )
            for other in ([] if isinstance(tree, By) else other_bounds(tree, values))
        ),
        missing=tuple(rest.missing),
        unknowable=rest.unknowable,
        scans=scans,
        seconds=None if seconds is None else timedelta(seconds=seconds * scans),
    )


def _by_bound(window_runs: WindowRuns, test: DataTest, other: BacktestBound) -> PastWindow:
    """The window as the same values would have been judged by another bound; as it was, of operands not kept."""
    results = []
    for run, result in zip(window_runs.runs, window_runs.past.results, strict=True):
        values_by_operand = {text: number(value) for text, value in run.operands.items()}
        if result.outcome is not Outcome.ERROR and all(
            operand.text in values_by_operand for operand in operands(other.tree)
        ):
            result = replace(result, outcome=of_known(other.tree, values_by_operand, zero=zero_of(test)).outcome)
        results.append(result)
    return replace(window_runs.past, results=tuple(results))


# A backtest as one JSON object, the same for the command, the API and the page.


def as_json(result: Backtest, veil: Veil) -> dict[str, Any]:
    """All that a backtest found; what must not be told now has no value and no sentence."""
    revision = result.test.revision
    partitioning = result.test.dataset.partitioning
    assert revision is not None
    assert partitioning is not None
    hidden = veil.hides(revision, result.test.dataset)
    return {
        "dataset": result.test.dataset.full_name,
        "test": result.test.name or None,
        "revision": revision.number if result.test.pk else None,
        "assertion": revision.assertion,
        "severity": revision.severity,
        "sustain": format_duration(result.terms.sustain),
        "grace": format_duration(result.terms.grace),
        "from": result.span.start.isoformat(),
        "to": result.span.end.isoformat(),
        **raised_json(result.raised),
        "incidents": [
            {
                "opened_at": incident.opened_at.isoformat(),
                "resolved_at": _instant(incident.resolved_at),
                "seconds": incident.duration.total_seconds(),
                "windows": [window.text for window in incident.windows],
                "told_at": _instant(incident.told_at),
                "muted_by": incident.muted_by,
            }
            for incident in result.raised.incidents
        ],
        "live_incidents": _live_incidents(result.test, result.span) if result.test.pk else [],
        "bounds": [
            {"assertion": bound.other.text, "looser": bound.other.is_looser, **raised_json(bound.raised)}
            for bound in result.others
        ],
        "windows": [
            _window(window_runs, key=partitioning.key(window_runs.window), hidden=hidden)
            for window_runs in result.windows
        ],
        "not_measured": [window.text for window in result.missing],
        "cannot_be_known": {window.text: why for window, why in result.unknowable.items()},
        "scans_needed": result.scans,
        "seconds_needed": None if result.seconds is None else round(result.seconds.total_seconds(), 1),
    }


def raised_json(raised: Raised) -> dict[str, Any]:
    """The figures of one rule."""
    return {
        "held": raised.held,
        "broken": raised.broken,
        "unjudged": raised.unjudged,
        "alerts": len(raised.incidents),
        "notices": raised.notices,
        "alerts_a_week": _rounded(raised.a_week(len(raised.incidents))),
        "notices_a_week": _rounded(raised.a_week(raised.notices)),
        "precision": raised.precision,
        "recall": raised.recall,
    }


def _live_incidents(test: DataTest, span: Window) -> list[dict[str, Any]]:
    """The incidents that the test had in the range, as far as they were its own, the oldest first."""
    rows = SpoiltWindow.objects.filter(data_test=test, spoilt_at__gte=span.start, spoilt_at__lt=span.end)
    by_incident: dict[int, list[SpoiltWindow]] = defaultdict(list)
    for row in rows.exclude(how=How.WITHDRAWN.value).select_related("incident__alert").order_by("spoilt_at", "pk"):
        by_incident[row.incident_id].append(row)
    live_incidents = []
    for own in by_incident.values():
        healed, alert = [row.healed_at for row in own if row.healed_at is not None], own[0].incident.alert
        live_incidents.append(
            {
                "opened_at": own[0].spoilt_at.isoformat(),
                "resolved_at": _instant(max(healed) if len(healed) == len(own) else None),
                "windows": [window.text for window in sorted({row.window for row in own}, key=START)],
                "told_at": _instant(alert.told_at if alert else None),
            }
        )
    return live_incidents


def run_of(window_runs: WindowRuns) -> Run:
    """The result that is told of a window: the first from when it was due, else the newest."""
    judged = [run for run in window_runs.runs if run.outcome != Outcome.ERROR]
    first = next((run for run in judged if run.measured_at and run.measured_at >= window_runs.due_at), None)
    return first or (judged or window_runs.runs)[-1]


def _window(window_runs: WindowRuns, *, key: str, hidden: bool) -> dict[str, Any]:
    run = run_of(window_runs)
    return {
        "window": window_runs.window.text,
        "key": key,
        "due_at": window_runs.due_at.isoformat(),
        "outcome": run.outcome,
        "value": None if hidden else run.value,
        "sentence": "" if hidden else run.sentence,
        "results": len(window_runs.runs),
        "measured_late": window_runs.measured_late,
        "changed_since": window_runs.changed_since,
    }


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
