"""The columns of files that are not parquet: what their headers and values tell, and what the catalog declares."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from execution_engine.engines.columns.declared_types import spark_type
from execution_engine.engines.columns.spark_sql import quote
from execution_engine.engines.files.listing import Listing, UnableToListFiles
from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

_CORRUPT = "_corrupt_record"
_DEFAULTS = {
    "csv": {"header": "true", "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
}  # a record that does not fit is a failure, not a row of nulls


def reading_options(table: Table) -> dict[str, str]:
    """Spark's options for the files of the table. The header of each file is held against the columns, by name."""
    options = {**_DEFAULTS.get(table.storage, {}), **table.options}
    if table.storage == "csv":
        options["columnPruning"] = "false"  # else a record that does not fit fails some metrics and not others
        options["enforceSchema"] = "false"
    return options


def columns_in(session: SparkSession, table: Table, listing: Listing) -> dict[str, str]:
    """The columns inside the files and their Spark types; names in folders are not among them.

    Types are the declared ones. Where none are declared they are inferred from all files of the part, which reads
    them once more. A column that is there and not declared is text in CSV, and as inferred in JSON; ORC tells its own.
    """
    found = _found(session, table, listing)
    folders = {name.lower() for name in listing.folder_columns}
    inside = {name: type_ for name, type_ in found.items() if name.lower() not in folders}
    if not inside:
        raise _no_columns(f"{listing.root.url(listing.files[-1].path)} names no columns; give it a header")
    if table.storage == "json":
        inside = _without_corrupt(table, inside)
    if table.storage == "orc":
        return inside
    declared = {name.lower(): spark_type(type_) for name, type_ in table.columns.items()}
    return {name: declared.get(name.lower()) or type_ for name, type_ in inside.items()}


def names_in_all(session: SparkSession, table: Table, listing: Listing) -> dict[str, str]:
    """The columns of all files of the part, in JSON, where each line names its own; reads them once."""
    reader = session.read.options(**{**reading_options(table), "mode": "PERMISSIVE"})
    return dict(read_as(reader, table.storage, listing.urls).dtypes)


def _found(session: SparkSession, table: Table, listing: Listing) -> dict[str, str]:
    newest = max(listing.files, key=lambda file: file.mtime_ns)
    infers = not table.columns and table.storage != "orc"
    urls = listing.urls if infers else [listing.root.url(newest.path)]
    options = reading_options(table)
    if table.storage == "csv" and options["header"].lower() != "true" and table.columns:
        folders = (table.partition_column or "").lower() if listing.folder_columns else None
        return {name: spark_type(type_) or "string" for name, type_ in table.columns.items() if name.lower() != folders}
    if table.storage == "json":
        options["mode"] = "PERMISSIVE"  # only to learn the columns: the reason of a failure is told below
    if table.storage == "csv" and infers:
        options["inferSchema"] = "true"
    return types_in(read_as(session.read.options(**options), table.storage, urls))


def read_as(reader: DataFrameReader, storage: str, urls: Sequence[str]) -> DataFrame:
    """The rows of the files, whose names are taken as they are."""
    return reader.format(storage).load([without_glob(url) for url in urls])


def without_glob(url: str) -> str:
    """The URL for Spark, which would take some characters of a name for patterns."""
    return "".join(f"\\{char}" if char in "{}[]*?\\" else char for char in url)


def _without_corrupt(table: Table, found: Mapping[str, str]) -> dict[str, str]:
    inside = {name: type_ for name, type_ in found.items() if name != _CORRUPT}
    if found and not inside:
        raise _no_columns(
            f"{table.name}: no line of {table.location} is a JSON object; write one object on each line, or give the "
            "option multiLine: 'true' for a file that is one array"
        )
    return inside


def _no_columns(detail: str) -> UnableToListFiles:
    return UnableToListFiles(Failure(reason=Reason.UNREADABLE, detail=detail))


def types_in(frame: DataFrame) -> dict[str, str]:
    """The columns and their types, as ``DataFrame.dtypes`` but for names of fields, which stand in backticks."""
    return {field.name: _text(field.dataType) for field in frame.schema.fields}


def _text(type_: DataType) -> str:
    match type_:
        case StructType():
            return f"struct<{','.join(f'{quote(each.name)}:{_text(each.dataType)}' for each in type_.fields)}>"
        case ArrayType():
            return f"array<{_text(type_.elementType)}>"
        case MapType():
            return f"map<{_text(type_.keyType)},{_text(type_.valueType)}>"
    return type_.simpleString()
