"""What readers follow to published data: a manifest, a partition of a signal table, or a row of a database."""

import glob
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from assay.config import config
from assay.stores import is_store, read_only_fault
from execution_engine.own_files import copy_file, read_file, size_and_checksum, write_file
from execution_engine.storage import StoredWindow

from .rules import CHECKSUM, Document, UnableToReadDocument, read_document, written

# Files and folders that appear whole or not at all, and are still there after the machine has lost its power. A store
# takes one object at a time, and has no folders: there the object that is written last makes the others count.

STALE_AFTER = 3600.0  # seconds; what a process that died has left is removed by a later one


def replace_file(location: str, content: bytes) -> None:
    """The file with this content: a reader sees all of the old one or all of the new one."""
    if is_store(location):
        write_file(location, content)
        return
    path = Path(location)
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = _temporary(path)
    try:
        _write(temporary, content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)


def create_folder(
    path: Path, files: Mapping[str, Callable[[Path], object]], *, check: Callable[[], None] = lambda: None
) -> None:
    """The folder with these files, each written by its function; a reader sees all of it or none of it.

    Where the folder is there already it stays as it is. ``check`` may raise before the folder appears.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = _temporary(path)
    try:
        for name, write in files.items():
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file)
            _sync(file)
            _sync(file.parent)
        _sync(temporary)
        check()
        try:
            os.rename(temporary, path)
        except OSError:
            if not path.exists():  # else another was first, with the same content
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _sync(path.parent)


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    """See to it that a file's content, or the names in a folder, are kept."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """A name beside the path that engines do not read, as it begins with a dot."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def _sweep(path: Path) -> None:
    """Remove what processes that died have left beside the path."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if time.time() - left.stat().st_mtime > STALE_AFTER:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


SIGNAL_FILE = "signal.parquet"
KINDS = "manifest:FOLDER, signal:FOLDER or sql:VARIABLE:TABLE"


class UnableToPoint(Exception):
    """A pointer that is written wrongly, or cannot be moved; the message says how to mend it."""


class Pointer(Protocol):
    """One kind of pointer, to one window of one dataset."""

    def says(self) -> str | None:
        """The checksum of the document that readers see now; None where there is none, or none of ours."""
        ...

    def move(self, document: Document) -> None:
        """Have readers see the document: each of them sees all of the old one, or all of this one."""
        ...


def pointer_to(text: str, *, dataset: str, partition: str) -> Pointer:
    """The pointer that ``--to`` names, for one window of a dataset; raises UnableToPoint."""
    kind, _, rest = text.partition(":")
    if kind in ("manifest", "signal") and rest:
        if "://" in rest and not is_store(rest):
            raise UnableToPoint(f"{text}: write a folder of this machine, or a place in a store: s3://BUCKET/FOLDER")
        if fault := read_only_fault(rest, config().object_stores):
            raise UnableToPoint(fault)
        folder = folder_named(rest)
        return Manifest(folder, partition) if kind == "manifest" else Signal(folder, dataset, partition)
    if kind == "sql" and rest.count(":") == 1:
        variable, _, table = rest.partition(":")
        return SqlRow(variable, table, dataset, partition)
    raise UnableToPoint(f"{text!r} is no pointer: write {KINDS}")


def folder_named(text: str) -> str:
    """The folder, or the place in a store, that a command's word names."""
    return text.rstrip("/") if is_store(text) else str(Path(text).absolute())


class Manifest:
    """A JSON file ``_PUBLISHED_<partition>.json`` in a folder; engines do not read it as data."""

    def __init__(self, folder: str, partition: str) -> None:
        self.file = f"{folder}/_PUBLISHED_{quote(partition, safe=' ')}.json"

    def says(self) -> str | None:
        """The checksum of the document in the file."""
        try:
            return str(read_document(read_file(self.file).decode())[CHECKSUM])
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError, UnableToReadDocument):
            return None

    def move(self, document: Document) -> None:
        """Replace the file."""
        replace_file(self.file, written(document).encode())


class Signal:
    """A partition of a table of signals: ``dataset=…/partition=…/signal.parquet``, with one row."""

    def __init__(self, folder: str, dataset: str, partition: str) -> None:
        self.folder = f"{folder}/dataset={quote(dataset, safe=' ')}/partition={quote(partition, safe=' ')}"
        self.file = f"{self.folder}/{SIGNAL_FILE}"

    def says(self) -> str | None:
        """The checksum in the row."""
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            content = read_file(self.file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            rows = ParquetFile(BytesIO(content)).read(["document"]).to_pylist()
            return str(read_document(rows[0]["document"])[CHECKSUM])
        except (ArrowException, OSError, LookupError, UnableToReadDocument):
            return None

    def move(self, document: Document) -> None:
        """Create the partition whole, a parquet file with one row; where it is there already, replace its one file."""
        import pyarrow
        from pyarrow.parquet import write_table

        row = {**{name: document[name] for name in SIGNAL_COLUMNS}, "document": written(document)}
        file = BytesIO()
        write_table(pyarrow.table({name: [value] for name, value in row.items()}), file)
        content = file.getvalue()
        if not is_store(self.folder):
            create_folder(Path(self.folder), {SIGNAL_FILE: lambda path: path.write_bytes(content)})
        if self.says() != document[CHECKSUM]:
            replace_file(self.file, content)


SIGNAL_COLUMNS = ("window", "location", "fingerprint", "decided_at", "published_by", "sha256")


class SqlRow:
    """The row of a window in a table that SQLAlchemy writes; an environment variable holds the database's URL."""

    def __init__(self, variable: str, table: str, dataset: str, partition: str) -> None:
        from sqlalchemy import Column, MetaData, String, Table, Text, create_engine
        from sqlalchemy.exc import ArgumentError

        if not (url := os.environ.get(variable, "")):
            raise UnableToPoint(f"the environment variable {variable} is to hold the database's URL; it is empty")
        try:
            self._engine = create_engine(url)
        except (ArgumentError, ImportError) as error:
            why = type(error).__name__
            raise UnableToPoint(f"the environment variable {variable} holds no URL that can be used: {why}") from None
        texts = ("window", "fingerprint", "decided_at", "published_by", "sha256")
        self._table = Table(
            table,
            MetaData(),
            Column("dataset", String(255), primary_key=True),
            Column("partition", String(100), primary_key=True),
            Column("location", Text, nullable=False),
            Column("document", Text, nullable=False),
            *(Column(name, String(200), nullable=False) for name in texts),
        )
        self._key = {"dataset": dataset, "partition": partition}

    def says(self) -> str | None:
        """The checksum of the document in the row."""
        from sqlalchemy import inspect, select
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                if not inspect(connection).has_table(self._table.name):
                    return None
                query = select(self._table.c.document).filter_by(**self._key)
                text = connection.execute(query).scalar_one_or_none()
            return None if text is None else str(read_document(text)[CHECKSUM])
        except UnableToReadDocument:
            return None
        except SQLAlchemyError as error:
            raise UnableToPoint(f"the table {self._table.name} cannot be read: {type(error).__name__}") from None

    def move(self, document: Document) -> None:
        """Write the row in place of the one before, in one transaction; the table is made where it is missing."""
        from sqlalchemy import delete, insert
        from sqlalchemy.exc import SQLAlchemyError

        row: dict[str, Any] = {**self._key, "document": json.dumps(document)}
        row |= {column.name: document[column.name] for column in self._table.columns if column.name not in row}
        try:
            self._table.create(self._engine, checkfirst=True)
            with self._engine.begin() as connection:
                connection.execute(delete(self._table).filter_by(**self._key))
                connection.execute(insert(self._table), row)
        except SQLAlchemyError as error:
            raise UnableToPoint(f"the table {self._table.name} cannot be written: {type(error).__name__}") from None


# Copies of what was audited, each in a folder of its own that nobody writes again: what a pointer may safely name.

WHOLE = "_WHOLE.json"  # the last object of a version in a store: the files of the version, with their checksums


class UnableToCopy(Exception):
    """The audited files cannot be copied; the message says why."""


def version_folder(versions: str, *, dataset: str, partition: str, fingerprint: str) -> str:
    """Where the copy of a window with this fingerprint lies."""
    return f"{versions}/{quote(dataset, safe=' ')}/{quote(partition, safe=' ')}/{fingerprint}"


def copy_version(stored: StoredWindow, folder: str, *, again: Callable[[], StoredWindow]) -> list[dict[str, Any]]:
    """Copy the files of a window into the folder, which counts whole or not at all; one that is there stays as it is.

    ``again`` looks at the window once more: files that were written while they were copied make no version. Returns
    the files of the copy, each with its size in bytes and SHA-256: they change no more. Raises UnableToCopy.
    """
    source = stored.location.rstrip("/") if is_store(stored.location) else stored.location.removeprefix("file://")
    if "://" in source and not is_store(source):
        raise UnableToCopy(
            f"{source} is neither a folder of this machine nor in a store: only such are copied; publish without "
            "--versions"
        )

    def demand_unchanged() -> None:
        if again().fingerprint != stored.fingerprint:
            raise UnableToCopy("the data was written while it was copied")

    names = [file.path for file in stored.files]
    if not is_store(folder):
        files = {name: partial(_copy, f"{source}/{name}") for name in names}
        create_folder(Path(folder), files, check=demand_unchanged)
        return _files_in(folder, names)
    try:
        copies: list[dict[str, Any]] = json.loads(read_file(f"{folder}/{WHOLE}"))
        return copies
    except FileNotFoundError:
        pass
    for name in names:
        _copy(f"{source}/{name}", f"{folder}/{name}")
    demand_unchanged()
    copies = _files_in(folder, names)
    write_file(f"{folder}/{WHOLE}", json.dumps(copies).encode())
    return copies


def files_of(stored: StoredWindow) -> list[dict[str, Any]]:
    """The files as the document names them where they lie: their sizes, and when they were written."""
    return [{"path": file.path, "bytes": file.size, "modified_ns": file.modified_ns} for file in stored.files]


def _files_in(folder: str, names: Sequence[str]) -> list[dict[str, Any]]:
    files = []
    for name in names:
        size, checksum = size_and_checksum(f"{folder}/{name}")
        files.append({"path": name, "bytes": size, "sha256": checksum})
    return files


def _copy(source: str, target: Path | str) -> None:
    try:
        copy_file(source, str(target))
    except FileNotFoundError:
        raise UnableToCopy(f"{source} went away while it was copied: the data is being written") from None
