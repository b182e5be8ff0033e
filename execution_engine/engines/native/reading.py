"""The rows of row groups, batch by batch, each column as Spark reads it; what may be read otherwise is refused."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc
from pyarrow.fs import FileSystem

from execution_engine.engines.files.open_files import OPEN_FILES, ListedFile, OpenFile, is_object, open_parquet
from execution_engine.engines.files.snapshot import ColumnNames, Positions
from execution_engine.engines.files.sound_footers import sound_footer

from .evaluation import RowBatch
from .language import Node, UnableToTell, names_in
from .pruning import ANY, NULL, BoundsOf, Exactly, Outcomes, bounds_of_chunk, may_count
from .stripes import check_days, own_names
from .values import Values, of_texts, texts_of, values_of

ROWS = 1 << 17  # of a batch: its columns fit into the cache of a core, and calls cost little beside them
MOST_BYTES = 64 * 1024 * 1024  # of a batch, unpacked, by what the footer tells of its columns
BUFFER = 8 * 1024 * 1024
LEAST_ROWS = 1 << 6
PEEK = 1 << 16  # bytes read at once where the dictionary alone is wanted
PAGE = 1 << 20  # bytes of a page, as most writers have it
AT_ONCE = 16  # files of a store that are opened at the same time
_OLD_TIMES = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_SPARK = b"org.apache.spark.version"
_NEW_DAYS, _NEW_INT96 = b"3.0.0", b"3.1.0"  # of Spark: since these it counts days as everybody does now
INSTANT = pa.timestamp("us", tz="UTC")
_TEMPORAL = {"date", "timestamp", "timestamp_ntz"}
FEW_BYTES = 6  # a value of a column whose row group has a dictionary for all of its values takes no more, packed so
SHORT = 2 * 1024 * 1024  # bytes of a column in a row group, of which making a dictionary costs little


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A column: its type in Spark, and in the newest file, which every other must have as well."""

    spark: str
    arrow: pa.DataType


REPLACED = "a file was replaced while it was read"
WHOLE_FILE = (-1,)  # all of its row groups, which were not looked up
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some row groups of one file, which had this size and time of writing when it was listed.

    ``path`` is one of this machine, or the URL of a file in a store, whose ``filesystem`` goes along with its keys to
    where it is read, and has the path behind the ``prefix``. ``folders``: the values of the columns that the names of
    its folders hold; ``footer``: where it is read already. A file of a snapshot is never written twice: ``columns``
    says where it has the table's columns, which may be stored in narrower types, and ``deleted`` which rows do not
    count, by their positions in the file. ``is_checked_later``: who has it read looks whether it was replaced.
    ``is_orc``: its groups are stripes.
    """

    path: str
    groups: tuple[int, ...]
    size: int
    mtime_ns: int
    folders: Mapping[str, str | None] = field(default_factory=dict)
    footer: pq.FileMetaData | None = None
    filesystem: FileSystem | None = None
    prefix: str = ""
    columns: ColumnNames | None = None
    deleted: Positions | None = None
    is_checked_later: bool = False
    is_orc: bool = False

    @property
    def is_in_store(self) -> bool:
        """Whether it is read over the network."""
        return self.filesystem is not None


class UnableToReadPiece(Exception):
    """The file is not what was listed, or cannot be read; Spark must say what is wrong with it.

    Its text names neither the file nor the error: it is kept with the scan, and a location may be a secret.
    ``of_store``: what the store of the file said.
    """

    def __init__(self, text: str, of_store: str = "") -> None:
        super().__init__(text)
        self.of_store = of_store


class UnableToReadFile(Exception):
    """A file that Spark's SQL asks for cannot be read; the text names it as Spark's own errors do."""


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """A batch of a file with its rows and bytes, and the file's own names of the columns, by these in lower case."""

    batch: pa.RecordBatch
    count: int
    size: float
    own: Mapping[str, str]
    folders: Mapping[str, str | None]

    @property
    def layout(self) -> object:
        """What is alike in batches that can be put together."""
        return self.batch.schema, self.own, self.folders


def batches(piece: Piece, columns: Mapping[str, Stored]) -> Iterator[RowBatch]:
    """The rows with these columns, by their names in lower case; one that the file has not is null throughout.

    UnableToTell where a column is stored otherwise than in the newest file; UnableToReadPiece where the file cannot be
    read, or is not what was listed.
    """
    return (_row_batch([rows], columns) for rows in _rows_in(piece, columns, (), _NamesOfFiles(columns)))


def batches_of(
    pieces: Sequence[Piece], columns: Mapping[str, Stored], conditions: Collection[Node]
) -> Iterator[RowBatch]:
    """The same of several pieces in their order; those of small files together, as a batch costs more than its rows.

    Row groups are left out of which footers tell that no row meets any of the conditions, if there are any.
    """
    together: list[_Rows] = []
    count, size, names = 0, 0.0, _NamesOfFiles(columns)
    for rows in chain.from_iterable(_rows_in(piece, columns, conditions, names) for piece in _opened_ahead(pieces)):
        count, size = count + rows.count, size + rows.size
        if together and (count > ROWS or size > MOST_BYTES or rows.layout != together[0].layout):
            yield _row_batch(together, columns)
            together, count, size = [], rows.count, rows.size
        together.append(rows)
    if together:
        yield _row_batch(together, columns)


def _row_batch(parts: Sequence[_Rows], columns: Mapping[str, Stored]) -> RowBatch:
    count, first = sum(part.count for part in parts), parts[0]
    batch = first.batch
    if len(parts) > 1 and first.own:
        table = pa.Table.from_batches([part.batch for part in parts])
        for at, column in enumerate(table.columns):
            if pa.types.is_dictionary(column.type) and _hardly_repeats(column):
                table = table.set_column(at, table.field(at).name, column.cast(column.type.value_type))
        (batch,) = table.unify_dictionaries().combine_chunks().to_batches()
    return RowBatch(rows=count, columns=_columns_of(batch, count, first.own, columns, first.folders))


def _hardly_repeats(column: pa.ChunkedArray) -> bool:
    """Whether to make one dictionary of those of files costs more than their texts, which are short."""
    texts = pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type)
    if 2 * len(texts) < len(column):
        return False
    return bool((pc.max(pc.binary_length(texts)).as_py() or 0) * len(column) <= MOST_BYTES)


def _opened_ahead(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces; files of a store that follow are opened meanwhile, as each takes its time to answer."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(pieces), AT_ONCE):
            window = pieces[start : start + AT_ONCE]
            far = [piece for piece in window if piece.is_in_store and not piece.is_orc]
            far = [piece for piece in far if OPEN_FILES.get(_listed(piece)) is None]
            openings = {piece.path: pool.submit(_open_stored, piece) for piece in far}
            for piece in window:
                if opening := openings.get(piece.path):
                    with suppress(pa.ArrowException, OSError, ValueError):  # who reads it is told
                        opening.result()
                yield piece


def _rows_in(
    piece: Piece, columns: Mapping[str, Stored], conditions: Collection[Node], names: "_NamesOfFiles"
) -> Iterator[_Rows]:
    return _read_stripes(piece, columns) if piece.is_orc else _read(piece, columns, conditions, names)


def _read(
    piece: Piece, columns: Mapping[str, Stored], conditions: Collection[Node], names: "_NamesOfFiles"
) -> Iterator[_Rows]:
    if not piece.is_in_store:
        _check(piece)
    try:
        with open_piece(piece) as (opened, metadata):
            own, places = names.of(piece, metadata)
            own_places = {name: places[own_name] for name, own_name in own.items()}
            numbers = _groups_that_count(piece, metadata, columns, conditions, own_places)
            groups = [metadata.row_group(number) for number in numbers]
            chunks = {name: [group.column(places[name]) for group in groups] for name in own.values()}
            texts = [name for key, name in own.items() if columns[key].spark == "string"]
            packed = _packed(chunks, texts)
            # texts and bytes that come without the dictionary which some of their pages have
            loose = [
                name
                for key, name in own.items()
                if columns[key].spark in ("string", "binary") and name not in packed
                if any(chunk.has_dictionary_page for chunk in chunks[name])
            ]
            is_far = piece.is_in_store and not isinstance(opened, pa.BufferReader)
            peek = _bytes_to_peek([chunk for name in loose for chunk in chunks[name]]) if is_far else PEEK
            longest = _longest(opened, metadata, numbers, loose, peek)
            every = [chunk for column_chunks in chunks.values() for chunk in column_chunks]
            all_rows = max(sum(group.num_rows for group in groups), 1)
            row_bytes = sum(chunk.total_uncompressed_size for chunk in every) / all_rows + longest
            rows = min(ROWS, max(LEAST_ROWS, int(MOST_BYTES / max(row_bytes, 1))))  # as many as are worth it
            largest = max((chunk.total_compressed_size for chunk in every), default=0)
            buffered = BUFFER if largest > MOST_BYTES else 0  # bytes of a column at once: all of a group is quicker
            # of a store the ranges of a share are fetched together, and let go before those of the next
            sizes = [sum(column[at].total_compressed_size for column in chunks.values()) for at in range(len(groups))]
            at_once = shares(numbers, sizes) if is_far else [numbers]
            buffers = {"pre_buffer": True} if is_far else {"pre_buffer": False, "buffer_size": buffered}
            options = {"read_dictionary": packed, "coerce_int96_timestamp_unit": "us", **buffers}
            with pq.ParquetFile(opened, metadata=metadata, **options) as parquet:
                for share in filter(None, at_once):
                    every_row = parquet.iter_batches(rows, share, list(own.values()), use_threads=False)
                    for batch, count in _living(every_row, piece, metadata, share):
                        flat = _flat_batch(batch, list(own.values()))
                        yield _Rows(batch=flat, count=count, size=count * row_bytes, own=own, folders=piece.folders)
            _check(piece)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unable_to_read(piece, error) from error


def _groups_that_count(
    piece: Piece,
    metadata: pq.FileMetaData,
    columns: Mapping[str, Stored],
    conditions: Collection[Node],
    places: Mapping[str, int],
) -> Sequence[int]:
    """Its row groups, without those of which footers tell that no row meets any of the conditions, if there are any."""
    numbers = _groups(piece, metadata)
    if not conditions:
        return numbers
    exactly = outcomes_in_folders(piece, columns)
    return [at for at in numbers if may_count(conditions, _bounds_in(metadata.row_group(at), places), exactly)]


def shares(numbers: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Row groups in their order, those of few bytes together: as many as ``BUFFER`` bytes hold."""
    together: list[list[int]] = []
    held = BUFFER
    for number, size in zip(numbers, sizes, strict=True):
        held += size
        if held > BUFFER or not together:
            together.append([])
            held = size
        together[-1].append(number)
    return together


def _read_stripes(piece: Piece, columns: Mapping[str, Stored]) -> Iterator[_Rows]:
    """The rows of an ORC file, of which one stripe is held at a time."""
    try:
        with _open_stripes(piece) as stripes:
            own = own_names(stripes.schema, {name: stored.arrow for name, stored in columns.items()})
            read = list(own.values()) or stripes.schema.names[:1]
            for number in piece.groups:
                stripe = stripes.read_stripe(number, columns=read)
                check_days(stripe)
                for start in range(0, stripe.num_rows, ROWS):
                    batch = stripe.slice(start, ROWS)
                    count, size = batch.num_rows, batch.get_total_buffer_size() * batch.num_rows / stripe.num_rows
                    yield _Rows(batch=batch, count=count, size=size, own=own, folders=piece.folders)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unable_to_read(piece, error) from error


@contextmanager
def _open_stripes(piece: Piece) -> Iterator[orc.ORCFile]:
    """An ORC file, which is what was listed as long as the context lasts; else UnableToReadPiece."""
    if piece.filesystem is None:
        _check(piece)
        with pa.OSFile(piece.path) as opened:
            yield orc.ORCFile(opened)
        _check(piece)
        return
    path = piece.path.removeprefix(piece.prefix)
    opened = piece.filesystem.open_input_file(path)
    yield orc.ORCFile(opened)
    if not piece.is_checked_later and not is_object(piece.filesystem, path, _listed(piece), opened.metadata()):
        raise UnableToReadPiece(REPLACED)


def _flat_batch(batch: pa.RecordBatch, paths: Sequence[str]) -> pa.RecordBatch:
    """The batch in which each field of a struct that a path names is a column of the path's name.

    In the files of a snapshot the name of a column may have a point.
    """
    names = set(batch.schema.names)
    if names.issuperset(paths):
        return batch
    arrays = [batch.column(path) if path in names else _field_at(batch, *path.split(".")) for path in paths]
    return pa.RecordBatch.from_arrays(arrays, list(paths))


def _field_at(batch: pa.RecordBatch, column: str, *fields: str) -> pa.Array:
    return pc.struct_field(batch.column(column), list(fields))


def _bounds_in(group: pq.RowGroupMetaData, places: Mapping[str, int]) -> BoundsOf:
    """What a footer tells of the columns of a row group that lie at these places."""
    return lambda name: bounds_of_chunk(group.column(places[name]), group.num_rows) if name in places else None


def outcomes_in_folders(piece: Piece, columns: Mapping[str, Stored]) -> Exactly:
    """What a condition comes to that names none but columns which are the same in all rows of a piece."""
    nothing = pa.RecordBatch.from_arrays([], [])
    row = RowBatch(rows=1, columns=_columns_of(nothing, 1, {}, columns, piece.folders))

    def exactly(node: Node) -> Outcomes | None:
        names = set(names_in(node))
        if not names or not names <= piece.folders.keys():
            return None
        try:
            met = row.met(node)
        except (UnableToTell, pa.ArrowException):
            return ANY
        return NULL if met.null is not None and met.null[0] else frozenset({bool(met.yes[0])})

    return exactly


def _packed(chunks: Mapping[str, Sequence[Any]], texts: Sequence[str]) -> list[str]:
    """The texts that a dictionary serves throughout, else Arrow would have to make one.

    Of little it may; but one of a few long texts, of which each row has one, may be many gigabytes unpacked.
    """
    return [
        name
        for name in texts
        if all(
            chunk.has_dictionary_page and chunk.total_uncompressed_size <= max(SHORT, FEW_BYTES * chunk.num_values)
            for chunk in chunks[name]
        )
    ]


def empty_batch(columns: Mapping[str, Stored]) -> RowBatch:
    """Of no rows, to try on it what fits the types of the columns."""
    nothing = pa.RecordBatch.from_arrays([], [])
    return RowBatch(rows=0, columns=_columns_of(nothing, 0, {}, columns, {}))


def batches_for_spark(piece: Piece, schema: pa.Schema, as_read: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What ``table_batches`` gives, for Spark's SQL in a task; a file that was replaced gives UnableToReadPiece.

    Raises UnableToTell, and UnableToReadFile from what pyarrow raises.
    """
    if not piece.is_in_store:
        _check(piece)
    try:
        yield from table_batches(piece, schema, as_read)
    except (pa.ArrowException, OSError) as error:
        raise UnableToReadFile(f"FAILED_READ_FILE: error while reading file {piece.path} ") from error
    _check(piece)


def table_batches(piece: Piece, schema: pa.Schema, as_read: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a file in the columns of its table, with structs, lists and maps, cast to the types ``as_read``.

    ``schema``: as the table has them, a folder in its newest file. Raises UnableToTell for a column that the file has
    in another way, ArrowException and OSError.
    """
    as_read = as_read or schema
    options = {"coerce_int96_timestamp_unit": "us", "pre_buffer": piece.is_in_store}
    with (
        open_piece(piece) as (opened, metadata),
        pq.ParquetFile(opened, metadata=metadata, **options) as parquet,
    ):
        if _is_of_old_calendar(metadata):
            raise UnableToTell("a file has times of an old calendar")
        if piece.columns is None:
            own = _alike_names(parquet.schema_arrow, schema, piece.folders)
        else:
            own = names_in_file(parquet.schema_arrow, piece.columns)
            _refuse_inner_changes(parquet.schema_arrow, schema, own)
        nested = piece.columns.nested if piece.columns else {}
        numbers = _groups(piece, metadata)
        every_row = parquet.iter_batches(ROWS, numbers, sorted(own.values()), use_threads=False)
        for batch, count in _living(every_row, piece, metadata, numbers):
            columns = []
            for field, type_ in zip(schema, as_read.types, strict=True):
                name = field.name.lower()
                if name in piece.folders:
                    columns.append(_constant(piece.folders[name], type_, count))
                elif name not in own:
                    columns.append(pa.nulls(count, type_))
                elif piece.columns is None:
                    columns.append(batch.column(own[name]).cast(type_, safe=False))  # nanoseconds are cut
                else:
                    # a cast finds fields inside of a column by their names, which a view gives anew
                    in_files = nested.get(name, field.type)
                    columns.append(batch.column(own[name]).cast(in_files).view(field.type).cast(type_))
            yield pa.RecordBatch.from_arrays(columns, schema=as_read)


def _alike_names(schema: pa.Schema, table: pa.Schema, folders: Mapping[str, str | None]) -> dict[str, str]:
    """A file's own names of the columns of its folder, by these in lower case; raises UnableToTell."""
    own: dict[str, str] = {}
    columns = {column.name.lower(): column for column in table}
    for own_name, type_ in zip(schema.names, schema.types, strict=True):
        name = own_name.lower()
        if name not in columns or name in folders:
            continue
        if name in own:
            raise UnableToTell(f"{own_name} is written in several ways")
        if not _fits(type_, columns[name].type):
            raise UnableToTell(f"{own_name} has several types")
        own[name] = own_name
    return own


def _fits(own: pa.DataType, wide: pa.DataType) -> bool:
    """Whether each value of a file's type is one of the table's type, which may have more fields."""
    types = pa.types
    if own == wide:
        return True
    if types.is_struct(own) and types.is_struct(wide):
        parts, fields = ({field.name: field.type for field in type_} for type_ in (own, wide))
        shared = parts.keys() & fields.keys()
        is_plain = len(shared) == len({name.lower() for name in parts} & {name.lower() for name in fields})
        return bool(shared) and is_plain and all(_fits(parts[name], fields[name]) for name in shared)
    if types.is_list(own) and types.is_list(wide):
        return _fits(own.value_type, wide.value_type)
    if types.is_map(own) and types.is_map(wide):
        return _fits(own.key_type, wide.key_type) and _fits(own.item_type, wide.item_type)
    return _widens(own, wide, is_int96=False)


def _refuse_inner_changes(schema: pa.Schema, table: pa.Schema, own: Mapping[str, str]) -> None:
    for column in table:
        name = own.get(column.name.lower())
        if name and pa.types.is_nested(column.type) and _inner_ids(schema.field(name)) != _inner_ids(column):
            raise UnableToTell(f"the fields inside of {column.name} were changed since a file was written")


def names_in_file(schema: pa.Schema, columns: ColumnNames) -> dict[str, str]:
    """The file's own names of the table's columns that it has, by these in lower case; raises UnableToTell."""
    ids = {int(field.metadata[_FIELD_ID]): field.name for field in schema if _FIELD_ID in (field.metadata or {})}
    if columns.ids and ids:
        return {name: ids[id_] for name, id_ in columns.ids.items() if id_ in ids}
    if columns.ids and not any(columns.names.values()):
        raise UnableToTell("a file has no ids of its columns, and its table no names for them")
    own = set(schema.names)
    names = {name: [alias for alias in aliases if alias in own] for name, aliases in columns.names.items()}
    return {name: aliases[0] for name, aliases in names.items() if aliases}


def _inner_ids(field: pa.Field, place: str = "") -> dict[str, bytes]:
    """The ids of the fields inside of a column, by their places; none where a writer gives none."""
    type_ = field.type
    inner = list(type_) if pa.types.is_struct(type_) else []
    if pa.types.is_map(type_):
        inner = [type_.key_field.with_name("key"), type_.item_field.with_name("value")]
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        inner = [type_.value_field.with_name("element")]
    ids = {}
    for part in inner:
        name = f"{place}.{part.name}"
        if id_ := (part.metadata or {}).get(_FIELD_ID):
            ids[name] = id_
        ids |= _inner_ids(part, name)
    return ids


def _groups(piece: Piece, metadata: pq.FileMetaData) -> Sequence[int]:
    return range(metadata.num_row_groups) if piece.groups == WHOLE_FILE else piece.groups


def _living(
    batches: Iterator[pa.RecordBatch], piece: Piece, metadata: pq.FileMetaData, numbers: Sequence[int]
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows that are not deleted, and how many they are."""
    if piece.deleted is None:
        yield from ((batch, batch.num_rows) for batch in batches)
        return
    lives = np.ones(metadata.num_rows, dtype=np.bool_)
    lives[piece.deleted] = False
    ends = np.cumsum([0, *(metadata.row_group(at).num_rows for at in range(metadata.num_row_groups))])
    lives = np.concatenate([lives[ends[number] : ends[number + 1]] for number in numbers] or [lives[:0]])
    start = 0
    for batch in batches:
        own = lives[start : start + batch.num_rows]
        start += batch.num_rows
        if count := int(own.sum()):
            yield batch if count == len(own) else batch.filter(pa.array(own)), count


def _constant(value: str | None, type_: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, type_) if value is None else pa.repeat(texts_of([value])[0], rows).cast(type_)


@contextmanager
def open_piece(piece: Piece) -> Iterator[tuple[pa.NativeFile, pq.FileMetaData]]:
    """The file of a piece and its footer, for as long as the context lasts; raises what pyarrow does."""
    if piece.is_in_store:
        file = _open_stored(piece)
        yield file.reader, file.footer
        return
    with pa.OSFile(piece.path) as opened:
        yield opened, piece.footer or sound_footer(pq.read_metadata(opened), opened.size())


def _open_stored(piece: Piece) -> OpenFile:
    assert piece.filesystem is not None
    return open_parquet(piece.filesystem, piece.path.removeprefix(piece.prefix), _listed(piece))


def _listed(piece: Piece) -> ListedFile:
    return ListedFile(place=piece.path, size=piece.size, mtime_ns=piece.mtime_ns)


def unable_to_read(piece: Piece, error: Exception) -> UnableToReadPiece:
    """What an error under a piece is to its reader; to be raised from the error."""
    is_of_store = piece.is_in_store and isinstance(error, OSError)
    return UnableToReadPiece("a file cannot be read", str(error) if is_of_store else "")


def _check(piece: Piece) -> None:
    if piece.columns is not None or piece.is_checked_later:
        return
    try:
        if piece.is_in_store:
            is_same = _open_stored(piece).is_unchanged()
        else:
            status = os.stat(piece.path)
            is_same = (status.st_size, status.st_mtime_ns) == (piece.size, piece.mtime_ns)
    except OSError as error:
        raise unable_to_read(piece, error) from error
    if not is_same:
        raise UnableToReadPiece(REPLACED)


class _NamesOfFiles:
    """The names of the columns in files, most of which have them as the file before."""

    def __init__(self, columns: Mapping[str, Stored]) -> None:
        self._columns = columns
        self._last: tuple[object, Mapping[str, str], Mapping[str, int]] = None, {}, {}

    def of(self, piece: Piece, metadata: pq.FileMetaData) -> tuple[Mapping[str, str], Mapping[str, int]]:
        """What ``_own_names`` gives of the file, and the places of all of its leaves by their paths."""
        schema = metadata.schema  # which is equal where leaves are, whatever they lie in
        paths = [schema.column(at).path for at in range(metadata.num_columns)]
        layout = schema, paths, metadata.metadata, piece.columns, piece.folders.keys()
        if layout != self._last[0]:
            self._last = layout, _own_names(metadata, self._columns, piece), {path: at for at, path in enumerate(paths)}
        return self._last[1:]


def _own_names(metadata: pq.FileMetaData, columns: Mapping[str, Stored], piece: Piece) -> dict[str, str]:
    """The file's own names of the columns; UnableToTell where one is stored in another way than it should be."""
    names: dict[str, str] = {}
    schema, old = metadata.schema.to_arrow_schema(), _is_of_old_calendar(metadata)
    int96, instants = int96_columns(metadata), instants_of_spark(metadata)
    if piece.columns is not None:
        own = names_in_file(schema, piece.columns)
        names = {name: own[name] for name in columns if name in own and name not in piece.folders}
        for name, own_name in names.items():
            if not _widens(schema.field(own_name).type, columns[name].arrow, is_int96=own_name in int96):
                raise UnableToTell(f"{name} has several types")
            if old and columns[name].spark in _TEMPORAL:
                raise UnableToTell(f"{name} is of an old calendar")
        return names
    for name, own_name, type_ in _fields_in_file(schema, columns):
        column = columns[name]
        if name in names:
            raise UnableToTell(f"{own_name} is written in several ways")
        is_instant = own_name in instants and column.arrow == INSTANT
        if not is_instant and (type_ != column.arrow or own_name in int96):
            raise UnableToTell(f"{own_name} has several types, or one of an old writer")
        if old and column.spark in _TEMPORAL:
            raise UnableToTell(f"{own_name} is of an old calendar")
        names[name] = own_name
    return names


def int96_columns(metadata: pq.FileMetaData) -> frozenset[str]:
    """The columns of times of 96 bits, whose calendar and zone the file does not say."""
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    return frozenset(leaf.path for leaf in leaves if leaf.physical_type == "INT96")


def instants_of_spark(metadata: pq.FileMetaData) -> frozenset[str]:
    """Those of a file that Spark wrote, which are instants."""
    is_of_spark = (metadata.metadata or {}).get(_SPARK, b"") >= _NEW_INT96
    return int96_columns(metadata) if is_of_spark else frozenset()


def _is_of_old_calendar(metadata: pq.FileMetaData) -> bool:
    """Whether Spark counts its days anew."""
    notes = metadata.metadata or {}
    return not _OLD_TIMES.isdisjoint(notes) or notes.get(_SPARK, _NEW_DAYS) < _NEW_DAYS


def _fields_in_file(schema: pa.Schema, columns: Mapping[str, Stored]) -> Iterator[tuple[str, str, pa.DataType]]:
    """The table's columns that a file has: their names in lower case, the file's own paths of them, and types."""
    for column in schema:
        if column.name.lower() in columns and "." not in column.name:
            yield column.name.lower(), column.name, column.type
    for name in columns:
        if "." in name and (inner := _inner_field(list(schema), name.split("."))):
            path, type_ = inner
            yield name, ".".join(path), type_


def _inner_field(fields: Sequence[pa.Field], path: Sequence[str]) -> tuple[list[str], pa.DataType] | None:
    """The field inside of structs at a path of names in lower case, with its own names; None where there is none."""
    alike = [column for column in fields if column.name.lower() == path[0]]
    if not alike:
        return None
    if len(alike) > 1 or any("." in column.name for column in fields):
        raise UnableToTell(f"{path[0]} is written in several ways")
    (column,) = alike
    if not path[1:]:
        return [column.name], column.type
    if not pa.types.is_struct(column.type):
        raise UnableToTell(f"{column.name} has several types")
    inner = _inner_field(list(column.type), path[1:])
    return inner and ([column.name, *inner[0]], inner[1])


def _widens(own: pa.DataType, wide: pa.DataType, *, is_int96: bool) -> bool:
    """Whether each value of a file's type is one of the table's type."""
    types = pa.types
    if own == wide:
        return True
    if types.is_timestamp(own) and types.is_timestamp(wide):
        return is_int96 or (own.unit in ("us", "ms") and (own.tz is None) == (wide.tz is None))
    if types.is_decimal(own) and types.is_decimal(wide):
        return bool(own.scale == wide.scale and own.precision <= wide.precision)
    if any(is_of(own) and is_of(wide) for is_of in (types.is_signed_integer, types.is_floating)):
        return bool(own.bit_width <= wide.bit_width)
    pairs = (
        (types.is_large_string, types.is_string),
        (types.is_large_binary, types.is_binary),
    )
    return any(is_own(own) and is_wide(wide) for is_own, is_wide in pairs)


def _bytes_to_peek(chunks: Sequence[Any]) -> int:
    """With how many bytes one request fetches any of the dictionaries, and a page that follows it."""
    dictionaries = (
        chunk.data_page_offset - chunk.dictionary_page_offset for chunk in chunks if chunk.has_dictionary_page
    )
    return PAGE + min(PAGE, max(dictionaries, default=0))


def _longest(
    opened: pa.NativeFile, metadata: pq.FileMetaData, groups: Sequence[int], names: Sequence[str], peek: int
) -> int:
    """The bytes that a row may have, unpacked, of the dictionaries of these columns: a bit may stand for a long text.

    The first row is read with all of the dictionary.
    """
    if not names:
        return 0
    bytes_ = dict.fromkeys(names, 0)
    parquet = pq.ParquetFile(opened, metadata=metadata, read_dictionary=names, pre_buffer=False, buffer_size=peek)
    for group in groups:
        for batch in islice(parquet.iter_batches(1, [group], list(names), use_threads=False), 1):
            flat = _flat_batch(batch, names)
            for name, column in zip(flat.schema.names, flat.columns, strict=True):
                if pa.types.is_dictionary(column.type) and len(column.dictionary):
                    bytes_[name] = max(bytes_[name], int(of_texts(column.dictionary, pc.binary_length).max()))
    return sum(bytes_.values())


def _columns_of(
    batch: pa.RecordBatch,
    rows: int,
    own: Mapping[str, str],
    columns: Mapping[str, Stored],
    folders: Mapping[str, str | None],
) -> Callable[[str], Values]:
    def column(name: str) -> Values:
        if name not in columns:
            raise UnableToTell(f"{name} is no plain column of the files")
        stored = columns[name]
        if name in folders:
            return values_of(_constant(folders[name], stored.arrow, rows), stored.spark)
        if name not in own:
            return values_of(pa.nulls(rows, stored.arrow), stored.spark)
        array = batch.column(own[name])
        if array.type != stored.arrow and not pa.types.is_dictionary(array.type):
            array = array.cast(stored.arrow)
        return values_of(array, stored.spark)

    return column
