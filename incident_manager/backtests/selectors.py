"""What a backtest reads: results of past windows, times that are known to have been bad, and what explains what."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q

from alerting.inhibition.causes import Spot, Trouble
from alerting.inhibition.rules import AlertAction, EffectTerms, decide
from alerting.inhibition.selectors import closure, size_of_run
from alerting.inhibition.sizes import UNKNOWN_SIZE, Size
from alerting.verdicts.evidence import seen
from assay.catalog.selectors import slas, upstream_map
from assay.models import ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.planning.catalog_sources import Sources
from execution_engine.runs.past_results import PastResults, past_results
from incident_manager.incidents.lifecycle import How
from incident_manager.intervals import Intervals, union
from incident_manager.models import EntryKind, Incident, Resolution, SpoiltWindow
from incident_manager.scores.resolutions import CONFIRMED, HOW
from incident_manager.scores.rules import REAL

from .rules import BacktestIncident, BacktestTerms, Muted, PastWindow

Runs = Mapping[Window, Sequence[Run]]


@dataclass(frozen=True, kw_only=True)
class FoundWindow:
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


@dataclass(frozen=True, kw_only=True)
class FoundPast:
    """All windows of the range that have results, and what is missing of the others."""

    windows: tuple[FoundWindow, ...]
    rest: PastResults


def find_past(
    test: DataTest, windows: Sequence[Window], terms: BacktestTerms, now: datetime, sources: Sources
) -> FoundPast:
    """The results of each window: as live runs of this very assertion told them, else by stored measurements."""
    live = live_runs(test, windows)
    rest = past_results(test, [window for window in windows if window not in live], now, sources)
    freshness = slas(test.dataset).freshness
    changes = _changes(test.dataset, windows)
    found = []
    for window in windows:
        runs = live.get(window) or rest.runs.get(window)
        if not runs:
            continue
        scheduled = [run.due_at for run in live.get(window, ()) if run.reason == RunReason.SCHEDULE]
        due_at = min(scheduled, default=window.end + freshness)
        first = runs[0].measured_at or due_at
        late = window not in live and first > due_at + max(terms.sustain, terms.period)
        found.append(
            FoundWindow(
                window=window,
                due_at=due_at,
                runs=tuple(runs),
                measured_late=late,
                changed_since=late and any(due_at < at <= first for at in changes.get(window, ())),
            )
        )
    return FoundPast(windows=tuple(found), rest=rest)


def live_runs(test: DataTest, windows: Sequence[Window]) -> Runs:
    """What runs of the test found while it asserted what it asserts now, in the order of their measurements."""
    if test.pk is None or not windows or test.revision is None:
        return {}
    rows = Run.objects.filter(
        data_test=test.pk,
        revision__assertion=test.revision.assertion,
        evaluated_at__isnull=False,
        window_start__gte=min(window.start for window in windows),
        window_start__lte=max(window.start for window in windows),
    ).exclude(reason=RunReason.BACKTEST)
    found: dict[Window, list[Run]] = defaultdict(list)
    for run in rows.select_related("revision").order_by("measured_at", "pk"):
        run.data_test = test
        found[run.window].append(run)
    return {window: found[window] for window in windows if window in found}


def _changes(dataset: Dataset, windows: Sequence[Window]) -> dict[Window, list[datetime]]:
    """When the data of each window was written again, as far as anybody noticed."""
    rows = DataChange.objects.filter(dataset=dataset).exclude(kind=ChangeKind.COMPLETED)
    found: dict[Window, list[datetime]] = defaultdict(list)
    if windows:
        start, end = min(window.start for window in windows), max(window.end for window in windows)
        for change in rows.filter(window_start__lt=end, window_end__gt=start):
            for window in windows:
                if window.overlaps(change.window):
                    found[window].append(change.at)
    return found


def known_bad(dataset: Dataset, span: Window) -> Intervals:
    """When the dataset is known to have been bad: incidents that were real, and reports that were confirmed."""
    rows = Incident.objects.filter(dataset=dataset, detected_at__lt=span.end).filter(
        Q(resolved_at__isnull=True) | Q(resolved_at__gt=span.start),
        Q(kind=EntryKind.DETECTED) | Q(report__state__in=CONFIRMED),
    )
    found = []
    for row in rows.prefetch_related("episodes"):
        how = HOW[row.resolution] if row.resolution else None
        if row.kind == EntryKind.DETECTED and how not in REAL:
            continue
        for episode in row.episodes.all():
            end = episode.closed_at or span.end
            if episode.opened_at < end:
                found.append(Window(start=episode.opened_at, end=end))
    return union(found)


class Causes:
    """Other troubles of a dataset and of what feeds it, as they were at any instant of the past."""

    def __init__(self, dataset: Dataset, category: str, terms: BacktestTerms, *, sizes: Mapping[Window, Size]) -> None:
        lineage = upstream_map()
        reached = closure(dataset.pk, lineage)
        self._upstreams = {str(id_): frozenset(map(str, lineage.get(id_, ()))) for id_ in reached}
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

    def __call__(self, one: BacktestIncident, at: datetime) -> Muted | None:
        """What explains every window of an incident then, and when to ask again; None where nothing does."""
        effect = Trouble(
            id=0,
            dataset=str(self._dataset.pk),
            category=self._category,
            spots=tuple(
                Spot(window=window, since=one.opened_at, size=self._sizes.get(window, UNKNOWN_SIZE))
                for window in one.windows
            ),
            since=one.opened_at,
            failed_at=one.opened_at,
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
        found, names = [], {}
        for number, ((dataset_id, category), rows) in enumerate(sorted(by_place.items()), 1):
            names[number] = f"{category} of {rows[0].dataset.full_name}"
            found.append(
                Trouble(
                    id=number,
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
        return found, names


@dataclass(frozen=True, kw_only=True)
class LiveIncident:
    """One incident by the windows of one test: when they were spoilt and healed, and when its owner was told."""

    opened_at: datetime
    resolved_at: datetime | None
    windows: tuple[Window, ...]
    told_at: datetime | None


def live_incidents(test: DataTest, span: Window) -> tuple[LiveIncident, ...]:
    """The incidents that the test had in the range, as far as they were its own, the oldest first."""
    rows = SpoiltWindow.objects.filter(data_test=test, spoilt_at__gte=span.start, spoilt_at__lt=span.end)
    by_incident: dict[int, list[SpoiltWindow]] = defaultdict(list)
    for row in rows.exclude(how=How.WITHDRAWN.value).select_related("incident__alert"):
        by_incident[row.incident_id].append(row)
    found = [_live(own) for own in by_incident.values()]
    return tuple(sorted(found, key=lambda one: one.opened_at))


def _live(own: Sequence[SpoiltWindow]) -> LiveIncident:
    healed = [row.healed_at for row in own if row.healed_at is not None]
    alert = own[0].incident.alert
    return LiveIncident(
        opened_at=min(row.spoilt_at for row in own),
        resolved_at=max(healed) if len(healed) == len(own) else None,
        windows=tuple(sorted({row.window for row in own}, key=lambda window: window.start)),
        told_at=alert.told_at if alert else None,
    )
