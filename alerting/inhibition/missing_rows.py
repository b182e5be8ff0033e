"""What became of the rows that broken windows of freshness lack: late, lost, or to be brought by another table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from alerting.models import Standing
from assay.models import ChangeKind, DataChange
from assay.time.windows import Window
from execution_engine.engines.protocol import NO_FILES
from execution_engine.freshness.rules import is_covered
from execution_engine.models import Run, Watch
from execution_engine.outcome import Outcome

from .causes import Spot
from .lateness import Lack, lost_at, stillness

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
