"""What is broken around an alert, in the terms that inhibition decides by."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db.models import QuerySet

from alerting.models import Alert, SliceSearch, SliceTrial, Standing
from alerting.state import BROKEN, State
from alerting.verdicts.evidence import spoilt_place
from assay.catalog.edges import Columns
from assay.catalog.selectors import lineage_above
from assay.models import Category, ChangeKind, DataChange, DataTest, LineageEdge, Replica
from execution_engine.engines.protocol import NO_FILES
from execution_engine.exact import from_json as number
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.freshness.rules import is_covered
from execution_engine.language.serialise import from_json
from execution_engine.models import Measurement, Run, Watch
from execution_engine.outcome import Outcome

from . import rules
from .rules import MISSING, VALUES, Evidence, Place, Spot, Trouble, Upstreams, lost_at, stillness
from .sizes import UNKNOWN_SIZE, BrokenResult, Size, size_of

# What became of the rows that broken windows of freshness lack: late, lost, or to be brought by another table.

RECENT_CHANGES = 200


def missing_rows(
    rows: Sequence[Standing], spots: Sequence[Spot], judges: Sequence[Spot], *, home: str, now: datetime
) -> list[Spot]:
    """The spots of freshness with what is known of their rows; ``judges`` are those where rows were found missing.

    A copy waits if it has all that its supplies have, and lacks only what they lack: it shares home's trouble.
    """
    judged = {(spot.window, spot.datacenter) for spot in judges}
    judged_spots, waiting = [], set()
    for place, (row, spot) in enumerate(zip(rows, spots, strict=True)):
        run = broken_run(row)
        details = [detail for detail in run.findings.values() if isinstance(detail, dict)] if run else []
        if any(detail.get("waits") for detail in details) and run and run.measured_at:
            waiting.add(place)
        elif run and run.measured_at and (spot.window, spot.datacenter) in judged:
            has_rows = any(detail.get("rows") for detail in details)
            instant = _lost_at(row, spot, run.measured_at, has_rows, home)
            spot = replace(spot, lost=instant is not None and instant <= now, lost_at=instant)
        judged_spots.append(spot)
    at_home = {spot.window: spot for spot in judged_spots if spot.datacenter is None}
    return [at_home.get(spot.window, spot) if n in waiting else spot for n, spot in enumerate(judged_spots)]


def _lost_at(row: Standing, spot: Spot, counted_at: datetime, has_rows: bool, home: str) -> datetime | None:
    place = {"dataset": row.data_test.dataset_id, "datacenter": spot.datacenter or home}
    window = spot.window
    watch = Watch.objects.filter(**place, window_start=window.start, window_end=window.end).first()
    changes = DataChange.objects.filter(**place)
    # the newest of the completions that came after the window's end, where all of them name the whole of it
    completions = list(
        changes.filter(
            kind=ChangeKind.COMPLETED, window_start__lt=window.end, window_end__gt=window.start, at__gte=window.end
        ).order_by("-at", "-pk")
    )
    is_complete = bool(completions) and is_covered(window, [change.window for change in completions])
    # what lay between the changes of each recent window before this one
    kinds = (ChangeKind.COMPLETED, ChangeKind.REWRITTEN)
    recent = changes.filter(kind__in=kinds, window_end__lte=window.start).order_by("-window_start", "-pk")
    ordered = sorted((change.window.text, change.at) for change in recent[:RECENT_CHANGES])
    gaps = [later[1] - earlier[1] for earlier, later in pairwise(ordered) if earlier[0] == later[0]]
    return lost_at(
        has_file=has_rows or (watch is not None and watch.fingerprint not in ("", NO_FILES)),
        counted_at=counted_at,
        completed_at=completions[0].at if is_complete else None,
        changed_at=watch.changed_at if watch else None,
        stillness=stillness(sustain=row.revision.sustain, gaps=gaps),
    )


def broken_run(row: Standing) -> Run | None:
    """The newest run that broke a window: an error after it has counted nothing."""
    run = row.last_run
    if run is not None and run.outcome == Outcome.BROKEN:
        return run
    broken = Run.objects.filter(data_test=row.data_test_id, outcome=Outcome.BROKEN, measured_at__isnull=False)
    mine = broken.filter(window_start=row.window_start, window_end=row.window_end)
    return mine.order_by("-measured_at", "-pk").first()


USUAL_WINDOWS = 14


@dataclass(frozen=True, kw_only=True)
class Around:
    """The troubles of a dataset and of all its upstreams, and the lineage between them."""

    troubles: dict[tuple[int, str], Trouble]  # by dataset id and category
    standings: dict[tuple[int, str], list[Standing]]
    alerts: dict[tuple[int, str], Alert]
    upstreams: Upstreams

    def alert(self, trouble_id: int | None) -> Alert | None:
        """The open alert of a trouble, once it has failed."""
        places = (place for place, trouble in self.troubles.items() if trouble.id == trouble_id)
        return next((self.alerts.get(place) for place in places), None)


def around(dataset_id: int, now: datetime) -> Around:
    """Everything un-waived that is WARN or FAIL in a dataset or upstream of it."""
    lineage = lineage_above(dataset_id)
    reached = lineage.keys()
    rows = Standing.objects.filter(
        data_test__dataset__in=reached, data_test__retired_at__isnull=True, state__in=BROKEN, waiver__isnull=True
    )
    homes = dict(Replica.objects.filter(dataset__in=reached, position=0).values_list("dataset_id", "datacenter"))
    standings: dict[tuple[int, str], list[Standing]] = defaultdict(list)
    spots: dict[tuple[int, str], list[Spot]] = defaultdict(list)
    joined = rows.select_related("data_test__dataset", "revision", "last_run").order_by("window_start", "pk")
    trials = trials_of(joined)
    for row in joined:
        test = row.data_test
        spot = Spot(
            window=row.window,
            datacenter=spoilt_place(test, homes.get(test.dataset_id, "")) or None,
            failed=row.state == State.FAIL,
            since=row.broken_since or row.since,
            size=size_of_run(broken_run(row), category=test.category, tree=row.revision.tree),
            trials=trials.get(row.pk, {}),
        )
        standings[test.dataset_id, test.category].append(row)
        spots[test.dataset_id, test.category].append(spot)
    open_alerts = Alert.objects.filter(dataset__in=reached, closed_at__isnull=True)
    alerts = {(alert.dataset_id, alert.category): alert for alert in open_alerts}
    for (dataset, category), place_standings in standings.items():
        if category == Category.FRESHNESS:
            judges = [spot for other in MISSING for spot in spots.get((dataset, other), ())]
            own = spots[dataset, category]
            spots[dataset, category] = missing_rows(place_standings, own, judges, home=homes.get(dataset, ""), now=now)
    troubles = {}
    for id_, (place, place_standings) in enumerate(sorted(standings.items())):
        alert = alerts.get(place)
        troubles[place] = Trouble(
            id=id_,
            dataset=str(place[0]),
            category=place[1],
            spots=tuple(spots[place]),
            since=min(row.broken_since or row.since for row in place_standings),
            failed_at=min((row.since for row in place_standings if row.state == State.FAIL), default=None),
            eta=alert.eta if alert else None,
        )
    return Around(troubles=troubles, standings=dict(standings), alerts=alerts, upstreams=named_upstreams(lineage))


def named_upstreams(lineage: Mapping[int, Mapping[int, Columns]]) -> Upstreams:
    """The upstreams of each dataset, with what is read of them, by the names that troubles bear."""
    return {str(down): {str(up): columns for up, columns in ups.items()} for down, ups in lineage.items()}


def trials_of(standings: Iterable[Standing]) -> dict[int, dict[Place, Evidence]]:
    """What the newest trials of values show, by standing and cause: of several slices one that explains is enough."""
    values = {row.pk: row.broken_since or row.since for row in standings if row.data_test.category in VALUES}
    results: dict[int, dict[Place, Evidence]] = defaultdict(dict)
    rows = SliceTrial.objects.filter(standing__in=values, ended_at__isnull=False).order_by("pk")
    newest = {(row.standing_id, row.search_id): row for row in rows.select_related("search__standing__data_test")}
    for row in sorted(newest.values(), key=lambda row: row.holds is True):
        if row.holds is None or row.requested_at < values[row.standing_id] or not is_of_this_fault(row.search):
            continue  # its rows say nothing, or tell of a fault before this one
        cause = row.search.standing.data_test
        evidence = Evidence(explains=bool(row.holds), reason=row.reason, columns=tuple(row.columns))
        results[row.standing_id][str(cause.dataset_id), cause.category] = evidence
    return results


def is_of_this_fault(search: SliceSearch) -> bool:
    """Whether what was searched has been broken ever since."""
    return search.requested_at >= (search.standing.broken_since or search.standing.since)


def size_of_run(run: Run | None, *, category: str, tree: Any) -> Size:
    """How large the fault is that a broken run found; of unknown size without one."""
    if run is None or run.outcome != Outcome.BROKEN:
        return UNKNOWN_SIZE
    return size_of(broken_result(run, category=category, tree=tree))


def broken_result(run: Run, *, category: str, tree: Any) -> BrokenResult:
    """What a broken run measured."""
    operands = {text: number(value) for text, value in run.operands.items()}
    return BrokenResult(category=category, tree=from_json(tree), operands=operands, findings=run.findings)


def measured_at(rows: list[Standing], otherwise: datetime) -> datetime:
    """When the latest broken result among the standings was measured."""
    runs = [row.last_run for row in rows if row.last_run is not None and row.last_run.outcome == Outcome.BROKEN]
    return max((run.measured_at for run in runs if run.measured_at is not None), default=otherwise)


def usual_delay(dataset_id: int) -> timedelta:
    """How long after its direct upstreams a dataset's windows are usually complete, by the last weeks."""
    upstreams = LineageEdge.objects.filter(downstream=dataset_id).values_list("upstream", flat=True)
    return rules.usual_delay(_completions(dataset_id), [_completions(upstream) for upstream in upstreams])


def _completions(dataset_id: int) -> list[float]:
    """The seconds from each of the last windows' end to when it was found complete."""
    rows = Measurement.objects.filter(dataset=dataset_id, spec_text=TIME_TO_COMPLETE.text, value__isnull=False)
    values = rows.order_by("-window_start").values_list("value", flat=True)[:USUAL_WINDOWS]
    return [value for value in values if value is not None]


# When an alert that is silent must be decided about again before its time.


def silent() -> QuerySet[Alert]:
    """The open alerts that were told to nobody because of something else."""
    return Alert.objects.filter(closed_at__isnull=True, told_at__isnull=True, inhibited_at__isnull=False)


def decide_again(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """After a new result: decide its own alert if it is broken, and those that waited for it once it stops warning.

    What freshness counts anew may also say that the rows are lost, which others of its dataset wait for.
    """
    if standing.last_outcome == Outcome.BROKEN:
        own = silent().filter(dataset=test.dataset_id)
        categories = {*MISSING, test.category} if test.category == Category.FRESHNESS else {test.category}
        own.filter(category__in=categories).update(next_notice_at=now)
    if was == State.WARN and standing.state != State.WARN:
        decide_waiting(now)


def decide_waiting(now: datetime) -> None:
    """Decide again about what waits for a cause that may be about to fail."""
    silent().filter(cause__isnull=True).update(next_notice_at=now)
