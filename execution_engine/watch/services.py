"""Look at what data looks like without reading it, and tell when it changed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.db.models import QuerySet

from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.database.bulk import set_all
from assay.database.prepared import rows_of
from assay.models import ChangeKind, DataChange, Dataset, Replica
from assay.queue.claims import claims, in_transaction
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.models import Watch
from execution_engine.planning.catalog_sources import is_expired
from execution_engine.storage import engine_of, part_of, table_of

from .looks import LONG_WINDOW, next_look

log = structlog.get_logger(__name__)

CLAIMED_AT_ONCE = 1000
GONE = "cannot be looked at"  # the fingerprint of what had one before, such as a folder that was removed


def look(datacenter: str | None = None) -> int:
    """Look at everything that is due, in one datacenter or in all; how many windows were looked at."""
    now, total = clock.now(), 0
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    for rows in claims(stage("watch"), now=now, limit=CLAIMED_AT_ONCE, **filters):
        _look_at_all(rows, now)
        total += len(rows)
    return total


@dataclass(frozen=True, kw_only=True)
class Look:
    """What windows of one table look like in one place, and the ids of watches that have expired."""

    kept: Sequence[Watch]
    seen: Mapping[int, str]
    gone: Collection[int]


def _look_at_all(rows: Iterable[Watch], now: datetime) -> None:
    """Look at each table in each place by itself, and note in one transaction what all of them look like.

    Where that fails, each is noted in its own, so that a table keeps no other from being looked at.
    """
    groups: defaultdict[tuple[int, str], list[Watch]] = defaultdict(list)
    for row in rows:
        groups[row.dataset_id, row.datacenter].append(row)
    ids = {dataset for dataset, _ in groups}
    datasets = {dataset.pk: dataset for dataset in rows_of(Dataset, ids)}
    replicas = {(replica.dataset_id, replica.datacenter): replica for replica in rows_of(Replica, ids, "dataset")}
    looks = [_look_at(datasets[place[0]], replicas.get(place), watches, now) for place, watches in groups.items()]
    try:
        in_transaction(partial(_note_looks, looks, now))
    except Exception as error:
        log.info("not together, so one by one", tables=len(looks), why=f"{type(error).__name__}: {error}"[:500])
        for look in looks:
            try:
                in_transaction(partial(_note_looks, [look], now))
            except Exception:
                log.exception("look not noted", windows=[watch.pk for watch in look.kept[:20]])


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


def is_news(dataset: Dataset, datacenter: str, window: Window, fingerprint: str) -> bool:
    """Whether a watched window was never seen with this fingerprint yet."""
    if not fingerprint or not _is_watched(dataset, window):
        return False
    return not _rows(dataset, datacenter, window).filter(fingerprint=fingerprint).exists()


def note_fingerprint(
    dataset: Dataset,
    datacenter: str,
    window: Window,
    fingerprint: str,
    now: datetime,
    written_at: datetime | None = None,
) -> None:
    """Remember what a scan found, from now on watching the window; a difference to the last look is a change.

    ``written_at`` is when the newest file came; in a replay, whose now is in the past, it came just now.
    """
    if not _is_watched(dataset, window):
        return
    changed_at = min(written_at or now, now)
    row, is_new = Watch.objects.get_or_create(
        **_identity(dataset, datacenter, window),
        defaults={
            "fingerprint": fingerprint,
            "seen_at": now,
            "changed_at": changed_at if fingerprint else None,
            "next_look_at": next_look(window_end=window.end, closely=False, now=now),
        },
    )
    if is_new and not dataset.partitioning:  # its window moves with each run: only the newest is looked at
        Watch.objects.filter(dataset=dataset, datacenter=datacenter).exclude(pk=row.pk).update(next_look_at=None)
    if is_new:
        return
    changed = {"changed_at": changed_at} if fingerprint and fingerprint != row.fingerprint else {}
    known = {"fingerprint": fingerprint} if fingerprint else {}  # else what was seen last tells when it is back
    Watch.objects.filter(pk=row.pk).update(seen_at=now, **known, **changed)
    if row.fingerprint and fingerprint and fingerprint != row.fingerprint:
        _tell([row], now)


def _is_watched(dataset: Dataset, window: Window) -> bool:
    """A window of a whole table is not: its partitions are."""
    return not dataset.partitioning or window.duration <= LONG_WINDOW


def _look_at(dataset: Dataset, replica: Replica | None, watches: Sequence[Watch], now: datetime) -> Look:
    """One group of windows; data that was there and cannot be read now has changed, unless the look itself failed."""
    kept = [watch for watch in watches if not is_expired(dataset, watch.window, now)]
    try:
        seen = {} if replica is None else _fingerprints(dataset, replica, kept)
    except Exception:
        log.exception("look failed", dataset=dataset.full_name, datacenter=watches[0].datacenter)
        seen = {}
    seen |= {watch.pk: GONE for watch in kept if watch.fingerprint and seen.get(watch.pk) == ""}
    return Look(kept=kept, seen=seen, gone={watch.pk for watch in watches} - {watch.pk for watch in kept})


def _note_looks(looks: Sequence[Look], now: datetime) -> None:
    """Note what was seen of windows, and tell what has changed."""
    kept = [watch for look in looks for watch in look.kept]
    seen = {pk: print_ for look in looks for pk, print_ in look.seen.items()}
    changed = [watch for watch in kept if seen.get(watch.pk) and seen[watch.pk] != watch.fingerprint]
    for watch in changed:
        Watch.objects.filter(pk=watch.pk).update(fingerprint=seen[watch.pk], changed_at=now)
    if changed:
        _tell([watch for watch in changed if watch.fingerprint or watch.seen_at], now)  # else it is the first look
    _set_next_looks(kept, now)
    if gone := [pk for look in looks for pk in look.gone]:
        Watch.objects.filter(pk__in=gone).update(next_look_at=None, lease_until=None, attempts=0)


def _fingerprints(dataset: Dataset, replica: Replica, watches: Sequence[Watch]) -> dict[int, str]:
    try:
        table = table_of(dataset, replica)
    except UnableToUseLocation:
        return {}
    engine = engine_of(replica)
    prints = engine.fingerprints(table, [part_of(dataset, watch.window, engine, table) for watch in watches])
    return {watch.pk: print_ or "" for watch, print_ in zip(watches, prints, strict=True)}


def _tell(watches: Iterable[Watch], now: datetime) -> None:
    """Note the changes that no pipeline has told of since the last look."""
    DataChange.objects.bulk_create(
        DataChange(
            dataset_id=watch.dataset_id,
            datacenter=watch.datacenter,
            kind=ChangeKind.REWRITTEN,
            window_start=watch.window_start,
            window_end=watch.window_end,
            at=now,
        )
        for watch in watches
        if not _is_announced(watch)
    )


def _is_announced(watch: Watch) -> bool:
    if watch.seen_at is None:
        return False
    told = DataChange.objects.filter(dataset=watch.dataset_id, datacenter=watch.datacenter, kind=ChangeKind.COMPLETED)
    since = told.filter(at__gte=watch.seen_at)
    return since.filter(window_start__lt=watch.window_end, window_end__gt=watch.window_start).exists()


def _set_next_looks(watches: Iterable[Watch], now: datetime) -> None:
    """All looked at now; the next looks fall on few instants, so few statements set them."""
    by_instant: defaultdict[datetime, list[int]] = defaultdict(list)
    for watch in watches:
        due = next_look(window_end=watch.window_end, closely=watch.closely, now=now)
        by_instant[due].append(watch.pk)
    for due, keys in by_instant.items():
        set_all(Watch, keys, seen_at=now, next_look_at=due, lease_until=None, attempts=0)


def _identity(dataset: Dataset, datacenter: str, window: Window) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "datacenter": datacenter,
        "window_start": window.start,
        "window_end": window.end,
    }


def _rows(dataset: Dataset, datacenter: str, window: Window) -> QuerySet[Watch]:
    return Watch.objects.filter(**_identity(dataset, datacenter, window))
