"""The columns of each file of a part, from what files tell of themselves: no data is read, and no Spark is asked."""

from collections.abc import Mapping
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc, types
from pyarrow.fs import FileInfo

from execution_engine.metrics.definitions.schema_drift import SeenColumns

from .footers import MOST_FOOTERS, spark_type_of, unreadable
from .listing import Listing, Root

TELLING = ("parquet", "orc")  # files that name the types of their columns
_UNSIGNED = {pa.uint8(): "tinyint", pa.uint16(): "smallint", pa.uint32(): "int", pa.uint64(): "bigint"}


def columns_of_files(listing: Listing, storage: str) -> tuple[SeenColumns, ...]:
    """The columns of every file, the newest first, of at most ``MOST_FOOTERS`` files; UnableToListFiles.

    Where files hold several partitions, it is the newest alone: nothing says in which file a partition's rows are.
    """
    newest = sorted(listing.files, key=lambda file: file.mtime_ns, reverse=True)
    files = newest[: 1 if listing.filtered else MOST_FOOTERS]
    return tuple(_seen(listing.root, file, _types(listing.root, file, storage)) for file in files)


def columns_by_name(listing: Listing, names: Mapping[str, str]) -> tuple[SeenColumns, ...]:
    """The columns of files that tell names alone, as they were found in the newest."""
    return (_seen(listing.root, listing.newest, dict.fromkeys(names)),)


def _seen(root: Root, file: FileInfo, columns: Mapping[str, str | None]) -> SeenColumns:
    """With the columns in the names of its folders, which have no types."""
    place = file.path[len(root.path) :].lstrip("/") or file.base_name
    folders = [unquote(name.split("=", 1)[0]) for name in place.split("/")[:-1] if "=" in name]
    return SeenColumns(place=place, columns={**columns, **dict.fromkeys(folders)})


def _types(root: Root, file: FileInfo, storage: str) -> dict[str, str]:
    try:
        with root.filesystem.open_input_file(file.path) as opened:
            if storage == "orc":
                return {field.name: _named(field.type) for field in orc.ORCFile(opened).schema}
            with pq.ParquetFile(opened) as parquet:
                leaves = [parquet.schema.column(at) for at in range(len(parquet.schema))]
                int96 = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
                return {field.name: _named(field.type, field.name in int96) for field in parquet.schema_arrow}
    except (pa.ArrowException, OSError) as error:
        raise unreadable(root, file, error) from error


def _named(type_: pa.DataType, is_int96: bool = False) -> str:
    """The type as Spark or else Arrow names it; what is only nulls has no type yet."""
    if types.is_null(type_):
        return "void"
    if types.is_timestamp(type_):
        return "timestamp" if is_int96 else f"timestamp_{'ntz' if type_.tz is None else 'ltz'}"
    if type_ in _UNSIGNED:
        return f"{_UNSIGNED[type_]} unsigned"
    if types.is_dictionary(type_):
        return _named(type_.value_type)
    return spark_type_of(type_) or str(type_)
