"""Commits of tables of Spark's own catalog: by their log, by the times of their files, else by those of partitions."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import SparkSession

from execution_engine.engines.files.commits import commits_of_files, instant_of, read_commits, written_together
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.files.stores import is_read_here
from execution_engine.engines.protocol import WHOLE, CommitLog, Table
from execution_engine.vitals.commits import Commit

from .catalog_tables import (
    CatalogTable,
    LeftToSpark,
    list_files,
    parameters_of_partitions,
    place_of,
    read_partitions,
    read_table,
)
from .failures import SPARK_ERRORS

SECOND = 10**9  # in nanoseconds


def commits_in_catalog(session: SparkSession, table: Table, mark: str, now: datetime) -> CommitLog:
    """What was committed since the mark, as ``Engine.commits`` has it; the mark begins with how the table is kept."""
    try:
        entry = read_table(session, table.location)
        logged = entry.logged(table)
        kind = logged.storage if logged else "files"
        seen = mark.removeprefix(f"{kind} ") if mark.startswith(f"{kind} ") else ""
        log = read_commits(logged, seen, now) if logged else _of_entry(session, table, entry, seen, now)
    except (LeftToSpark, UnableToListFiles) as error:
        return CommitLog(mark=mark, fault=f"its commits are not known: {error}")
    except SPARK_ERRORS as error:
        return CommitLog(mark=mark, fault=f"Spark's catalog does not tell its partitions ({type(error).__name__})")
    return replace(log, mark=mark if log.fault else f"{kind} {log.mark}")


def _of_entry(session: SparkSession, table: Table, entry: CatalogTable, mark: str, now: datetime) -> CommitLog:
    if "VIEW" in entry.kind:
        raise LeftToSpark("it is a view")
    if is_read_here(place_of(entry.location)):
        partitions = read_partitions(session, table, entry, WHOLE)
        return commits_of_files(list_files(table, entry, partitions), mark, now)
    if not entry.partition_columns:
        scheme = place_of(entry.location).partition("://")[0]
        raise LeftToSpark(f"its files lie on {scheme}://, which only Spark reads, and it has no partitions")
    return commits_of_partitions(parameters_of_partitions(session, table), mark, now)


@dataclass(frozen=True, kw_only=True)
class WrittenPartition:
    """When a partition was written last, in nanoseconds, and its rows and bytes where a metastore counts them."""

    written_ns: int
    rows: int | None
    size: int | None


def commits_of_partitions(parameters: Sequence[Mapping[str, str]], mark: str, now: datetime) -> CommitLog:
    """The partitions, by when a metastore says that each was changed last; the mark is the newest of these times."""
    partitions = [_partition_of(texts) for texts in parameters]
    groups = written_together(partitions, lambda partition: partition.written_ns, mark, now)
    commits = [
        Commit(
            at=instant_of(group[-1].written_ns),
            rows_added=_sum([partition.rows for partition in group]),
            bytes_added=_sum([partition.size for partition in group]),
        )
        for group in groups
    ]
    return CommitLog(commits=tuple(commits), mark=str(groups[-1][-1].written_ns) if groups else mark)


def _partition_of(parameters: Mapping[str, str]) -> WrittenPartition:
    """A metastore has -1 for rows that it has not counted."""
    numbers: dict[str, int] = {}
    for name in ("transient_lastDdlTime", "numRows", "totalSize", "created"):
        with suppress(KeyError, ValueError):
            numbers[name] = int(parameters[name])
    rows, size = numbers.get("numRows", -1), numbers.get("totalSize", -1)
    written = numbers.get("transient_lastDdlTime") or numbers.get("created", 0)
    return WrittenPartition(
        written_ns=written * SECOND, rows=rows if rows >= 0 else None, size=size if size >= 0 else None
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    counted = [number for number in numbers if number is not None]
    return sum(counted) if len(counted) == len(numbers) else None
