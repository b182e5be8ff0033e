"""Parquet files, each opened once in a process: their footers and, of a store, what reads them without a request more.

A file is another one where its size, or the time of its writing, is another than its listing told.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem, LocalFileSystem

from .last_used import LastUsed
from .sound_footers import sound_footer

MOST_BYTES = 128 * 1024 * 1024  # of footers, as they are stored, and of small files of stores
WHOLE_BYTES = 512 * 1024  # of a file of a store that one request fetches: others would cost as much as these


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file as a listing told of it; ``place`` is its path or, in a store, its URL."""

    place: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, kw_only=True)
class OpenFile:
    """A file that was opened: its footer, and in a store what reads it, and what the store said of this very object."""

    listed: ListedFile
    filesystem: FileSystem
    path: str
    footer: pq.FileMetaData
    reader: pa.NativeFile | None = None
    version: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """About how many bytes are held."""
        whole = self.listed.size if isinstance(self.reader, pa.BufferReader) else 0
        return int(self.footer.serialized_size) + whole

    def is_of(self, filesystem: FileSystem) -> bool:
        """Whether this file system reads it: other keys of a store open another."""
        return self.reader is None or self.filesystem is filesystem or bool(self.filesystem == filesystem)

    def is_unchanged(self) -> bool:
        """Whether the store has the very object that was listed and opened; one request."""
        return is_object(self.filesystem, self.path, self.listed, self.version)


def is_object(filesystem: FileSystem, path: str, listed: ListedFile, version: Mapping[str, bytes]) -> bool:
    """Whether a store has the very object that was listed, and opened in this version; one request."""
    now = filesystem.open_input_file(path)
    if (now.size(), now.metadata()) != (listed.size, version):
        return False
    second = listed.mtime_ns // 10**9  # a listing may tell fractions where the object itself does not
    with suppress(KeyError, ValueError):
        return int(datetime.fromisoformat(version["Last-Modified"].decode()).timestamp()) == second
    return bool((filesystem.get_file_info(path).mtime_ns or 0) // 10**9 == second)


OPEN_FILES: LastUsed[ListedFile, OpenFile] = LastUsed(MOST_BYTES)


def open_parquet(filesystem: FileSystem, path: str, listed: ListedFile) -> OpenFile:
    """The file with its footer; ArrowException for one that is damaged, and OSError."""
    if (file := OPEN_FILES.get(listed)) and file.is_of(filesystem):
        return file
    if isinstance(filesystem, LocalFileSystem):
        with filesystem.open_input_file(path) as opened:
            footer = sound_footer(pq.read_metadata(opened), listed.size)
        file = OpenFile(listed=listed, filesystem=filesystem, path=path, footer=footer)
    else:
        reader = filesystem.open_input_file(path)
        version, size = reader.metadata(), reader.size()
        if size <= WHOLE_BYTES:
            reader = pa.BufferReader(reader.read_at(size, 0))
        footer = sound_footer(pq.read_metadata(reader), listed.size)
        file = OpenFile(listed=listed, filesystem=filesystem, path=path, footer=footer, reader=reader, version=version)
    OPEN_FILES.put(listed, file, file.weight)
    return file
