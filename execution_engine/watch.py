"""What a dataset's files look like, looked at every few minutes while something is wrong with them.

Which runs follow a change is decided in ``incident_manager``.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog
from django.db.models import QuerySet

from assay import clock
from assay.catalog.limits import limited_datasets
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.place_limits import PlacedDataset
from assay.catalog.selectors import replica as replica_of
from assay.catalog.selectors import with_replicas
from assay.models import ChangeKind, DataChange, Dataset
from assay.queue.claims import claims, in_one_transaction, in_transaction
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.planning.catalog_sources import is_expired

from .models import Watch
from .storage import engine_of, part_of, table_of

# How often a window's data is looked at (pure). Instants are whole multiples, so that many looks fall on one.

CLOSELY = timedelta(minutes=5)  # WARN, FAIL and UNKNOWN
HOURLY = timedelta(hours=1)  # as long as the window is young
DAILY = timedelta(days=1)
YOUNG = timedelta(days=35)
LONG_WINDOW = timedelta(days=32)  # longer ones are whole tables, whose partitions are watched themselves
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def next_look(*, window_end: datetime, closely: bool, now: datetime) -> datetime:
    """The next instant to look at a window, after ``now``."""
    interval = CLOSELY if closely else HOURLY if window_end > now - YOUNG else DAILY
    return now + interval - (now - _EPOCH) % interval


# Look at what data looks like without reading it, and tell when it changed.

log = structlog.get_logger(__name__)

CLAIMED_AT_ONCE = 1000
Place = tuple[int, str, Window]  # dataset, datacenter, window
GONE = "cannot be looked at"  # the fingerprint of what had one before, such as a folder that was removed


def look(datacenter: str | None = None) -> int:
    """Look at everything that is due, in one datacenter or in all; how many windows were looked at.

    Each table is looked at in each place by itself, and one transaction notes what all of them look like. Where that
    fails, each is noted in its own, so that a table keeps no other from being looked at.
    """
    now, total = clock.now(), 0
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    for rows in claims(stage("watch"), now=now, limit=CLAIMED_AT_ONCE, **filters):
        groups: defaultdict[tuple[int, str], list[Watch]] = defaultdict(list)
        for row in rows:
            groups[row.dataset_id, row.datacenter].append(row)
        datasets = with_replicas({dataset for dataset, _ in groups})
        limited = limited_datasets()
        looks = [_look_at(datasets[dataset], watches, limited, now) for (dataset, _), watches in groups.items()]
        if not in_one_transaction("watch", partial(_note_looks, looks, now), tables=len(looks)):
            for look in looks:
                try:
                    in_transaction(partial(_note_looks, [look], now))
                except Exception:
                    log.exception("look not noted", windows=[watch.pk for watch in look.live[:20]])
        total += len(rows)
    return total


@dataclass(frozen=True, kw_only=True)
class Look:
    """What windows of one table look like in one place, and the ids of watches that have expired."""

    live: Sequence[Watch]
    prints: Mapping[int, str]
    expired: Collection[int]


def _look_at(dataset: Dataset, watches: Sequence[Watch], limited: Sequence[PlacedDataset], now: datetime) -> Look:
    """One group of windows; data that was there and cannot be read now has changed, unless the look itself failed."""
    replica = replica_of(dataset, watches[0].datacenter)
    live = [watch for watch in watches if not is_expired(dataset, watch.window, now)]
    prints: dict[int, str] = {}
    try:
        if replica is not None:
            table, engine = table_of(dataset, replica, limited), engine_of(replica)
            fingerprints = engine.fingerprints(table, [part_of(dataset, watch.window, engine, table) for watch in live])
            prints = {watch.pk: print_ or "" for watch, print_ in zip(live, fingerprints, strict=True)}
    except UnableToUseLocation:
        pass
    except Exception:
        log.exception("look failed", dataset=dataset.full_name, datacenter=watches[0].datacenter)
    prints |= {watch.pk: GONE for watch in live if watch.fingerprint and prints.get(watch.pk) == ""}
    return Look(live=live, prints=prints, expired={watch.pk for watch in watches} - {watch.pk for watch in live})


def _note_looks(looks: Sequence[Look], now: datetime) -> None:
    changed = []
    by_instant: defaultdict[datetime, list[int]] = defaultdict(list)  # they fall on few, so few statements set them
    for look in looks:
        for watch in look.live:
            by_instant[next_look(window_end=watch.window_end, closely=watch.closely, now=now)].append(watch.pk)
            print_ = look.prints.get(watch.pk)
            if print_ and print_ != watch.fingerprint:
                changed.append(watch)
                Watch.objects.filter(pk=watch.pk).update(fingerprint=print_, changed_at=now)
    _tell([watch for watch in changed if watch.fingerprint or watch.seen_at], now)  # else it is the first look
    for due, keys in by_instant.items():
        Watch.objects.filter(pk__in=keys).update(seen_at=now, next_look_at=due, lease_until=None, attempts=0)
    if expired := [pk for look in looks for pk in look.expired]:
        Watch.objects.filter(pk__in=expired).update(next_look_at=None, lease_until=None, attempts=0)


def watch_window(*, dataset: Dataset, datacenter: str, window: Window, closely: bool, now: datetime) -> None:
    """Look at the window every five minutes (``closely``), or as rarely as its age allows."""
    due = next_look(window_end=window.end, closely=closely, now=now)
    rows = _rows(dataset, datacenter, window)
    if rows.exclude(closely=closely).update(closely=closely, next_look_at=due):
        return
    if closely and not rows.exists():
        defaults = {"closely": True, "next_look_at": due}
        Watch.objects.get_or_create(**_identity(dataset, datacenter, window), defaults=defaults)


def unwatch_window(*, dataset: Dataset, datacenter: str, window: Window) -> None:
    """Stop looking at the window."""
    _rows(dataset, datacenter, window).update(next_look_at=None, closely=False)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a scan found that the data of one window looks like in one place.

    ``written_at`` is when the newest file came, where it was asked; in a replay, whose now is in the past, it came just
    now. ``watch_id`` is of the watch that has seen this very fingerprint, if one has.
    """

    dataset: Dataset
    datacenter: str
    window: Window
    fingerprint: str
    written_at: datetime | None = None
    watch_id: int | None = None

    @property
    def place(self) -> Place:
        """Where it was seen, as its watch says it."""
        return self.dataset.pk, self.datacenter, self.window

    def came_at(self, now: datetime) -> datetime:
        """When the newest file came, as far as is known."""
        return min(self.written_at or now, now)


def seen_before(seen: Sequence[Seen]) -> dict[int, int | None]:
    """By the numbers of those in watched windows the id of the watch that has seen this before; None: it is news."""
    looks_by_number = {number: look for number, look in enumerate(seen) if look.fingerprint and _is_watched(look)}
    watch_ids = {(place, row.fingerprint): row.pk for place, row in _watches(looks_by_number.values()).items()}
    return {number: watch_ids.get((look.place, look.fingerprint)) for number, look in looks_by_number.items()}


def note_fingerprints(seen: Sequence[Seen], now: datetime) -> None:
    """Remember what scans found, from now on watching their windows; a difference to the last look is a change."""
    looks_by_place = {look.place: look for look in seen if _is_watched(look) and look.watch_id is None}
    watches = _watches(looks_by_place.values())
    if new := [look for place, look in looks_by_place.items() if place not in watches]:
        watches |= _watch_from_now_on(new, now)
    changed = [
        place for place, row in watches.items() if looks_by_place[place].fingerprint not in ("", row.fingerprint)
    ]
    _tell([row for place in changed if (row := watches[place]).fingerprint], now)  # else it is the first look
    for place in changed:
        was_changed = {
            "fingerprint": looks_by_place[place].fingerprint,
            "changed_at": looks_by_place[place].came_at(now),
        }
        Watch.objects.filter(pk=watches[place].pk).update(seen_at=now, **was_changed)
    # where nothing can be seen, what was seen last stays: it tells when it is back
    as_before = [row.pk for place, row in watches.items() if place not in changed]
    if as_before := [*as_before, *(look.watch_id for look in seen if look.watch_id is not None)]:
        Watch.objects.filter(pk__in=as_before).update(seen_at=now)


def _watch_from_now_on(new: Sequence[Seen], now: datetime) -> dict[Place, Watch]:
    """Write watches over windows that have none; gives those that another worker was first to write."""
    Watch.objects.bulk_create(
        (
            Watch(
                dataset=look.dataset,
                datacenter=look.datacenter,
                window_start=look.window.start,
                window_end=look.window.end,
                fingerprint=look.fingerprint,
                seen_at=now,
                changed_at=look.came_at(now) if look.fingerprint else None,
                next_look_at=next_look(window_end=look.window.end, closely=False, now=now),
            )
            for look in new
        ),
        ignore_conflicts=True,
    )
    written = {look.place: (look.fingerprint, now) for look in new}
    of_others = {place: row for place, row in _watches(new).items() if (row.fingerprint, row.seen_at) != written[place]}
    for look in new:
        if not look.dataset.partitioning and look.place not in of_others:
            # its window moves with each run: only the newest is looked at
            own = {"window_start": look.window.start, "window_end": look.window.end}
            others = Watch.objects.filter(dataset=look.dataset, datacenter=look.datacenter).exclude(**own)
            others.update(next_look_at=None)
    return of_others


def _watches(seen: Collection[Seen]) -> dict[Place, Watch]:
    if not seen:
        return {}
    places = {look.place for look in seen}
    rows = Watch.objects.filter(
        dataset__in={look.dataset.pk for look in seen},
        datacenter__in={look.datacenter for look in seen},
        window_start__in={look.window.start for look in seen},
        window_end__in={look.window.end for look in seen},
    )
    watches = {(row.dataset_id, row.datacenter, row.window): row for row in rows}
    return {place: row for place, row in watches.items() if place in places}


def _is_watched(seen: Seen) -> bool:
    """A window of a whole table is not: its partitions are."""
    return not seen.dataset.partitioning or seen.window.duration <= LONG_WINDOW


def _tell(watches: Iterable[Watch], now: datetime) -> None:
    """Note the changes that no pipeline has told of since the last look."""
    changes = []
    for watch in watches:
        announced = DataChange.objects.filter(
            dataset=watch.dataset_id,
            datacenter=watch.datacenter,
            kind=ChangeKind.COMPLETED,
            at__gte=watch.seen_at or now,
            window_start__lt=watch.window_end,
            window_end__gt=watch.window_start,
        )
        if watch.seen_at is None or not announced.exists():
            changes.append(
                DataChange(
                    dataset_id=watch.dataset_id,
                    datacenter=watch.datacenter,
                    kind=ChangeKind.REWRITTEN,
                    window_start=watch.window_start,
                    window_end=watch.window_end,
                    at=now,
                )
            )
    DataChange.objects.bulk_create(changes)


def _identity(dataset: Dataset, datacenter: str, window: Window) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "datacenter": datacenter,
        "window_start": window.start,
        "window_end": window.end,
    }


def _rows(dataset: Dataset, datacenter: str, window: Window) -> QuerySet[Watch]:
    return Watch.objects.filter(**_identity(dataset, datacenter, window))
