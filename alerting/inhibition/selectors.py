"""What is broken around an alert, in the terms that inhibition decides by."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db.models import QuerySet

from alerting.models import Alert, Standing
from alerting.state import BROKEN, State
from alerting.verdicts.evidence import spoilt_place
from assay.catalog.selectors import lineage_above
from assay.models import Category, ChangeKind, DataChange, DataTest, LineageEdge, Replica
from assay.time.windows import Window
from execution_engine.engines.protocol import NO_FILES
from execution_engine.exact import from_json as number
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.freshness.rules import is_covered
from execution_engine.language.serialise import from_json
from execution_engine.models import Measurement, Run, Watch
from execution_engine.outcome import Outcome

from . import rules
from .rules import MISSING, Lack, Spot, Trouble, lost_at, stillness
from .sizes import UNKNOWN_SIZE, BrokenResult, Size, size_of

# What became of the rows that broken windows of freshness lack: late, lost, or to be brought by another table.

RECENT_CHANGES = 200


@dataclass(frozen=True, kw_only=True)
class Count:
    """What the newest look at a broken window counted."""

    at: datetime
    has_rows: bool
    waits: bool  # it has all that its supplies have, and lacks only what they lack


def missing_rows(
    rows: Sequence[Standing], spots: Sequence[Spot], judges: Sequence[Spot], *, home: str, now: datetime
) -> list[Spot]:
    """The spots of freshness with what is known of their rows; ``judges`` are those where rows were found missing.

    A copy that has all that home has shares home's trouble.
    """
    counts = [_count(row) for row in rows]
    judged = {(spot.window, spot.datacenter) for spot in judges}
    known = [
        _with_fate(row, spot, count, home=home, now=now)
        if count and not count.waits and (spot.window, spot.datacenter) in judged
        else spot
        for row, spot, count in zip(rows, spots, counts, strict=True)
    ]
    at_home = {spot.window: spot for spot in known if spot.datacenter is None}
    return [
        at_home.get(spot.window, spot) if count and count.waits else spot
        for spot, count in zip(known, counts, strict=True)
    ]


def _with_fate(row: Standing, spot: Spot, count: Count, *, home: str, now: datetime) -> Spot:
    place = (row.data_test.dataset_id, spot.datacenter or home)
    watch = Watch.objects.filter(
        dataset=place[0], datacenter=place[1], window_start=spot.window.start, window_end=spot.window.end
    ).first()
    instant = lost_at(
        Lack(
            has_file=count.has_rows or (watch is not None and watch.fingerprint not in ("", NO_FILES)),
            is_judged=True,
            counted_at=count.at,
            completed_at=_completed_at(*place, spot.window),
            changed_at=watch.changed_at if watch else None,
            stillness=stillness(sustain=row.revision.sustain, gaps=_gaps(*place, spot.window)),
        )
    )
    return replace(spot, lost=instant is not None and instant <= now, lost_at=instant)


def broken_run(row: Standing) -> Run | None:
    """The newest run that broke a window: an error after it has counted nothing."""
    run = row.last_run
    if run is not None and run.outcome == Outcome.BROKEN:
        return run
    broken = Run.objects.filter(data_test=row.data_test_id, outcome=Outcome.BROKEN, measured_at__isnull=False)
    mine = broken.filter(window_start=row.window_start, window_end=row.window_end)
    return mine.order_by("-measured_at", "-pk").first()


def _count(row: Standing) -> Count | None:
    run = broken_run(row)
    if run is None or run.measured_at is None:
        return None
    told = [detail for detail in run.findings.values() if isinstance(detail, dict)]
    return Count(
        at=run.measured_at,
        has_rows=any(detail.get("rows") for detail in told),
        waits=any(detail.get("waits") for detail in told),
    )


def _completed_at(dataset_id: int, datacenter: str, window: Window) -> datetime | None:
    """When the newest of the completions came that, all after the window's end, name the whole of it."""
    told = DataChange.objects.filter(
        dataset=dataset_id,
        datacenter=datacenter,
        kind=ChangeKind.COMPLETED,
        window_start__lt=window.end,
        window_end__gt=window.start,
        at__gte=window.end,
    )
    events = list(told.order_by("-at", "-pk"))
    return events[0].at if events and is_covered(window, [event.window for event in events]) else None


def _gaps(dataset_id: int, datacenter: str, window: Window) -> list[timedelta]:
    """What lay between the changes of each recent window before this one."""
    told = DataChange.objects.filter(
        dataset=dataset_id,
        datacenter=datacenter,
        kind__in=(ChangeKind.COMPLETED, ChangeKind.REWRITTEN),
        window_end__lte=window.start,
    )
    recent = told.order_by("-window_start", "-pk")[:RECENT_CHANGES]
    changes = sorted((change.window.text, change.at) for change in recent)
    return [later[1] - earlier[1] for earlier, later in pairwise(changes) if earlier[0] == later[0]]


Place = tuple[int, str]  # dataset id and category
USUAL_WINDOWS = 14


@dataclass(frozen=True, kw_only=True)
class Around:
    """The troubles of a dataset and of all its upstreams, and the lineage between them."""

    troubles: dict[Place, Trouble]
    standings: dict[Place, list[Standing]]
    alerts: dict[Place, Alert]
    upstreams: dict[str, frozenset[str]]

    def place(self, trouble_id: int | None) -> Place | None:
        """Where a trouble is."""
        return next((place for place, trouble in self.troubles.items() if trouble.id == trouble_id), None)

    def alert(self, trouble_id: int | None) -> Alert | None:
        """The open alert of a trouble, once it has failed."""
        place = self.place(trouble_id)
        return self.alerts.get(place) if place else None


def around(dataset_id: int, now: datetime) -> Around:
    """Everything un-waived that is WARN or FAIL in a dataset or upstream of it."""
    lineage = lineage_above(dataset_id)
    reached = closure(dataset_id, lineage)
    standings = _broken(reached)
    alerts = {
        (alert.dataset_id, alert.category): alert
        for alert in Alert.objects.filter(dataset__in=reached, closed_at__isnull=True)
    }
    homes = dict(Replica.objects.filter(dataset__in=reached, position=0).values_list("dataset_id", "datacenter"))
    spots = {place: [_spot(row, homes.get(place[0], "")) for row in rows] for place, rows in standings.items()}
    for place, rows in standings.items():
        if place[1] == Category.FRESHNESS:
            judges = [spot for other in MISSING for spot in spots.get((place[0], other), ())]
            spots[place] = missing_rows(rows, spots[place], judges, home=homes.get(place[0], ""), now=now)
    troubles = {
        place: _trouble(number, place, rows, spots[place], alerts.get(place))
        for number, (place, rows) in enumerate(sorted(standings.items()))
    }
    upstreams = {str(id_): frozenset(map(str, lineage.get(id_, ()))) for id_ in reached}
    return Around(troubles=troubles, standings=standings, alerts=alerts, upstreams=upstreams)


def closure(dataset_id: int, lineage: dict[int, tuple[int, ...]]) -> set[int]:
    """A dataset and all that feeds it, directly or not, by id."""
    found, edge = {dataset_id}, [dataset_id]
    while edge:
        edge = [up for id_ in edge for up in lineage.get(id_, ()) if up not in found]
        found.update(edge)
    return found


def _broken(datasets: set[int]) -> dict[Place, list[Standing]]:
    rows = Standing.objects.filter(
        data_test__dataset__in=datasets,
        data_test__retired_at__isnull=True,
        state__in=BROKEN,
        waiver__isnull=True,
    )
    found: dict[Place, list[Standing]] = defaultdict(list)
    for row in rows.select_related("data_test__dataset", "revision", "last_run").order_by("window_start", "pk"):
        found[row.data_test.dataset_id, row.data_test.category].append(row)
    return dict(found)


def _trouble(number: int, place: Place, rows: list[Standing], spots: list[Spot], alert: Alert | None) -> Trouble:
    failed = [row.since for row in rows if row.state == State.FAIL]
    return Trouble(
        id=number,
        dataset=str(place[0]),
        category=place[1],
        spots=tuple(spots),
        since=min(row.broken_since or row.since for row in rows),
        failed_at=min(failed, default=None),
        eta=alert.eta if alert else None,
    )


def _spot(row: Standing, home: str) -> Spot:
    place = spoilt_place(row.data_test, home) or None
    since = row.broken_since or row.since
    size = size_of_run(broken_run(row), category=row.data_test.category, tree=row.revision.tree)
    return Spot(window=row.window, datacenter=place, failed=row.state == State.FAIL, since=since, size=size)


def size_of_run(run: Run | None, *, category: str, tree: Any) -> Size:
    """How large the fault is that a broken run found; of unknown size without one."""
    if run is None or run.outcome != Outcome.BROKEN:
        return UNKNOWN_SIZE
    known = {text: number(value) for text, value in run.operands.items()}
    return size_of(BrokenResult(category=category, tree=from_json(tree), operands=known, findings=run.findings))


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
