"""Commits of tables that are kept as files: by the log of Iceberg and Delta, else by the times of the files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

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
                listing = list_part(table, WHOLE)
                folders = None if table.partition_column else _folders_of(listing)
                return replace(commits_of_files(listing, mark, now), folders=folders)
    except UnableToListFiles as error:
        return CommitLog(mark=mark, fault=str(error))
    return CommitLog(mark=mark, fault="only Spark's catalog knows where its files lie")


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


def _folders_of(listing: Listing) -> tuple[str, tuple[str, ...]] | None:
    if len(listing.folder_columns) != 1:
        return None
    (column,) = listing.folder_columns
    keys = {key for file in listing.files if (key := listing.folder_values(file).get(column)) is not None}
    return column, tuple(sorted(keys))


def commits_of_files(listing: Listing, mark: str, now: datetime) -> CommitLog:
    """The files that are there, by when they were written; the mark is the time of the newest, in nanoseconds."""
    groups = written_together(listing.files, lambda file: file.mtime_ns, mark, now)
    newest = [file for group in groups for file in group][-MOST_FOOTERS:]
    with_rows = {file.path for file in newest} if listing.root.is_local else set()
    commits = (_commit_of(listing, group, with_rows.issuperset(file.path for file in group)) for group in groups)
    return CommitLog(commits=tuple(commits), mark=str(groups[-1][-1].mtime_ns) if groups else mark)


Item = TypeVar("Item")


def written_together(
    items: Iterable[Item], written_ns: Callable[[Item], int], mark: str, now: datetime
) -> list[list[Item]]:
    """What was written after the mark, in nanoseconds, in its order: each list is one commit.

    A commit that may go on is left for the next look.
    """
    seen = int(mark or 0)
    groups: list[list[Item]] = []
    for item in sorted((item for item in items if written_ns(item) > seen), key=written_ns):
        if groups and written_ns(item) - written_ns(groups[-1][-1]) < TOGETHER / timedelta(microseconds=1) * 1000:
            groups[-1].append(item)
        else:
            groups.append([item])
    if groups and now - instant_of(written_ns(groups[-1][-1])) < TOGETHER:
        groups.pop()
    return groups


def _commit_of(listing: Listing, files: Sequence[FileInfo], has_rows: bool) -> Commit:
    return Commit(
        at=instant_of(files[-1].mtime_ns),
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


def instant_of(nanoseconds: int) -> datetime:
    """The instant so many nanoseconds after 1970."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


class ListedFiles:
    """What an engine of files answers by listing them, and by their log."""

    fingerprint = staticmethod(read_fingerprint)
    fingerprints = staticmethod(read_fingerprints)
    fingerprints_by_key = staticmethod(read_fingerprints_by_key)
    written_at = staticmethod(read_written_at)
    commits = staticmethod(read_commits)
