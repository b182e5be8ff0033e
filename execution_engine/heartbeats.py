"""The commits of every dataset, read when they are due without a look at data, and what they say of its vital signs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2s
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.db.models import Q

from assay import clock
from assay.catalog.limits import limited_datasets
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.partitions import partition_entry
from assay.catalog.place_limits import PlacedDataset
from assay.catalog.selectors import with_replicas
from assay.config import config
from assay.models import Dataset, Replica
from assay.queue.claims import MAX_LIMIT, TOGETHER, claims, finish_all, heartbeat, in_one_transaction, in_transaction
from assay.queue.flow import stage
from execution_engine.engines.protocol import CommitLog
from execution_engine.vitals.commits import BURST, MOST_COMMITS, Commit, LocalCalendar

from .models import Heartbeat, TableCommit
from .storage import engine_of, table_of

# How often a table is looked at (pure): a few times between two commits.

LOOKS_A_GAP = 4
SOONEST, LATEST = timedelta(minutes=15), timedelta(hours=6)
LEARNING = timedelta(hours=1)  # where a gap cannot be expected yet


def next_look(*, now: datetime, gap: timedelta | None, late_at: datetime | None, is_learning: bool = False) -> datetime:
    """The next instant to look at a table whose next commit comes a gap after the last; at once when it gets late."""
    if gap is None:
        return now + (LEARNING if is_learning else LATEST)
    due = now + min(max(gap / LOOKS_A_GAP, SOONEST), LATEST)
    return min(due, max(late_at, now + timedelta(minutes=1))) if late_at and late_at > now else due


# Look at commits, and judge what they say.

log = structlog.get_logger(__name__)
FIGURES = ("rows_added", "rows_removed", "files_added", "files_removed", "bytes_added")
CHANGED = (
    *("place", "mark", "fault", "next_look_at", "seen_at", "last_commit_at", "expected_at", "late_at", "arrival_note"),
    *("volume", "is_unusual", "volume_note", "folders"),
)


def out_of_bounds(now: datetime) -> Q:
    """A condition on heartbeats: the table is late, or its last load is unusual, and it is not obsolete."""
    return Q(late_at__lt=now, obsolete_since=None) | Q(is_unusual=True, obsolete_since=None)


def watch_commits(datasets: Sequence[Dataset], now: datetime) -> None:
    """Look at the commits of datasets from now on, or no more where one has no table, or is gone."""
    rows = {row.dataset_id: row for row in Heartbeat.objects.filter(dataset__in=datasets)}
    begun, changed = [], []
    for dataset in datasets:
        home, row = _home_of(dataset), rows.get(dataset.pk)
        if row is None:
            if home is not None:
                begun.append(Heartbeat(dataset=dataset, datacenter=home.datacenter, next_look_at=now))
            continue
        state = (row.datacenter, row.next_look_at)
        row.next_look_at = (row.next_look_at or now) if home else None
        row.datacenter = home.datacenter if home else row.datacenter
        if (row.datacenter, row.next_look_at) != state:
            changed.append(row)
    Heartbeat.objects.bulk_create(begun, ignore_conflicts=True)
    Heartbeat.objects.bulk_update(changed, ["datacenter", "next_look_at"])


def _home_of(dataset: Dataset) -> Replica | None:
    """The table whose commits are read; None where there is none."""
    if dataset.missing_since or dataset.business_metric is not None:
        return None
    return next(iter(dataset.replicas.all()), None)


def look(datacenter: str | None = None) -> int:
    """Read the commits of all tables that are due, in one datacenter or in all; how many were looked at.

    Several tables are read, then noted in one transaction; where that fails, each in its own.
    """
    now, total = clock.now(), 0
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    for rows in claims(stage("vitals"), now=now, limit=MAX_LIMIT, part=TOGETHER, **filters):
        datasets, limited = with_replicas({row.dataset_id for row in rows}), limited_datasets()
        with heartbeat(*rows):
            readings = [_read(row, datasets[row.dataset_id], limited) for row in rows]
        if not in_one_transaction("vitals", partial(_note, readings, now), tables=len(readings)):
            for reading in readings:
                try:
                    in_transaction(partial(_note, [reading], now))
                except Exception:
                    log.exception("commits not noted", dataset=reading.dataset.full_name)
        total += len(rows)
    return total


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was read of one table's commits; without a log it is looked at no more."""

    row: Heartbeat
    dataset: Dataset
    place: str = ""
    log: CommitLog | None = None


def _read(row: Heartbeat, dataset: Dataset, limited: Sequence[PlacedDataset]) -> Reading:
    replica = _home_of(dataset)
    if replica is None:
        return Reading(row=row, dataset=dataset)
    place = _place_of(replica)
    mark = row.mark if row.place == place else ""
    try:
        # what files say is of the real clock, in a replay too
        commits = engine_of(replica).commits(table_of(dataset, replica, limited), mark, clock.database_now())
    except UnableToUseLocation as error:
        commits = CommitLog(mark=mark, fault=str(error))
    except Exception as error:
        log.exception("commits not read", dataset=dataset.full_name)
        commits = CommitLog(mark=mark, fault=f"its commits could not be read ({type(error).__name__}): see the log")
    return Reading(row=row, dataset=dataset, place=place, log=commits)


def _place_of(replica: Replica) -> str:
    text = f"{replica.storage} {replica.location} {sorted(replica.options.items())}"
    return blake2s(text.encode(), digest_size=16).hexdigest()


def _note(readings: Sequence[Reading], now: datetime) -> None:
    """Keep new commits, judge the tables that have some, and say when each is looked at next."""
    if moved := [reading.row.dataset_id for reading in readings if reading.place != reading.row.place]:
        TableCommit.objects.filter(dataset__in=moved).delete()
    TableCommit.objects.bulk_create(
        TableCommit(dataset=reading.dataset, **{**asdict(commit), "at": min(commit.at, now)})
        for reading in readings
        if reading.log
        for commit in reading.log.commits
    )
    for reading in readings:
        _judge(reading, now)
    finish_all([reading.row for reading in readings], *CHANGED)


def _judge(reading: Reading, now: datetime) -> None:
    """Write into the row what is known of a table now; its commits are read only where they say something new."""
    row, commits_read = reading.row, reading.log
    if commits_read is None:
        row.next_look_at = None
        return
    calendar = LocalCalendar(zone=ZoneInfo(reading.dataset.time_zone), country=config().holidays)
    if reading.place != row.place:
        row.last_commit_at, row.late_at, row.expected_at, row.seen_at = None, None, None, None
    is_news = bool(commits_read.commits) or not _is_settled(row, calendar)
    if is_news and (commits := _commits_of(reading.dataset)):
        _judge_commits(row, commits, calendar, now)
    row.place, row.mark, row.fault, row.seen_at = reading.place, commits_read.mark, commits_read.fault, now
    if not commits_read.fault:
        row.folders = _folders_as_json(commits_read)
    gap = row.expected_at - row.last_commit_at if row.expected_at and row.last_commit_at else None
    is_learning = not row.fault and row.last_commit_at is not None
    row.next_look_at = next_look(now=now, gap=gap, late_at=row.late_at, is_learning=is_learning)


def _folders_as_json(commits_read: CommitLog) -> dict[str, Any]:
    """The partition that its folders name, as a catalog file has it, how many they are, and the last key."""
    column, keys = commits_read.folders or ("", ())
    entry = partition_entry(column, keys)
    return {"partition": entry, "count": len(keys), "last": keys[-1]} if entry else {}


def _is_settled(row: Heartbeat, calendar: LocalCalendar) -> bool:
    """Whether the load of the last commit was over, and its day too, when it was judged."""
    if row.last_commit_at is None or row.seen_at is None:
        return True
    is_over = row.seen_at - row.last_commit_at >= BURST
    return is_over and calendar.local(row.seen_at).date() > calendar.local(row.last_commit_at).date()


def _commits_of(dataset: Dataset) -> list[Commit]:
    rows = TableCommit.objects.filter(dataset=dataset).order_by("-at").values("at", *FIGURES)[:MOST_COMMITS]
    return [Commit(**row) for row in reversed(rows)]


def _judge_commits(row: Heartbeat, commits: Sequence[Commit], calendar: LocalCalendar, now: datetime) -> None:
    from execution_engine.vitals.arrival import Arrival, expect_arrival  # with it numpy, for which no gate should wait
    from execution_engine.vitals.volume import Volume, judge_volume

    arrival = expect_arrival([commit.at for commit in commits], calendar)
    volume = judge_volume(commits, calendar, now)
    row.last_commit_at = commits[-1].at
    if isinstance(arrival, Arrival):
        row.expected_at, row.late_at, row.arrival_note = arrival.expected_at, arrival.late_at, ""
    else:
        row.expected_at, row.late_at, row.arrival_note = None, None, arrival.why
    if isinstance(volume, Volume):
        row.volume = {**asdict(volume), "start": volume.start.isoformat()}
        row.is_unusual, row.volume_note = not volume.is_usual, ""
    else:
        row.volume, row.is_unusual, row.volume_note = {}, False, volume.why
