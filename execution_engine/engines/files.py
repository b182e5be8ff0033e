"""The parquet files of a part, found by pyarrow without reading data and without Spark."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2s
from pathlib import Path
from urllib.parse import unquote

from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from execution_engine.outcome import Failure, Reason

from .protocol import Part, Table

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(1, 32), 127)}


class UnableToListFiles(Exception):
    """The folder cannot be listed; the failure says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True, kw_only=True)
class Root:
    """The folder of a table: as pyarrow opens it, and the prefix that makes its paths URLs again."""

    filesystem: FileSystem
    path: str
    prefix: str

    def url(self, path: str) -> str:
        """The path as Spark takes it."""
        return self.prefix + path


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The files of one part, in the order of their paths. ``filtered``: the partition is a column inside the files."""

    root: Root
    files: tuple[FileInfo, ...]
    filtered: bool = False

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)

    @property
    def urls(self) -> list[str]:
        """The files as Spark takes them."""
        return [self.root.url(file.path) for file in self.files]

    @property
    def folder_columns(self) -> tuple[str, ...]:
        """The columns that the folders' names hold: ``datestr`` of ``datestr=2013-01-01/``."""
        inside = self.files[0].path[len(self.root.path) :].split("/")[:-1] if self.files else []
        return tuple(name.split("=", 1)[0] for name in inside if "=" in name)

    @property
    def fingerprint(self) -> str:
        """Paths, sizes and modification times in one hash."""
        lines = (f"{file.path[len(self.root.path) :]}\0{file.size}\0{file.mtime_ns}" for file in self.files)
        return blake2s("\n".join(lines).encode(), digest_size=16).hexdigest()


def open_root(location: str) -> Root:
    """The root that a path or URL names; UnableToListFiles where no file system serves it."""
    try:
        if "://" not in location:
            return Root(filesystem=LocalFileSystem(), path=str(Path(location).absolute()), prefix="file://")
        scheme, rest = location.split("://", 1)
        pyarrow_scheme = "s3" if scheme in ("s3a", "s3n") else scheme
        filesystem, path = FileSystem.from_uri(f"{pyarrow_scheme}://{rest}")
    except (ArrowException, OSError, ValueError) as error:
        raise _unreadable(f"{location} names no file system that can be opened: {error}") from error
    path = path.rstrip("/")
    return Root(filesystem=filesystem, path=path, prefix=location.rstrip("/").removesuffix(path))


def list_part(table: Table, part: Part) -> Listing:
    """The files that hold the part; a partition that is not there has none."""
    root = open_root(table.location)
    try:
        if part.keys is None:
            return Listing(root=root, files=_files_below(root, root.path))
        return _list_keys(root, table, part.keys)
    except (ArrowException, OSError) as error:
        raise _unreadable(f"{table.name}: {table.location} cannot be listed: {error}") from error


def read_fingerprint(table: Table, part: Part) -> str | None:
    """Of the files of a part; None for catalog tables and what is unreadable."""
    try:
        return list_part(table, part).fingerprint if table.storage == "parquet" else None
    except UnableToListFiles:
        return None


def list_partitions(table: Table) -> tuple[str, ...] | None:
    """The keys in the names of the folders; None where the first level of folders names no partition."""
    root = open_root(table.location)
    start = f"{table.partition_column}="
    try:
        names = _names(root)
    except OSError:
        return None
    keys = {unquote(name[len(start) :]) for name in names if name.startswith(start)} - {HIVE_NULL}
    return tuple(sorted(keys)) or None


def partition_prints(table: Table, part: Part) -> dict[str, str] | None:
    """The fingerprint of each partition of the part, by key; None where files lie outside the partitions' folders."""
    if table.storage != "parquet" or table.partition_column is None:
        return None
    listing = list_part(table, part)
    start, files = f"{table.partition_column}=", defaultdict(list)
    for file in listing.files:
        folder, _, inside = file.path[len(listing.root.path) + 1 :].partition("/")
        if listing.filtered or not inside or not folder.startswith(start) or folder == start + HIVE_NULL:
            return None
        files[unquote(folder[len(start) :])].append(file)
    return {key: Listing(root=listing.root, files=tuple(some)).fingerprint for key, some in sorted(files.items())}


def newest_file(table: Table) -> FileInfo | None:
    """Any recent file of the table, to learn its columns from; None where it has none."""
    root = open_root(table.location)
    for name in sorted(_names(root), reverse=True):
        files = _files_below(root, f"{root.path}/{name}")
        if files:
            return max(files, key=lambda file: file.mtime_ns)
    return None


def _list_keys(root: Root, table: Table, keys: Sequence[str]) -> Listing:
    column = table.partition_column
    if column is None:
        raise UnableToListFiles(
            Failure(reason=Reason.NO_PARTITION_COLUMN, detail=f"{table.name} has no partition key; add one to it")
        )
    folders = [f"{root.path}/{column}={escape_key(key)}" for key in dict.fromkeys(keys)]
    present = [info.path for info in root.filesystem.get_file_info(folders) if info.type is FileType.Directory]
    if present:
        return Listing(root=root, files=tuple(file for path in sorted(present) for file in _files_below(root, path)))
    return _list_without_folder(root, column, keys)


def _list_without_folder(root: Root, column: str, keys: Sequence[str]) -> Listing:
    """No folder of its own at the first level: the partition is missing, lies deeper, or is a column in the files."""
    names = _names(root)
    if any(name.startswith(f"{column}=") for name in names):
        return Listing(root=root, files=())
    files = _files_below(root, root.path)
    if not any(f"/{column}=" in file.path[len(root.path) :] for file in files):
        return Listing(root=root, files=files, filtered=bool(files))
    wanted = {f"{column}={escape_key(key)}" for key in keys}
    return Listing(root=root, files=tuple(file for file in files if wanted & set(file.path.split("/"))))


def escape_key(key: str) -> str:
    """The key as Hive and Spark write it into a folder's name."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in key)


def _names(root: Root) -> list[str]:
    infos = root.filesystem.get_file_info(FileSelector(root.path))
    return [info.base_name for info in infos if not _is_hidden(info.base_name)]


def _files_below(root: Root, path: str) -> tuple[FileInfo, ...]:
    if root.filesystem.get_file_info(path).type is FileType.File:
        return (root.filesystem.get_file_info(path),)
    infos = root.filesystem.get_file_info(FileSelector(path, recursive=True))
    kept = [info for info in infos if info.type is FileType.File and not _hidden_below(info.path[len(path) :])]
    return tuple(sorted(kept, key=lambda info: info.path))


def _hidden_below(path: str) -> bool:
    return any(_is_hidden(name) for name in path.split("/") if name)


def _is_hidden(name: str) -> bool:
    """Spark's own rule, so that both see the same files: ``_SUCCESS``, ``.x.crc``, ``_temporary/``."""
    return (name[0] in "._" and "=" not in name) or name.endswith("._COPYING_")


def _unreadable(detail: str) -> UnableToListFiles:
    return UnableToListFiles(Failure(reason=Reason.UNREADABLE, detail=detail))
