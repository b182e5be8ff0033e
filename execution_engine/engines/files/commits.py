"""Commits of tables that are kept as files: by the log of Iceberg and Delta, else by the times of the files."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pyarrow import ArrowException
from pyarrow.fs import FileInfo

from assay.catalog.profile import FILES
from execution_engine.engines.protocol import WHOLE, CommitLog, Table
from execution_engine.vitals.commits import Commit

from . import delta, iceberg
from .listing import (
    Listing,
    UnableToListFiles,
    iceberg_metadata,
    kind_of,
    list_part,
    metadata_file,
    place_of_log,
    read_fingerprint,
    read_fingerprints,
    read_fingerprints_by_key,
    read_footer,
    read_written_at,
    reading_log,
)

TOGETHER = timedelta(minutes=1)  # files that are written so soon behind each other are one commit
MOST_FOOTERS = 400  # of the newest files of a folder on a disk; of older ones, and in stores, bytes alone are told


def read_commits(table: Table, mark: str, now: datetime) -> CommitLog:
    """What was committed since the mark; why nothing is known where the log or the folder cannot be read."""
    try:
        match table.storage:
            case "iceberg":
                return _of_iceberg(table, mark)
            case "delta":
                return _of_delta(table, mark)
            case storage if storage in FILES:
                return _of_folder(table, mark, now)
    except UnableToListFiles as error:
        return CommitLog(mark=mark, fault=str(error))
    return CommitLog(
        mark=mark, fault="Spark's catalog tells of no commits: name the folder of the table as its location"
    )


def _of_iceberg(table: Table, mark: str) -> CommitLog:
    """All snapshots that are kept, from one file; the mark is that file, and when the newest snapshot was made."""
    with reading_log(table) as root:
        path, stamp = metadata_file(root)
        newest_ms, _, seen = mark.partition(" ")
        if seen == f"{path} {stamp}":
            return CommitLog(mark=mark)
        commits = iceberg.commits_of(iceberg_metadata(place_of_log(table), path, stamp), int(newest_ms or 0))
        newest = round(commits[-1].at.timestamp() * 1000) if commits else int(newest_ms or 0)
        return CommitLog(commits=tuple(commits), mark=f"{newest} {path} {stamp}")


def _of_delta(table: Table, mark: str) -> CommitLog:
    """All versions whose files are kept; the mark is the newest. A table that was made anew begins anew."""
    with reading_log(table) as root:
        log = delta.read_log(root.filesystem, root.path)
        newest, seen = log.newest, int(mark or -1)
        commits = delta.commits_of(place_of_log(table), log, seen if seen <= newest else -1)
        return CommitLog(commits=tuple(commits), mark=str(newest))


def _of_folder(table: Table, mark: str, now: datetime) -> CommitLog:
    """The files that are there, by when they were written; the mark is the time of the newest, in nanoseconds.

    A commit that may go on is left for the next look.
    """
    listing = list_part(table, WHOLE)
    seen = int(mark or 0)
    files = sorted((file for file in listing.files if file.mtime_ns > seen), key=lambda file: file.mtime_ns)
    groups: list[list[FileInfo]] = []
    for file in files:
        if groups and file.mtime_ns - groups[-1][-1].mtime_ns < TOGETHER / timedelta(microseconds=1) * 1000:
            groups[-1].append(file)
        else:
            groups.append([file])
    if groups and now - _written_at(groups[-1][-1]) < TOGETHER:
        groups.pop()
    with_rows = {file.path for file in files[-MOST_FOOTERS:]} if listing.root.is_local else set()
    commits = (_commit_of(listing, group, with_rows.issuperset(file.path for file in group)) for group in groups)
    return CommitLog(commits=tuple(commits), mark=str(groups[-1][-1].mtime_ns) if groups else mark)


def _commit_of(listing: Listing, files: Sequence[FileInfo], has_rows: bool) -> Commit:
    return Commit(
        at=_written_at(files[-1]),
        rows_added=_rows_of(listing, files) if has_rows else None,
        files_added=len(files),
        bytes_added=sum(file.size for file in files),
    )


def _rows_of(listing: Listing, files: Sequence[FileInfo]) -> int | None:
    """By the footers of parquet files; None where one has none."""
    if any(kind_of(file.base_name) not in ("parquet", None) for file in files):
        return None
    try:
        return sum(int(read_footer(listing.root, file).num_rows) for file in files)
    except (ArrowException, OSError):
        return None


def _written_at(file: FileInfo) -> datetime:
    return datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)


class ListedFiles:
    """What an engine of files answers by listing them, and by their log."""

    fingerprint = staticmethod(read_fingerprint)
    fingerprints = staticmethod(read_fingerprints)
    fingerprints_by_key = staticmethod(read_fingerprints_by_key)
    written_at = staticmethod(read_written_at)
    commits = staticmethod(read_commits)
