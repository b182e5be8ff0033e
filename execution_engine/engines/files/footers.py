"""The columns of a parquet file from its footer, as types of Spark's; given a schema, Spark opens it without a job."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa
from pyarrow import types
from pyarrow.fs import FileInfo

from execution_engine.engines.columns.nested import with_fields
from execution_engine.outcome import Failure, Reason

from .listing import Listing, Root, UnableToListFiles, kind_of

READABLE = "Assay reads folders of parquet, ORC (.orc), CSV (.csv, .tsv) and JSON (.json, .jsonl) files"
NANOSECONDS = "bigint of nanoseconds"  # no type of Spark's; the reader turns it into a timestamp
MOST_FOOTERS = 200  # a third of a millisecond each on a local disk

_SIMPLE = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
    pa.null(): "int",  # what pyarrow stores a column of nothing but nulls as
}


def read_columns(listing: Listing) -> dict[str, str]:
    """The newest file's columns and their Spark types; columns of a type that Spark cannot read are left out."""
    try:
        physical = listing.footer.schema
        columns = map(physical.column, range(len(physical)))
        int96 = frozenset(column.path for column in columns if column.physical_type == "INT96")
        doubled = next((name for name, count in Counter(listing.schema.names).items() if count > 1), None)
        if doubled is not None:
            raise pa.ArrowInvalid(f"it has two columns called {doubled!r}")
        return dict(_read_types(listing.schema, int96))
    except (pa.ArrowException, OSError) as error:
        raise unreadable(listing.root, listing.newest, error) from error


@lru_cache(maxsize=64)  # many tables and windows are alike
def _read_types(schema: pa.Schema, int96: frozenset[str]) -> Mapping[str, str]:
    types_ = {field.name: spark_type_of(field.type, field.name in int96) for field in schema}
    return {name: type_ for name, type_ in types_.items() if type_ is not None}


def shown_columns(stored: Mapping[str, str]) -> dict[str, str]:
    """The columns (name → stored type) as assertions write them, fields of structs as a.b → Spark's type."""
    return with_fields({name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in stored.items()})


def unreadable(root: Root, file: FileInfo, error: Exception) -> UnableToListFiles:
    """What to raise where a file is no parquet file: what it seems to be, or that it is damaged."""
    url, kind = root.url(file.path), kind_of(file.base_name)
    if kind not in (None, "parquet"):
        mend = f"its name says {kind}: write storage: {kind}"
    elif file.base_name.endswith((".parquet", ".parq")):
        mend = f"it is cut or damaged ({error}): write it again"
    else:
        mend = f"{READABLE}: name it as what it is, or write it as parquet ({error})"
    detail = f"{url} is no readable parquet file; {mend}"
    return UnableToListFiles(Failure(reason=Reason.UNREADABLE, detail=detail))


def spark_type_of(type_: pa.DataType, int96: bool = False) -> str | None:
    """Spark's type, or ``NANOSECONDS``; None for what Spark cannot read."""
    if types.is_dictionary(type_):
        return spark_type_of(type_.value_type)
    if types.is_timestamp(type_):
        return _timestamp(type_, int96)
    if types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_list(type_) or types.is_large_list(type_):
        element = spark_type_of(type_.value_type)
        return None if element in (None, NANOSECONDS) else f"array<{element}>"
    if types.is_map(type_) or types.is_struct(type_):
        return _nested(type_)
    return _SIMPLE.get(type_)


def _timestamp(type_: pa.DataType, int96: bool) -> str:
    if type_.unit == "ns" and not int96:
        return NANOSECONDS
    return "timestamp" if int96 or type_.tz is not None else "timestamp_ntz"


def _nested(type_: pa.DataType) -> str | None:
    parts = [type_.key_type, type_.item_type] if types.is_map(type_) else [field.type for field in type_]
    inner = [spark_type_of(part) for part in parts]
    if None in inner or NANOSECONDS in inner:
        return None
    if types.is_map(type_):
        return f"map<{inner[0]},{inner[1]}>"
    fields = (f"`{field.name.replace('`', '``')}`:{kind}" for field, kind in zip(type_, inner, strict=True))
    return f"struct<{','.join(fields)}>"
