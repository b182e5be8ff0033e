"""A table that a log describes, as Iceberg's and Delta's, at one snapshot: its columns and the files that count."""

import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow.fs import FileSystem

from execution_engine.engines.protocol import HIVE_NULL

Positions = npt.NDArray[np.int64]  # of rows in one file, sorted, each once
NO_POSITIONS: Positions = np.zeros(0, dtype=np.int64)
_MAGIC = 1681511377  # of the bitmaps that both formats write


class UnableToReadSnapshot(Exception):
    """The log names no such snapshot, or needs something that is not read here; the message says how to go on."""


@dataclass(frozen=True, kw_only=True)
class LogPlace:
    """Where a log lies: the file system, the folder of the table in it, and the prefix that makes its paths URLs.

    What it names of itself may lie in the folders ``within``, anywhere where that is empty, and never in ``never``.
    """

    filesystem: FileSystem = field(compare=False)
    path: str
    prefix: str
    within: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def path_of(self, location: str) -> str:
        """The path of a URL, or path, as a log writes it; raises UnableToReadSnapshot where it leads elsewhere."""
        url, prefix = (re.sub(r"^s3[an]://", "s3://", text) for text in (location, self.prefix))
        if url.startswith(prefix):
            return url[len(prefix) :]
        if prefix == "file://" and "://" not in url:
            return url.removeprefix("file:")
        raise UnableToReadSnapshot(f"it has files at {location:.200}, which is another place than that of its log")

    def path_in_log(self, location: str) -> str:
        """The same of what the log reads itself, as manifests and deletes; it may not lead out of the table either."""
        path = self.path_of(location)
        place = os.path.realpath(path) if self.prefix == "file://" else self.prefix + path
        if lies_in(place, self.never) or (self.within and not lies_in(place, self.within)):
            raise UnableToReadSnapshot(f"its log leads to {location:.200}, out of its folder: put its files there")
        return path


def lies_in(path: str, folders: Sequence[str]) -> bool:
    """Whether a path, or URL, is one of the folders, or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


@dataclass(frozen=True, kw_only=True)
class ColumnNames:
    """Where a file has each column of the table, by the column's name in lower case.

    By the field's id in files that have ids; in others by the first of the names that the file has. ``nested``: types
    with the names that fields inside of columns have in files, where these may be others.
    """

    ids: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nested: Mapping[str, pa.DataType] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveFile:
    """A parquet file of a snapshot; what is told by columns is told by their names in lower case.

    ``rows``: in the file, with deleted ones; None where the log does not say. ``keys``: of each partition field, and
    ``values``: of each column that is the same in all rows, both as texts. ``nulls``, ``least`` and ``greatest`` are
    exact of all rows of the file; between the two ``times`` lie all days of a date, or all microseconds of a timestamp,
    since 1970. ``deletes`` identifies what ``load_deleted`` reads: the positions of deleted rows.
    """

    path: str
    size: int
    written_ns: int
    rows: int | None
    keys: Mapping[str, str | None]
    values: Mapping[str, str | None] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    greatest: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    deletes: str = ""
    load_deleted: Callable[[], Positions] | None = None

    @cached_property
    def deleted(self) -> Positions:
        """The positions of the rows that do not count."""
        return self.load_deleted() if self.load_deleted else NO_POSITIONS


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """The columns of a table, and its files by their paths; ``label`` names the snapshot to people."""

    label: str
    schema: pa.Schema
    columns: ColumnNames
    files: Mapping[str, LiveFile]

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The partition fields, and columns, of which every file holds rows of one key alone, in lower case."""
        names = dict.fromkeys(name for file in self.files.values() for name in file.keys)
        return tuple(name for name in names if self.is_partitioned_by(name))

    def is_partitioned_by(self, column: str) -> bool:
        """Whether every file holds rows of one key of this column or partition field alone."""
        return all(column.lower() in file.keys for file in self.files.values())

    def files_with(self, column: str, keys: Sequence[str]) -> tuple[list[LiveFile], bool]:
        """The files that hold rows of these keys, and whether other rows are among them."""
        name, wanted_keys = column.lower(), set(keys)
        unsure = [file for file in self.files.values() if name not in file.keys]
        sure = [file for file in self.files.values() if name in file.keys and key_of(file, name) in wanted_keys]
        return [*sure, *unsure], bool(unsure)


def key_of(file: LiveFile, name: str) -> str:
    """The key of a file's rows, given a partition field in lower case."""
    key = file.keys[name]
    return HIVE_NULL if key is None else key


def positions_in(body: bytes) -> Positions:
    """The positions in a bitmap as Delta and Iceberg write it; raises UnableToReadSnapshot for another kind."""
    from pyroaring import BitMap

    magic, count = struct.unpack("<IQ", body[:12])
    if magic != _MAGIC:
        raise UnableToReadSnapshot("a deletion vector is of an unknown kind")
    at, parts = 12, [np.zeros(0, dtype=np.int64)]
    for _ in range(count):
        (high,) = struct.unpack("<I", body[at : at + 4])
        bitmap = BitMap.deserialize(body[at + 4 :])
        parts.append(np.frombuffer(bitmap.to_array(), dtype=np.uint32).astype(np.int64) + (high << 32))
        at += 4 + len(bitmap.serialize())
    return np.concatenate(parts)
