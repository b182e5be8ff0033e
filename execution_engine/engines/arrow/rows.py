"""The rows of small parquet files in memory, each column as Spark reads it; what may be read otherwise is refused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types
from pyarrow.fs import FileInfo

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.files.listing import Listing, Root
from execution_engine.metrics.columns import path_of

from .values import ArrowKind, Flags, Numbers, UnableToTell, Values

MOST_ROWS = 1_000_000
MOST_BYTES = 256 * 1024 * 1024  # of the columns read, unpacked
ONE_TASK = 4 * 1024 * 1024  # what Spark takes a file to cost at least: one no larger is read at once
LONG_DIGITS = 18  # of a decimal that fits into 64 bits
UNSIGNED_DIGITS = 20  # of the decimal that Spark takes 64 bits without a sign for
_OLD_TIMES = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_TEMPORAL = {"date", "timestamp", "timestamp_ntz"}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_KINDS = {
    "boolean": ArrowKind.TRUTH,
    "float": ArrowKind.DOUBLE,
    "double": ArrowKind.DOUBLE,
    "string": ArrowKind.TEXT,
    "binary": ArrowKind.BYTES,
    "date": ArrowKind.DATE,
    "timestamp": ArrowKind.TIMESTAMP,
    "timestamp_ntz": ArrowKind.TIMESTAMP_NTZ,
    **dict.fromkeys(_DIGITS, ArrowKind.EXACT),
}
_STORED = {
    ArrowKind.DOUBLE: pa.float64(),
    ArrowKind.DATE: pa.int32(),
    ArrowKind.TIMESTAMP: pa.int64(),
    ArrowKind.TIMESTAMP_NTZ: pa.int64(),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrowRows:
    """The columns that were asked for, by their names in lower case."""

    count: int
    columns: Mapping[str, Values]
    in_order: bool  # whether they stand in the order in which Spark reads them

    def column(self, name: str) -> Values:
        """The values of a column as assertions write it."""
        (name,) = path_of(name)
        return self.columns[name.lower()]


def read_rows(listing: Listing, stored: Mapping[str, str], names: Collection[str]) -> ArrowRows:
    """The named columns of all files; UnableToTell where a column, or so much, is Spark's to read.

    ``stored``: the columns of the newest file with Spark's types, as of ``footers.read_columns``.
    """
    wanted = _wanted(listing, stored, names)
    files = sorted(listing.files, key=lambda file: -file.size)  # Spark begins with the largest
    parts = [_of_file(listing.root, file, wanted) for file in files]
    return ArrowRows(
        count=sum(rows for rows, _ in parts),
        columns={
            name.lower(): _values([(rows, columns.get(name)) for rows, columns in parts], type_)
            for name, type_ in wanted.items()
        },
        in_order=len(files) == 1 or _one_by_one(listing, files),
    )


def _wanted(listing: Listing, stored: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The columns as they are stored, with their types."""
    known: dict[str, list[str]] = {}
    for name in stored:
        known.setdefault(name.lower(), []).append(name)
    folders = {name.lower() for name in listing.folder_columns}
    wanted: dict[str, str] = {}
    for name in names:
        path = path_of(name)
        found = known.get(path[0].lower(), [])
        if len(path) > 1 or len(found) != 1 or "." in found[0] or path[0].lower() in folders:
            raise UnableToTell(f"{name} is no plain column of the files")
        wanted[found[0]] = type_ = stored[found[0]]
        if _kind(type_) is None:
            raise UnableToTell(f"{type_} is Spark's to read")
    return wanted


def _one_by_one(listing: Listing, files: Sequence[FileInfo]) -> bool:
    """Whether it is known which file Spark reads first: each in one piece, and none as large as another."""
    sizes = [file.size for file in files]
    return not listing.folder_columns and max(sizes) <= ONE_TASK and len(set(sizes)) == len(sizes)


def _of_file(root: Root, file: FileInfo, wanted: Mapping[str, str]) -> tuple[int, dict[str, pa.ChunkedArray]]:
    """How many rows a file has, and those of the columns that it has."""
    with root.filesystem.open_input_file(file.path) as opened:
        metadata = pq.read_metadata(opened)
        paths = {metadata.schema.column(at).path for at in range(metadata.num_columns)}
        packed = [name for name in paths if wanted.get(name) in ("string", "binary")]  # and so they stay
        with pq.ParquetFile(opened, metadata=metadata, read_dictionary=packed) as parquet:
            own = _checked(parquet, wanted)
            table = parquet.read(columns=own, use_threads=False)
            return parquet.metadata.num_rows, {name: table.column(name) for name in own}


def _checked(parquet: pq.ParquetFile, wanted: Mapping[str, str]) -> list[str]:
    """Which of the columns a file has; UnableToTell where it holds them otherwise than the newest, or too much."""
    names = parquet.schema_arrow.names
    own = [name for name in wanted if name in names]
    lowered = [name.lower() for name in names]
    if any(lowered.count(name.lower()) != (name in own) for name in wanted):
        raise UnableToTell("a column is written in several ways")
    if any(spark_type_of(parquet.schema_arrow.field(name).type) != wanted[name] for name in own):
        raise UnableToTell("a column has several types, or one of an old writer")
    metadata = parquet.metadata
    if not _OLD_TIMES.isdisjoint(metadata.metadata or {}) and _TEMPORAL & set(wanted.values()):
        raise UnableToTell("its times are of an old calendar")
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(metadata.num_columns)]
    if sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in own) > MOST_BYTES:
        raise UnableToTell("it is too large when unpacked")
    return own


def _values(parts: Sequence[tuple[int, pa.ChunkedArray | None]], type_: str) -> Values:
    """The column of all files, null in those that lack it."""
    (arrow,) = {part.type for _, part in parts if part is not None}
    chunks = [chunk for rows, part in parts for chunk in ([pa.nulls(rows, arrow)] if part is None else part.chunks)]
    array = pa.chunked_array(chunks, arrow).unify_dictionaries().combine_chunks()
    null = _flags(array.is_null())
    kind = _kind(type_)
    match kind:
        case ArrowKind.TEXT | ArrowKind.BYTES:
            return _of_texts(array, kind, null)
        case ArrowKind.EXACT:
            return _of_exact(array, type_, null)
        case ArrowKind.TRUTH:
            return Values(kind=kind, numbers=_flags(array), null=null)
        case ArrowKind.TIMESTAMP | ArrowKind.TIMESTAMP_NTZ:
            array = array.cast(pa.timestamp("us", arrow.tz))
    assert kind is not None
    return Values(kind=kind, numbers=_plain(array, _STORED[kind]), null=null)


def _kind(type_: str) -> ArrowKind | None:
    """Of values of a type of Spark's; None of one that is Spark's alone to read."""
    return ArrowKind.EXACT if type_.startswith("decimal") else _KINDS.get(type_)


def _plain(array: pa.Array, type_: pa.DataType) -> Numbers:
    """The values, and anything under the nulls; Arrow's own ways to numpy, and to a scalar, import all of pandas."""
    cast = array.cast(type_)
    if not len(cast):
        return np.empty(0, type_.to_pandas_dtype())
    return np.frombuffer(cast.buffers()[1], type_.to_pandas_dtype())[cast.offset :][: len(cast)]


def _flags(array: pa.Array) -> Flags:
    return _plain(array, pa.uint8()).view(np.bool_)


def _of_texts(array: pa.Array, kind: ArrowKind, null: Flags) -> Values:
    """By their places among the different texts; a writer's own list of them may repeat one, or have none."""
    listed = array.dictionary if len(array.dictionary) else pa.repeat("", 1).cast(array.dictionary.type)
    if listed.null_count:
        raise UnableToTell("there is a null among its texts")
    found = listed.dictionary_encode()
    return Values(
        kind=kind,
        numbers=_plain(found.indices, pa.int64())[np.where(null, 0, _plain(array.indices, pa.int64()))],
        null=null,
        dictionary=found.dictionary,
    )


def _of_exact(array: pa.Array, type_: str, null: Flags) -> Values:
    if types.is_decimal(array.type):
        numbers, digits, scale = _unscaled(array), array.type.precision, array.type.scale
    elif types.is_uint64(array.type):
        numbers, digits, scale = _plain(array, pa.uint64()).astype(object), UNSIGNED_DIGITS, 0
    else:
        numbers, digits, scale = _plain(array, pa.int64()), _DIGITS[type_], 0
    is_decimal = type_.startswith("decimal")
    return Values(kind=ArrowKind.EXACT, numbers=numbers, null=null, digits=digits, scale=scale, is_decimal=is_decimal)


def _unscaled(array: pa.Array) -> Numbers:
    """Without their point: of 128 bits, the low half first."""
    if not types.is_decimal128(array.type):
        raise UnableToTell(f"{array.type} is Spark's to read")
    buffer = array.buffers()[1] if len(array) else b""
    words = np.frombuffer(buffer, "<i8").reshape(-1, 2)[array.offset :][: len(array)]
    if array.type.precision <= LONG_DIGITS:
        return words[:, 0]
    numbers: Numbers = words[:, 1].astype(object) * 2**64 + words[:, 0].view(np.uint64).astype(object)
    return numbers
