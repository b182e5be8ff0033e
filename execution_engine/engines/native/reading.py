"""The rows of row groups, batch by batch, each column as Spark reads it; what may be read otherwise is refused."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from execution_engine.engines.files.sound_footers import sound_footer

from .evaluation import RowBatch
from .language import UnableToTell
from .values import Values, of_texts, texts_of, values_of

ROWS = 1 << 17  # of a batch: its columns fit into the cache of a core, and calls cost little beside them
MOST_BYTES = 64 * 1024 * 1024  # of a batch, unpacked, by what the footer tells of its columns
BUFFER = 8 * 1024 * 1024
LEAST_ROWS = 1 << 6
PEEK = 1 << 16  # bytes read at once where the dictionary alone is wanted
_OLD_TIMES = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_TEMPORAL = {"date", "timestamp", "timestamp_ntz"}
FEW_BYTES = 6  # a value of a column whose row group has a dictionary for all of its values takes no more, packed so
SHORT = 2 * 1024 * 1024  # bytes of a column in a row group, of which making a dictionary costs little


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A column: its type in Spark, and in the newest file, which every other must have as well."""

    spark: str
    arrow: pa.DataType


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some row groups of one file, which had this size and time of writing when it was listed.

    ``path`` is one of this machine, or the URL of a file in a store. ``folders``: the values of the columns that the
    names of its folders hold; ``footer``: where it is read already.
    """

    path: str
    groups: tuple[int, ...]
    size: int
    mtime_ns: int
    folders: Mapping[str, str | None] = field(default_factory=dict)
    footer: pq.FileMetaData | None = None

    @property
    def is_in_store(self) -> bool:
        """Whether it is read over the network."""
        return "://" in self.path


class UnableToReadPiece(Exception):
    """The file is not what was listed, or cannot be read; Spark must say what is wrong with it.

    It names neither the file nor the error: the reason is kept with the scan, and a location may be a secret.
    """


def batches(piece: Piece, columns: Mapping[str, Stored]) -> Iterator[RowBatch]:
    """The rows with these columns, by their names in lower case; one that the file has not is null throughout.

    UnableToTell where a column is stored otherwise than in the newest file; UnableToReadPiece where the file cannot be
    read, or is not what was listed.
    """
    if not piece.is_in_store:
        _check(piece)
    try:
        with open_piece(piece) as opened:
            metadata = piece.footer or sound_footer(pq.read_metadata(opened), opened.size())
            own = _own_names(metadata, columns)
            places = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
            groups = [metadata.row_group(group) for group in piece.groups]
            chunks = {name: [group.column(places[name]) for group in groups] for name in own.values()}
            texts = [name for key, name in own.items() if columns[key].spark == "string"]
            # a dictionary serves all of them, else Arrow would have to make one: of little it may, but one of a few
            # long texts, of which each row has one, may be many gigabytes unpacked
            packed = [
                name
                for name in texts
                if all(
                    chunk.has_dictionary_page
                    and chunk.total_uncompressed_size <= max(SHORT, FEW_BYTES * chunk.num_values)
                    for chunk in chunks[name]
                )
            ]
            # texts and bytes that come without the dictionary which some of their pages have
            loose = [
                name
                for key, name in own.items()
                if columns[key].spark in ("string", "binary") and name not in packed
                if any(chunk.has_dictionary_page for chunk in chunks[name])
            ]
            longest = _longest(opened, metadata, piece.groups, loose)
            every = [chunk for column_chunks in chunks.values() for chunk in column_chunks]
            all_rows = max(sum(group.num_rows for group in groups), 1)
            row_bytes = sum(chunk.total_uncompressed_size for chunk in every) / all_rows + longest
            rows = min(ROWS, max(LEAST_ROWS, int(MOST_BYTES / max(row_bytes, 1))))  # as many as are worth it
            largest = max((chunk.total_compressed_size for chunk in every), default=0)
            buffered = BUFFER if largest > MOST_BYTES else 0  # bytes of a column at once: all of a group is quicker
            # of a store the ranges of one row group are fetched together, and let go before those of the next
            at_once = [(group,) for group in piece.groups] if piece.is_in_store else [piece.groups]
            options = {"pre_buffer": True} if piece.is_in_store else {"pre_buffer": False, "buffer_size": buffered}
            with pq.ParquetFile(opened, metadata=metadata, read_dictionary=packed, **options) as parquet:
                for numbers in at_once:
                    for batch in parquet.iter_batches(rows, numbers, list(own.values()), use_threads=False):
                        yield RowBatch(rows=batch.num_rows, columns=_columns_of(batch, own, columns, piece.folders))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnableToReadPiece("a file cannot be read") from error
    _check(piece)


def empty_batch(columns: Mapping[str, Stored]) -> RowBatch:
    """Of no rows, to try on it what fits the types of the columns."""
    nothing = pa.RecordBatch.from_arrays([], [])
    return RowBatch(rows=0, columns=_columns_of(nothing, {}, columns, {}))


def open_piece(piece: Piece) -> pa.NativeFile:
    """The file of a piece; raises what pyarrow does."""
    if not piece.is_in_store:
        return pa.OSFile(piece.path)
    filesystem, path = _file_system(piece.path)
    return filesystem.open_input_file(path)


def _file_system(url: str) -> tuple[Any, str]:
    from execution_engine.engines.files.stores import open_file_system  # tasks far from here, which lack it, open none

    return open_file_system(url)


def _check(piece: Piece) -> None:
    try:
        if piece.is_in_store:
            filesystem, path = _file_system(piece.path)
            info = filesystem.get_file_info(path)
            # a listing may tell fractions of a second where the object itself does not
            is_same = (info.size, (info.mtime_ns or 0) // 10**9) == (piece.size, piece.mtime_ns // 10**9)
        else:
            status = os.stat(piece.path)
            is_same = (status.st_size, status.st_mtime_ns) == (piece.size, piece.mtime_ns)
    except OSError as error:
        raise UnableToReadPiece("a file cannot be read") from error
    if not is_same:
        raise UnableToReadPiece("a file was replaced while it was read")


def _own_names(metadata: pq.FileMetaData, columns: Mapping[str, Stored]) -> dict[str, str]:
    """The file's own names of the columns; UnableToTell where one is stored in another way than it should be."""
    names: dict[str, str] = {}
    schema, old = metadata.schema.to_arrow_schema(), not _OLD_TIMES.isdisjoint(metadata.metadata or {})
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    int96 = {column.path for column in leaves if column.physical_type == "INT96"}
    for at, name in enumerate(schema.names):
        column = columns.get(name.lower())
        if column is None:
            continue
        if name.lower() in names:
            raise UnableToTell(f"{name} is written in several ways")
        if schema.field(at).type != column.arrow or name in int96:
            raise UnableToTell(f"{name} has several types, or one of an old writer")
        if old and column.spark in _TEMPORAL:
            raise UnableToTell(f"{name} is of an old calendar")
        names[name.lower()] = name
    return names


def _longest(opened: pa.NativeFile, metadata: pq.FileMetaData, groups: Sequence[int], names: Sequence[str]) -> int:
    """The bytes that a row may have, unpacked, of the dictionaries of these columns: a bit may stand for a long text.

    The first row is read with all of the dictionary.
    """
    if not names:
        return 0
    bytes_ = dict.fromkeys(names, 0)
    parquet = pq.ParquetFile(opened, metadata=metadata, read_dictionary=names, pre_buffer=False, buffer_size=PEEK)
    for group in groups:
        for batch in islice(parquet.iter_batches(1, [group], list(names), use_threads=False), 1):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if pa.types.is_dictionary(column.type) and len(column.dictionary):
                    bytes_[name] = max(bytes_[name], int(of_texts(column.dictionary, pc.binary_length).max()))
    return sum(bytes_.values())


def _columns_of(
    batch: pa.RecordBatch, own: Mapping[str, str], columns: Mapping[str, Stored], folders: Mapping[str, str | None]
) -> Callable[[str], Values]:
    def column(name: str) -> Values:
        rows = batch.num_rows
        if name in folders:
            value = folders[name]
            array = pa.nulls(rows, pa.string()) if value is None else pa.repeat(texts_of([value])[0], rows)
            return values_of(array, "string")
        if name not in columns:
            raise UnableToTell(f"{name} is no plain column of the files")
        stored = columns[name]
        return values_of(batch.column(own[name]) if name in own else pa.nulls(rows, stored.arrow), stored.spark)

    return column
