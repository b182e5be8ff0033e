"""Obsolete tables: nothing comes, and nothing in use reads them. Marked once an hour, they have no standard tests."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from django.db.models import Q

from assay.database.statements import in_parts, update_each
from assay.models import Dataset, EdgeTelling

from .models import Heartbeat

SILENT_FOR = timedelta(days=90)  # a table of each quarter is not silent for long
KNOWN_FOR = timedelta(days=28)  # in which its readers would have been heard of


def is_silent(row: Heartbeat) -> bool:
    """Whether a look at a table's commits found none for a quarter; a table that cannot be read is not silent."""
    if row.fault or row.seen_at is None or row.last_commit_at is None:
        return False
    return row.seen_at - row.last_commit_at >= SILENT_FOR


def unread_tables(
    silent: Collection[str], *, retired: Collection[str], downstreams: Mapping[str, Collection[str]]
) -> set[str]:
    """Those of the ``silent`` tables of which nothing in use is made: only what is retired, or unread itself (pure)."""
    idle = {*silent, *retired}
    while in_use := {table for table in silent if table in idle and not idle.issuperset(downstreams.get(table, ()))}:
        idle -= in_use
    return idle.intersection(silent)


def obsolete_reason(row: Heartbeat) -> str:
    """Why a table that is marked is obsolete."""
    return f"no commit since {row.last_commit_at:%Y-%m-%d}; nothing in use is made of it, and nobody asks for it"


def obsolete_ids(datasets: Collection[Dataset]) -> set[int]:
    """The ids of those that are marked as obsolete."""
    rows = Heartbeat.objects.filter(dataset__in=datasets, obsolete_since__isnull=False)
    return set(rows.values_list("dataset", flat=True))


def mark_obsolete(asked_for: Collection[int], now: datetime) -> None:
    """Mark the tables that are obsolete now, and no others; ``asked_for`` are the datasets that people ask for.

    The tests of those that change are left to be reconciled.
    """
    is_old = Q(last_commit_at__lte=now - SILENT_FOR, dataset__created_at__lte=now - KNOWN_FOR)
    beats = Heartbeat.objects.filter(is_old | Q(obsolete_since__isnull=False)).select_related("dataset")
    columns = ("fault", "seen_at", "last_commit_at", "obsolete_since", "dataset__name_key")
    rows = {row.dataset.name_key: row for row in beats.only(*columns)}
    silent = {key for key, row in rows.items() if is_silent(row) and row.dataset_id not in asked_for}
    downstreams = defaultdict[str, set[str]](set)
    for part in in_parts(silent):
        for up, down in EdgeTelling.objects.filter(upstream_key__in=part).values_list("upstream_key", "downstream_key"):
            downstreams[up].add(down)
    retired = Dataset.objects.filter(missing_since__isnull=False).values_list("name_key", flat=True)
    unread = unread_tables(silent, retired=set(retired), downstreams=downstreams)
    changed = [row for key, row in rows.items() if (row.obsolete_since is None) == (key in unread)]
    for row in changed:
        row.obsolete_since = None if row.obsolete_since else now
    update_each(changed, ("obsolete_since",))
    for ids in in_parts(row.dataset_id for row in changed):
        Dataset.objects.filter(pk__in=ids).update(reconcile_at=now)
