"""The windows of a table that is kept as files, as Arrow tables, the oldest first: what a past is learned from."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from django.core.management.base import CommandParser
from rich.console import Console
from rich.progress import Progress, track

from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.profile import FILES
from assay.catalog.selectors import by_name, home, sensitive_columns, window_from_text
from assay.command_line.command import BARE_DATE, UnableToRun, end_of_range, key_values
from assay.models import Dataset
from assay.time.windows import Granularity, UnableToReadWindow, Window, place_end
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part, list_partitions
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import WHOLE, Part, Table
from execution_engine.metrics.expressions import is_hidden
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile
from execution_engine.verification.data import PATH_HELP, name_of, names_files, table_of

from . import storage

_DAY = re.compile(r"(?<!\d)(\d{4})[-_]?(\d\d)[-_]?(\d\d)(?!\d)")
T = TypeVar("T")
PARTS = 10  # of a file without partitions, in the order of its rows


class WindowTooLarge(UnableToRun):
    """A window with more bytes in its files than may be read at once."""


@dataclass(frozen=True, kw_only=True)
class FileWindow:
    """One window's rows, and the instant that it starts at, in seconds since 1970, where that is known.

    ``day``: the local day that it is of, where its key names one or the dataset is cut into days.
    """

    key: str
    rows: pa.Table
    start: float | None = None
    day: date | None = None


def add_window_arguments(parser: CommandParser) -> None:
    """The table, and which of its rows are a window."""
    parser.add_argument("table", help=f"a dataset of the catalog; or {PATH_HELP}")
    parser.add_argument("--from", dest="start", type=end_of_range, help=f"of a dataset, {BARE_DATE}")
    parser.add_argument("--to", dest="end", type=end_of_range, help="of a dataset (default: now)")
    parser.add_argument("--by", default="", metavar="COLUMN,…", help="of files: the columns that make a window")
    parser.add_argument("--option", "-o", action="append", default=[], metavar="KEY=VALUE", help="how CSV is read")
    parser.add_argument("--by-file", action="store_true", help="of a folder: each file is a window, by their names")


def dataset_named(name: str) -> Dataset:
    """A dataset of the catalog; raises UnableToRun."""
    if (dataset := by_name(name)) is None:
        raise UnableToRun(f"there is no file and no dataset {name!r}; `assay sync` reads the catalog")
    return dataset


def files_of(dataset: Dataset) -> Table:
    """Where a dataset's files lie; raises UnableToRun."""
    try:
        table = storage.table_of(dataset, home(dataset))
    except UnableToUseLocation as error:
        raise UnableToRun(str(error)) from None
    if table.storage not in FILES:
        raise UnableToRun(f"{dataset.full_name} is kept as {table.storage}: only files are profiled so far")
    return table


def hidden_columns(dataset: Dataset, names: Sequence[str]) -> list[str]:
    """Those of the columns that profiles leave out: sensitive ones, and that of the partition."""
    hidden = sensitive_columns(dataset) | {(dataset.partition_column or "").casefold()}
    return [name for name in names if is_hidden(name, hidden)]


def windows_of_dataset(
    dataset: Dataset, usual: int, options: dict[str, Any], *, most_bytes: int | None = None, in_full: bool = False
) -> Iterator[FileWindow]:
    """Its last ``usual`` partitions, or those from ``start`` to ``end``, without hidden columns unless ``in_full``.

    Partitions that are not there are left out; one with more than ``most_bytes`` in its files is WindowTooLarge. Raises
    UnableToRun and UnableToListFiles.
    """
    partitioning, now = dataset.partitioning, clock.now()
    if options["by"] or options["by_file"] or options["option"]:
        raise UnableToRun("--by, --by-file and --option are of files: the catalog knows how a dataset is read")
    if partitioning is None:
        raise UnableToRun(f"{dataset.full_name} has no partitions, and so no past to learn from")
    table = files_of(dataset)
    end = min(place_end(options["end"], dataset.time_zone), now) if options["end"] else now
    start = place_end(options["start"], dataset.time_zone) if options["start"] else None
    last = partitioning.previous(partitioning.at(end), usual) if start is None else ()
    windows = partitioning.between(start, end) if start else last
    for window in _tracked(windows, quiet=options["json"]):
        if (rows := rows_of(dataset, table, window, most_bytes=most_bytes)) is not None:
            visible_rows = rows if in_full else rows.drop_columns(hidden_columns(dataset, rows.column_names))
            local = window.start.astimezone(partitioning.zone).date()
            yield FileWindow(
                key=partitioning.key(window),
                rows=visible_rows,
                start=window.start.timestamp(),
                day=local if partitioning.granularity is Granularity.DAY else None,
            )


def rows_of_dataset(dataset: Dataset, most_bytes: int) -> pa.Table | None:
    """All rows, without hidden columns; None where it has no files, or more bytes of them.

    Raises UnableToRun and UnableToListFiles.
    """
    table = files_of(dataset)
    listing = list_part(table, WHOLE)
    if listing.size > most_bytes or (rows := _read(table, listing)) is None:
        return None
    return rows.drop_columns(hidden_columns(dataset, rows.column_names))


def rows_of(dataset: Dataset, table: Table, window: Window, *, most_bytes: int | None = None) -> pa.Table | None:
    """The rows of a dataset's files in one window; None without files.

    Raises WindowTooLarge beyond so many bytes, UnableToRun and UnableToListFiles.
    """
    listing = list_part(table, storage.part_of(dataset, window, storage.engine_of_storage(table.storage), table))
    if listing.filtered:
        raise UnableToRun(f"{table.name} keeps its partitions inside the files: give their path, and --by")
    if most_bytes is not None and listing.size > most_bytes:
        key = "its partition" if dataset.partitioning is None else f"its partition {dataset.partitioning.key(window)}"
        raise WindowTooLarge(f"{key} has {listing.size / 1e6:,.0f} MB in files")
    return _read(table, listing)


def windows_of_files(options: dict[str, Any]) -> Iterator[FileWindow]:
    """What ``--by`` or ``--by-file`` says; else the partitions that folders name; else tenths of all rows.

    Raises UnableToRun and UnableToListFiles.
    """
    by, quiet = options["by"], options["json"]
    if options["start"] or options["end"]:
        raise UnableToRun("--from and --to are of a dataset of the catalog: give the path of the files wanted instead")
    table = _table_named(options["table"], options["option"])
    whole = list_part(table, WHOLE)
    if options["by_file"]:
        for file in _tracked(in_time_order(whole.files, lambda file: file.path), quiet=quiet):
            if (rows := _read(table, replace(whole, files=(file,)))) is not None:
                yield _dated(file.base_name, rows)
        return
    partitioned = replace(table, partition_column=whole.partition_columns[0] if whole.partition_columns else None)
    keys = list_partitions(partitioned) if not by else None
    if keys:
        for key in _tracked(in_time_order(keys, str), quiet=quiet):
            if (rows := _read(partitioned, list_part(partitioned, Part(keys=(key,))))) is not None:
                yield _dated(key, rows.drop_columns([partitioned.partition_column or ""]))
        return
    rows = _read(table, whole)
    if rows is None or not rows.num_rows:
        return
    if by:
        names = by.split(",")
        if missing := [name for name in names if name not in rows.column_names]:
            raise UnableToRun(f"--by names {missing[0]}, which is no column: {', '.join(rows.column_names)}")
        groups = rows.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])
        for group in groups.to_pylist():
            part = rows
            for name in names:
                column = part.column(name)
                part = part.filter(pc.is_null(column) if group[name] is None else pc.equal(column, group[name]))
            yield _dated("/".join(str(group[name]) for name in names), part.drop_columns(names))
        return
    size = max(1, -(-rows.num_rows // PARTS))
    for number, start in enumerate(range(0, rows.num_rows, size), 1):
        yield _dated(f"part {number}", rows.slice(start, size))


def _table_named(name: str, option: Sequence[str]) -> Table:
    try:
        return table_of(name, name_of(name), key_values(option))
    except ValueError as error:
        raise UnableToRun(str(error)) from None


def _dated(key: str, rows: pa.Table) -> FileWindow:
    """A window whose key names a day starts with this day: so days of a week are alike."""
    start = start_of_day(key)
    return FileWindow(
        key=key, rows=rows, start=start, day=None if start is None else datetime.fromtimestamp(start, UTC).date()
    )


def start_of_day(key: str) -> float | None:
    """The start of the day that a key or a path names, in seconds since 1970; None where it names none."""
    if match := _DAY.search(key):
        with suppress(ValueError):  # no such day
            return datetime.fromisoformat("-".join(match.groups())).replace(tzinfo=UTC).timestamp()
    return None


def in_time_order(things: Sequence[T], name: Callable[[T], str]) -> list[T]:
    """By the days that all their names have, else by the names, in which 2 comes before 10."""
    days = [start_of_day(name(thing)) for thing in things]
    are_dated = None not in days

    def order(at: int) -> tuple[float, list[tuple[bool, int, str]]]:
        parts = re.split(r"(\d+)", name(things[at]))  # numbers in the name count as numbers
        natural = [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
        return (days[at] or 0.0) if are_dated else 0.0, natural

    return [things[at] for at in sorted(range(len(things)), key=order)]


def _read(table: Table, listing: Listing) -> pa.Table | None:
    batches = list(batches_of(table, listing)) if listing.files else []
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def _tracked(windows: Sequence[Any], *, quiet: bool) -> Iterator[Any]:
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield from windows
    else:
        yield from track(windows, "reading windows", console=console, transient=True)


# The profile of files as a whole: those that a path names, or those of a dataset of the catalog.


@dataclass(frozen=True, kw_only=True)
class FilesOfTable:
    """Where the rows are, and the columns whose values must not be told, in lower case."""

    table: Table
    part: Part = WHOLE
    hidden: frozenset[str] = frozenset()


def place_named(name: str, window: str | None, option: Sequence[str]) -> FilesOfTable:
    """A path or URL, else a dataset, of which the database must be ready; raises UnableToRun."""
    if names_files(name):
        if window:
            raise UnableToRun("--window is of a dataset of the catalog: give the path of the partition instead")
        return FilesOfTable(table=_table_named(name, option))
    dataset = dataset_named(name)
    table = files_of(dataset)
    engine = storage.engine_of_storage(table.storage)
    try:
        part = storage.part_of(dataset, window_from_text(dataset, window), engine, table) if window else WHOLE
    except UnableToReadWindow as error:
        raise UnableToRun(str(error)) from None
    return FilesOfTable(table=table, part=part, hidden=frozenset(sensitive_columns(dataset)))


def profile_of_place(place: FilesOfTable, start: float | None = None, *, quiet: bool) -> TableProfile:
    """Of all rows, with times counted from ``start``; raises UnableToRun."""
    table = place.table
    try:
        listing = list_part(table, place.part)
        if not listing.files:
            raise UnableToRun(f"{table.place} has no files")
        if listing.filtered:
            raise UnableToRun(f"{table.name} keeps its partitions inside the files: leave --window out")
        with _progress(listing, quiet=quiet) as read:
            return gathered_profile(batches_of(table, listing, read), start)
    except UnableToListFiles as error:
        raise UnableToRun(str(error.failure.detail)) from None


@contextmanager
def _progress(listing: Listing, *, quiet: bool) -> Iterator[Any]:
    """A bar of the bytes that are read, for people who wait."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("reading", total=listing.size)
        yield lambda file: progress.advance(task, file.size)
