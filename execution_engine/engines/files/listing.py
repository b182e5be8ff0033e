"""The files of a part, found by pyarrow without reading data and without Spark."""

import os
import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from hashlib import blake2s
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ArrowException, orc
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from assay.catalog.profile import FILES, LOGGED
from execution_engine.engines.protocol import HIVE_NULL, Part, Table
from execution_engine.outcome import Failure, Reason

from . import delta, iceberg
from .open_files import ListedFile, open_parquet
from .snapshot import NO_POSITIONS, LogPlace, Positions, Snapshot, UnableToReadSnapshot, key_of, lies_in
from .stores import UnableToOpenStore, open_file_system, store_failure

if TYPE_CHECKING:  # a second of imports, for who reads such a table
    from pyiceberg.table.metadata import TableMetadata

# Folders whose files alone are not a table's rows: known by the logs that Delta, Iceberg and Hudi keep beside them.

_LOGS = {"_delta_log": "delta", ".hoodie": "hudi", "metadata": "iceberg"}  # the folder that each keeps
_NAMES = {"delta": "a Delta", "iceberg": "an Iceberg", "hudi": "a Hudi"}


def table_format(root: "Root", *, only_above: bool = False) -> tuple[str, str] | None:
    """``delta``, ``iceberg`` or ``hudi``, and its folder, where the path is such a table or lies directly in one.

    What lies above in a store is asked once a minute: there many tables may be.
    """
    above = root.path.rpartition("/")[0]
    if not only_above and (format_ := _format_of(root.filesystem, root.path)):
        return format_, root.path
    if root.is_local:
        format_ = _format_of(root.filesystem, above) if above else None
    else:
        format_ = _format_in_store(root.url(above), int(monotonic() // ABOVE_SECONDS)) if above else None
    return (format_, above) if format_ else None


@lru_cache(maxsize=1024)
def _format_in_store(location: str, _period: int) -> str | None:
    root = open_root(location)
    return _format_of(root.filesystem, root.path)


def _format_of(filesystem: FileSystem, folder: str) -> str | None:
    return next((format_ for log, format_ in _LOGS.items() if _is_log(filesystem, f"{folder}/{log}")), None)


def _is_log(filesystem: FileSystem, path: str) -> bool:
    """Whether a log lies there; in a store one request tells."""
    is_usual = path.endswith("/metadata")  # many a folder is called so, but Iceberg's holds files of one kind
    if isinstance(filesystem, LocalFileSystem) and not (os.path.isdir(path) and is_usual):
        return os.path.isdir(path)
    entries = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
    return any(iceberg.METADATA.fullmatch(entry.base_name) for entry in entries) if is_usual else bool(entries)


def _how_to_read(format_: str, location: str, *, is_inside: bool) -> str:
    """What to tell whoever gave such a folder as a folder of files."""
    if format_ == "hudi":
        mend = "register it in a Spark catalog, and write storage: table with its name there as the location"
    elif is_inside:
        mend = f"name the folder above, with storage: {format_}"
    else:
        mend = f"write storage: {format_}"
    what = "lies in" if is_inside else "is"
    return (
        f"{location} {what} {_NAMES[format_]} table: its files alone are not its rows, as its log says which of them "
        f"count; {mend}"
    )


# what readers raise of a log that is not as it should be: it is JSON, Avro and parquet that others have written
DAMAGES = (ArrowException, ValueError, KeyError, TypeError, IndexError, EOFError, struct.error)
_KINDS = tuple(
    (kind, re.compile(rf"\.({endings})(\.(gz|bz2|zst|snappy|lz4|deflate))?$"))
    for kind, endings in (("parquet", "parquet|parq"), ("orc", "orc"), ("csv", "csv|tsv"), ("json", "jsonl?|ndjson"))
)
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(1, 32), 127)}


ABOVE_SECONDS = 60.0
MOST_LOOKS = 8  # files of a store that are looked at one by one


class UnableToListFiles(Exception):
    """The folder cannot be listed; the failure says why."""

    def __init__(self, detail: str, reason: Reason = Reason.UNREADABLE) -> None:
        self.failure = Failure(reason=reason, detail=detail)
        super().__init__(str(self.failure))


class HoldsTables(UnableToListFiles):
    """In the folder lie tables that a log describes, each in a folder of its own."""


@dataclass(frozen=True, kw_only=True)
class Root:
    """The folder of a table: as pyarrow opens it, and the prefix that makes its paths URLs again."""

    filesystem: FileSystem
    path: str
    prefix: str

    @property
    def is_local(self) -> bool:
        """Whether it lies on a disk of this machine."""
        return self.prefix == "file://"

    def open_store(self) -> FileSystem | None:
        """The store that it lies in, with the keys of now; None where it lies on a disk."""
        return None if self.is_local else open_root(self.url(self.path)).filesystem

    def url(self, path: str) -> str:
        """The path as Spark takes it."""
        return self.prefix + path

    def place(self, path: str) -> str:
        """The path as the kernels open it, wherever they run."""
        return path if self.is_local else self.url(path)


@dataclass(frozen=True, kw_only=True)
class CatalogEntry:
    """What a catalog says of files: the table's columns, its partitions' among them, and their values by path."""

    schema: pa.Schema
    values: Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The files of one part, in the order of their paths. ``filtered``: the partition is a column inside the files.

    ``snapshot``: of which table they are the live files, where a log says that, and ``entry`` where a catalog says it;
    all else is what files themselves say.
    """

    root: Root
    files: tuple[FileInfo, ...]
    filtered: bool = False
    snapshot: Snapshot | None = None
    entry: CatalogEntry | None = None
    is_orc: bool = False

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)

    @property
    def urls(self) -> list[str]:
        """The files as Spark takes them."""
        return [self.root.url(file.path) for file in self.files]

    @cached_property
    def newest(self) -> FileInfo:
        """The file written last, of those of one second, as stores tell it, the last by name; there must be one."""
        return max(self.files, key=lambda file: (file.mtime_ns, file.path))

    @cached_property
    def footer(self) -> pq.FileMetaData:
        """That of the newest, a parquet file."""
        return read_footer(self.root, self.newest)

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the catalog or the snapshot, else of the newest, a file of parquet or ORC."""
        if self.entry:
            return self.entry.schema
        if self.is_orc:
            with self.root.filesystem.open_input_file(self.newest.path) as opened:
                return orc.ORCFile(opened).schema
        return self.snapshot.schema if self.snapshot else self.footer.schema.to_arrow_schema()

    @property
    def folder_columns(self) -> tuple[str, ...]:
        """The columns that the folders' names hold, beside those inside: ``datestr`` of ``datestr=2013-01-01/``."""
        if self.snapshot or self.entry:
            return ()
        return tuple(self.folder_values(self.files[0])) if self.files else ()

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns of which each file holds one value: those of folders' names, or what a snapshot is cut by."""
        if not self.snapshot:
            return self.folder_columns
        return tuple(name for name in self.schema.names if self.files and self.snapshot.is_partitioned_by(name))

    def folder_values(self, file: FileInfo) -> dict[str, str | None]:
        """The values of the columns that the folders of one file name, or that log or catalog says of all its rows."""
        if self.entry:
            return dict(self.entry.values[file.path])
        if self.snapshot:
            return dict(self.snapshot.files[file.path].values)
        inside = file.path[len(self.root.path) :].split("/")[:-1]
        pairs = (name.split("=", 1) for name in inside if "=" in name)
        return {unquote(name): None if key == HIVE_NULL else unquote(key) for name, key in pairs}

    def deleted_in(self, file: FileInfo) -> Positions:
        """The positions of the rows of a file of a snapshot that do not count; raises UnableToListFiles."""
        try:
            return self.snapshot.files[file.path].deleted if self.snapshot else NO_POSITIONS
        except (UnableToReadSnapshot, OSError, *DAMAGES) as error:
            raise UnableToListFiles(
                f"which rows of {self.root.url(file.path)} are deleted is not known: {error}"
            ) from error

    @property
    def is_checked_at_once(self) -> bool:
        """Whether all files are looked at together when they were read: one listing has many of a store."""
        return not self.root.is_local and self.snapshot is None and len(self.files) > MOST_LOOKS

    def is_unchanged(self) -> bool:
        """Whether files that are looked at together are those that were listed, as far as the store tells it."""
        if not self.is_checked_at_once:
            return True
        folders = dict.fromkeys(file.path.rpartition("/")[0] for file in self.files)
        now: set[tuple[str, int, int]] = set()
        with suppress(OSError):
            for folder in folders:
                now.update(map(_state, self.root.filesystem.get_file_info(FileSelector(folder, allow_not_found=True))))
        return now.issuperset(map(_state, self.files))

    @property
    def fingerprint(self) -> str:
        """Paths, sizes and modification times in one hash; of a snapshot the deleted rows and the columns too."""
        if self.snapshot and self.files:
            live = [self.snapshot.files[file.path] for file in self.files]
            lines = [str(self.snapshot.schema), *(f"{file.path}\0{file.size}\0{file.deletes}" for file in live)]
        elif self.entry and self.files:
            states = ((*_state(file), sorted(self.entry.values[file.path].items())) for file in self.files)
            lines = [str(self.entry.schema), *(f"{path}\0{size}\0{ns}\0{key}" for path, size, ns, key in states)]
        else:
            lines = [f"{file.path[len(self.root.path) :]}\0{file.size}\0{file.mtime_ns}" for file in self.files]
        return blake2s("\n".join(lines).encode(), digest_size=16).hexdigest()


def _state(file: FileInfo) -> tuple[str, int, int]:
    return file.path, file.size, file.mtime_ns


def read_footer(root: Root, file: FileInfo) -> pq.FileMetaData:
    """The footer of a parquet file; raises ArrowInvalid where its numbers of rows cannot be true."""
    listed = ListedFile(place=root.place(file.path), size=file.size, mtime_ns=file.mtime_ns)
    return open_parquet(root.filesystem, file.path, listed).footer


def open_root(location: str) -> Root:
    """The root that a path or URL names; UnableToListFiles where no file system serves it."""
    try:
        filesystem, path = open_file_system(location)
    except UnableToOpenStore as error:
        raise UnableToListFiles(str(error)) from error
    url = location.rstrip("/") if "://" in location else f"file://{path}"
    return Root(filesystem=filesystem, path=path, prefix=url.removesuffix(path))


def kind_of(name: str) -> str | None:
    """The storage that a file's name tells, packed or not; None where it tells none."""
    if iceberg.METADATA.fullmatch(name.rpartition("/")[2]):
        return "iceberg"
    return next((kind for kind, pattern in _KINDS if pattern.search(name.lower())), None)


def kind_of_folder(location: str) -> str | None:
    """The storage that the names of a folder's files tell, or the name of the one file; None where none is told."""
    if kind := kind_of(location.rstrip("/")):
        return kind
    try:
        root = open_root(location)
        if (found := table_format(root)) and found[1] == root.path and found[0] in LOGGED:
            return found[0]
        names = [file.base_name for file in _files_below(root, root.path)]
    except (UnableToListFiles, ArrowException, OSError):
        return None
    return next((kind for name in names if (kind := kind_of(name))), None)


def refusal_of(location: str, storage: str) -> str | None:
    """Why a folder of this machine is not read so; None where it is, or cannot be seen from here."""
    if "://" in location or location.startswith("env:") or storage in LOGGED:
        return None
    try:
        return _refusal_in(open_root(location), location)
    except (UnableToListFiles, ArrowException, OSError):
        return None


def _refusal_in(root: Root, location: str, *, only_above: bool = False) -> str | None:
    if not (found := table_format(root, only_above=only_above)):
        return None
    return _how_to_read(found[0], location, is_inside=found[1] != root.path)


def list_part(table: Table, part: Part) -> Listing:
    """The files that hold the part; a partition that is not there has none."""
    if table.storage in LOGGED:
        return _list_live(table, part)
    root = root_of(table)
    try:
        # where all is listed in a store, the listing shows a log of the folder itself
        is_shown = part.keys is None and not root.is_local
        if refusal := _refusal_in(root, table.location, only_above=is_shown):
            raise UnableToListFiles(f"{table.name}: {refusal}")
        if part.keys is None:
            listing = Listing(root=root, files=_files_below(root, root.path))
        else:
            listing = _list_keys(root, table, part.keys)
        refuse_links(table, listing)
        return replace(listing, is_orc=table.storage == "orc")
    except (ArrowException, OSError) as error:
        raise unable_to_list(table, error) from error


def unable_to_list(table: Table, error: Exception) -> UnableToListFiles:
    """What to raise where the files of a table cannot be listed: what is wrong with their store, or the error."""
    failure = store_failure(table.location, error)
    if failure and not table.location_label:
        return UnableToListFiles(f"{table.name}: {failure.detail}", failure.reason)
    detail = f"{table.name}: {table.place} cannot be listed: {table.redact_error(error)}"
    return UnableToListFiles(detail, failure.reason if failure else Reason.UNREADABLE)


def _list_live(table: Table, part: Part) -> Listing:
    """The live files of a part."""
    snapshot = read_snapshot(table)
    if part.keys is None:
        live, is_filtered = list(snapshot.files.values()), False
    elif table.partition_column is None:
        raise _no_partition_key(table)
    else:
        live, is_filtered = snapshot.files_with(table.partition_column, part.keys)
    files = (FileInfo(file.path, FileType.File, mtime_ns=file.written_ns, size=file.size) for file in live)
    in_order = tuple(sorted(files, key=lambda file: file.path))
    listing = Listing(root=root_of(table), files=in_order, filtered=is_filtered, snapshot=snapshot)
    refuse_links(table, listing)
    return listing


def read_snapshot(table: Table) -> Snapshot:
    """The snapshot that the options name, or the newest, of a table that a log describes; raises UnableToListFiles."""
    with reading_log(table) as root:
        wanted = table.options.get("snapshot")
        if wanted is not None and not wanted.isdecimal():
            raise UnableToReadSnapshot(f"the option snapshot is {wanted!r}: write a number, as the table's log has it")
        snapshot = None if wanted is None else int(wanted)
        if table.storage == "delta":
            return _delta_snapshot(place_of_log(table), delta.read_log(root.filesystem, root.path).stamp, snapshot)
        return _iceberg_snapshot(place_of_log(table), *metadata_file(root), snapshot)


def pin_snapshot(table: Table, as_of: str = "") -> tuple[Table, str]:
    """A table that a log describes at one snapshot, whoever commits later, and what people call that snapshot.

    ``as_of`` is a snapshot, or an instant in ISO 8601; else it is the one of the table's options, or the newest. Raises
    UnableToListFiles.
    """
    if as_of.isdecimal():
        table = replace(table, options={**table.options, "snapshot": as_of})
        return table, read_snapshot(table).label
    at = datetime.fromisoformat(as_of) if as_of else None
    with reading_log(table) as root:
        place = place_of_log(table)
        if table.storage == "delta":
            newest = delta.read_log(root.filesystem, root.path).newest
            pinned: int | None = newest if at is None else delta.version_at(place, at)
        else:
            metadata = iceberg_metadata(place, *metadata_file(root))
            pinned = metadata.current_snapshot_id if at is None else iceberg.snapshot_at(metadata, at)
    if pinned is not None and (at is not None or "snapshot" not in table.options):
        table = replace(table, options={**table.options, "snapshot": str(pinned)})
    return table, read_snapshot(table).label


@contextmanager
def reading_log(table: Table) -> Iterator[Root]:
    """The root of a table; what goes wrong with its log becomes UnableToListFiles."""
    root = root_of(table)
    try:
        yield root
    except UnableToReadSnapshot as error:
        raise UnableToListFiles(f"{table.name}: {table.place} cannot be read: {error}") from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) and root.prefix == "file://":
            detail = f"it is no table of {table.storage.title()}: its log, or a part of it, is not there"
            raise UnableToListFiles(f"{table.name}: {table.place} cannot be read: {detail}") from error
        raise unable_to_list(table, error) from error
    except DAMAGES as error:
        detail = f"the log of {table.place} is damaged: {table.redact_error(error)}"
        raise UnableToListFiles(f"{table.name}: {detail}") from error


# A scan asks several times, and a log is not short. The stamp changes with each commit, and where a table is made anew.


@lru_cache(maxsize=8)
def _delta_snapshot(place: LogPlace, stamp: str, version: int | None) -> Snapshot:
    return delta.read_snapshot(place, version)


@lru_cache(maxsize=8)
def _iceberg_snapshot(place: LogPlace, path: str, stamp: str, snapshot_id: int | None) -> Snapshot:
    return iceberg.read_snapshot(place, iceberg_metadata(place, path, stamp), snapshot_id)


@lru_cache(maxsize=8)
def iceberg_metadata(place: LogPlace, path: str, stamp: str) -> "TableMetadata":  # the file may be written anew
    return iceberg.read_metadata(place, path)


def metadata_file(root: Root) -> tuple[str, str]:
    file = iceberg.metadata_file(root.filesystem, root.path)
    return file.path, f"{file.mtime_ns} {file.size}"


def place_of_log(table: Table) -> LogPlace:
    root = open_root(table.location)
    return LogPlace(
        filesystem=root.filesystem, path=root.path, prefix=root.prefix, within=table.within, never=table.never
    )


def root_of(table: Table) -> Root:
    """The root of a table; UnableToListFiles."""
    try:
        return open_root(table.location)
    except UnableToListFiles:
        if not table.location_label:
            raise
        raise UnableToListFiles(f"{table.name}: {table.place} names no file system that can be opened") from None


def refuse_links(table: Table, listing: Listing) -> None:
    """Refuses links among the files that lead to places which those who write the files cannot, or should not, read.

    A link into the table's own folder would give rows of it once more.
    """
    if not isinstance(listing.root.filesystem, LocalFileSystem):
        if table.within and (outside := next((url for url in listing.urls if not lies_in(url, table.within)), "")):
            raise UnableToListFiles(
                f"{table.name}: its log names {outside:.200}, which lies out of its folder: only a table of a catalog "
                "file may have files elsewhere"
            )
        return
    root = os.path.realpath(listing.root.path)
    root_path = listing.root.path  # of a table that is one file, its folder is not the table's
    folders = {os.path.dirname(file.path) for file in listing.files if file.path != root_path}
    links = (file.path for file in listing.files if os.path.islink(file.path))
    for path in (*folders, *links):
        real, inside = os.path.realpath(path), path[len(root_path) :].lstrip("/")
        if not listing.snapshot and inside and real != f"{root.rstrip('/')}/{inside}" and lies_in(real, (root,)):
            raise UnableToListFiles(
                f"{table.name}: a link among its files, {inside:.200}, leads into its own folder: remove it, or rows "
                "would count twice"
            )
        if lies_in(real, table.never) or (table.within and not lies_in(real, table.within)):
            raise UnableToListFiles(
                f"{table.name}: a link among its files leads out of its folder: put the files there themselves, "
                "or add where it leads to ASSAY_ALLOWED_ROOTS"
            )


def read_fingerprint(table: Table, part: Part) -> str | None:
    """Of the files of a part; None for catalog tables and what is unreadable."""
    try:
        return list_part(table, part).fingerprint if table.storage in FILES else None
    except UnableToListFiles:
        return None


def read_fingerprints(table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
    """As ``read_fingerprint`` of each part, from one listing where their partitions have folders of their own."""
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys or ()))
    is_plain = len(parts) > 1 and all(part.keys for part in parts) and not any(map(_is_odd, keys))
    try:
        files_by_key = _files_by_key(table, Part(keys=keys)) if is_plain else None
    except UnableToListFiles:  # for one of them perhaps, and not for the others
        files_by_key = None
    if files_by_key is None:
        return tuple(read_fingerprint(table, part) for part in parts)
    listing, files = files_by_key
    own = ([file for key in sorted(set(part.keys or ())) for file in files.get(key, ())] for part in parts)
    return tuple(replace(listing, files=tuple(part_files)).fingerprint for part_files in own)


def read_written_at(table: Table, part: Part) -> datetime | None:
    """When the newest file of a part was written; None where nothing says it, as where files hold other parts too."""
    try:
        listing = list_part(table, part) if table.storage in FILES else None
    except UnableToListFiles:
        return None
    if listing is None or listing.filtered:
        return None
    return max((file.mtime for file in listing.files if file.mtime is not None), default=None)


def list_partitions(table: Table) -> tuple[str, ...] | None:
    """The keys in the names of the folders, ``HIVE_NULL`` among them; None where no folder names a partition."""
    column = table.partition_column or ""
    if table.storage in LOGGED:
        snapshot = read_snapshot(table)
        keys = {key_of(file, column.lower()) for file in snapshot.files.values() if column.lower() in file.keys}
        return tuple(sorted(keys)) if keys and snapshot.is_partitioned_by(column) else None
    root = root_of(table)
    start = _start(column)
    try:
        names = [] if table_format(root) else _names(root)
        if names and not any(name.startswith(start) for name in names):  # they may lie below folders of another key
            files = _files_below(root, root.path)
            names = [part for file in files for part in file.path[len(root.path) :].split("/")[:-1]]
    except OSError:
        return None
    return tuple(sorted({unquote(name[len(start) :]) for name in names if name.startswith(start)})) or None


def read_fingerprints_by_key(table: Table, part: Part) -> dict[str, str] | None:
    """The fingerprint of each partition, by key; None where files lie outside their folders, or cannot be listed."""
    try:
        files_by_key = _files_by_key(table, part)
    except UnableToListFiles:
        return None  # a scan says what is wrong
    if files_by_key is None:
        return None
    listing, files = files_by_key
    return {key: replace(listing, files=tuple(key_files)).fingerprint for key, key_files in sorted(files.items())}


def _files_by_key(table: Table, part: Part) -> tuple[Listing, dict[str, list[FileInfo]]] | None:
    """All files, and those of each partition that is there; None where files lie outside the partitions' folders."""
    if table.storage not in FILES or table.partition_column is None:
        return None
    listing = list_part(table, part)
    start, files = _start(table.partition_column), defaultdict(list)
    if listing.snapshot:
        if not listing.snapshot.is_partitioned_by(table.partition_column):
            return None
        for file in listing.files:
            files[key_of(listing.snapshot.files[file.path], table.partition_column.lower())].append(file)
        return listing, files
    for file in listing.files:
        folder, _, inside = file.path[len(listing.root.path) + 1 :].partition("/")
        if listing.filtered or not inside or not folder.startswith(start):
            return None
        files[unquote(folder[len(start) :])].append(file)
    return listing, files


def newest_file(table: Table) -> FileInfo | None:
    """Any recent file of the table, to learn its columns from; None where it has none."""
    root = root_of(table)
    for name in sorted(_names(root), reverse=True):
        files = _files_below(root, f"{root.path}/{name}")
        if files:
            return max(files, key=lambda file: (file.mtime_ns, file.path))
    return None


def _no_partition_key(table: Table) -> UnableToListFiles:
    return UnableToListFiles(f"{table.name} has no partition key; add one to it", Reason.NO_PARTITION_COLUMN)


def _list_keys(root: Root, table: Table, keys: Sequence[str]) -> Listing:
    column = table.partition_column
    if column is None:
        raise _no_partition_key(table)
    start = _start(column)
    distinct = dict.fromkeys(keys)
    usual = [f"{root.path}/{start}{escape_key(key)}" for key in distinct]
    present = _files_by_folder(root, usual)
    if len(present) < len(usual) and any(map(_is_odd, distinct)):
        # writers differ in what they escape: Hive leaves a space as it is, pyarrow does not
        names = (name for name in _names(root) if name.startswith(start) and unquote(name[len(start) :]) in distinct)
        present |= _files_by_folder(root, [path for name in names if (path := f"{root.path}/{name}") not in present])
    if present:
        return Listing(root=root, files=tuple(file for _, files in sorted(present.items()) for file in files))
    # no folder of its own at the first level: the partition is missing, lies deeper, or is a column in the files
    if any(name.startswith(start) for name in _names(root)):
        return Listing(root=root, files=())
    files = _files_below(root, root.path)
    if not any(f"/{start}" in file.path[len(root.path) :] for file in files):
        return Listing(root=root, files=files, filtered=bool(files))
    folders = {f"{column}={key}" for key in keys}
    own = tuple(file for file in files if not folders.isdisjoint(map(unquote, file.path.split("/"))))
    return Listing(root=root, files=own)


def _is_odd(key: str) -> bool:
    """Whether one writer may escape it in another way than Hive does."""
    return quote(key, safe="") != key


def _start(column: str) -> str:
    """What the names of the folders of a partition column begin with."""
    return f"{escape_key(column)}="


def escape_key(key: str) -> str:
    """The key, or the column's name, as Hive and Spark write it into a folder's name."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in key)


def _names(root: Root) -> list[str]:
    infos = root.filesystem.get_file_info(FileSelector(root.path))
    return [info.base_name for info in infos if not is_hidden(info.base_name)]


def _files_by_folder(root: Root, paths: Sequence[str]) -> dict[str, tuple[FileInfo, ...]]:
    """The files of those of the folders that are there, by the paths of these."""
    if not root.is_local:
        listed = {path: _plain_files(path, _all_below(root, path)) for path in paths}
        return {path: files for path, files in listed.items() if files}
    infos = root.filesystem.get_file_info(paths)
    return {info.path: _files_below(root, info.path) for info in infos if info.type is FileType.Directory}


def _all_below(root: Root, path: str) -> Sequence[FileInfo]:
    infos: list[FileInfo] = root.filesystem.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    return infos


def _files_below(root: Root, path: str) -> tuple[FileInfo, ...]:
    """The files of a folder, or the one file; OSError where there is neither."""
    infos = [] if root.is_local else _all_below(root, path)  # which is all that a store need be asked
    if not infos:
        info = root.filesystem.get_file_info(path)
        if info.type is FileType.File:
            return (info,)
        infos = root.filesystem.get_file_info(FileSelector(path, recursive=True))
    return _plain_files(path, infos)


def _plain_files(path: str, infos: Sequence[FileInfo]) -> tuple[FileInfo, ...]:
    _refuse_tables(path, infos)
    files = [info for info in infos if info.type is FileType.File]
    plain = [info for info in files if not any(map(is_hidden, filter(None, info.path[len(path) :].split("/"))))]
    return tuple(sorted(plain, key=lambda info: info.path))


def _refuse_tables(path: str, infos: Sequence[FileInfo]) -> None:
    """Refuses a folder that is, or in which lie, whole tables that a log describes: files in them may count no more."""
    for info in infos:
        folder, _, name = info.path.rpartition("/")
        is_log = folder.endswith("/metadata") and iceberg.METADATA.fullmatch(name)
        format_ = "iceberg" if is_log else _LOGS.get(name) if name != "metadata" else None
        place = folder.removesuffix("/metadata") if is_log else folder
        if format_ and place == path:
            raise UnableToListFiles(_how_to_read(format_, "it", is_inside=False))
        if format_:
            raise HoldsTables(
                f"in it lies {_NAMES[format_]} table, {place.removeprefix(path).strip('/')}: name its folder"
            )


def is_hidden(name: str) -> bool:
    """Spark's own rule, so that both see the same files: ``_SUCCESS``, ``.x.crc``, ``_temporary/``."""
    return (name[0] in "._" and "=" not in name) or name.endswith("._COPYING_")
