"""The files of a table of Spark's own catalog, as a Hive metastore has them: what kernels may read in Spark's place.

The catalog says which folders count, which partition each of them is, and the types of the columns. What a file, or the
name of a folder, says otherwise counts as little as it does to Spark. What Spark reads in a way of its own is Spark's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileType
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from assay.catalog.profile import LOGGED
from execution_engine.engines.files.listing import CatalogEntry, Listing, Root, is_hidden, open_root, refuse_links
from execution_engine.engines.files.stores import is_read_here
from execution_engine.engines.protocol import HIVE_NULL, Part, Table

from .failures import SPARK_ERRORS, is_connect
from .frame_types import types_of

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

SPARK_CATALOG = "spark_catalog"
MOST_LOOK_UPS = 100  # of single partitions; of more, all are asked for
AT_ONCE = 16  # folders of a store
_PARQUET_OF_HIVE = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
_CONVERTS = "spark.sql.hive.convertMetastoreParquet"
_HARMLESS = frozenset({"", "path", "serialization.format", "compression"})
_PROPERTIES = ("transactional", "metadata_location")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_OWN_WAYS = frozenset({"EXISTS_DEFAULT", "CURRENT_DEFAULT"})  # of a column: rows of files without it are not null
_CHARS = re.compile(r"(var)?char\(\d+\)")
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


class LeftToSpark(Exception):
    """Spark must read the table; the text says why, and names no place."""


@dataclass(frozen=True, kw_only=True)
class CatalogTable:
    """What the catalog says of a table; ``columns`` have Spark's types, and ``padded`` those that it pads or fills."""

    kind: str
    provider: str
    location: str
    input_format: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    padded: frozenset[str] = frozenset()
    partition_columns: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)
    is_bucketed: bool = False
    tracks_partitions: bool = True

    @property
    def schema(self) -> pa.Schema:
        """The columns that kernels may read; those that Spark pads or fills are not among them."""
        types = {name: arrow_type(type_) for name, type_ in self.columns.items() if name not in self.padded}
        return pa.schema([(name, type_) for name, type_ in types.items() if type_ is not None])

    def logged(self, table: Table) -> Table | None:
        """The table as its own log describes it, where it is one of Delta or Iceberg; None of any other."""
        if "metadata_location" in self.properties:  # which nobody but Iceberg writes
            return replace(table, storage="iceberg", location=place_of(self.properties["metadata_location"]))
        is_logged = self.provider in LOGGED and self.provider != "iceberg" and bool(self.location)
        return replace(table, storage=self.provider, location=place_of(self.location)) if is_logged else None


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A partition as the catalog has it: its values by column, as texts, and its folder."""

    location: str
    values: Mapping[str, str | None] = field(default_factory=dict)
    input_format: str = ""


def arrow_type(spark: str) -> pa.DataType | None:
    """The type of a plain column; None of any other."""
    if match := re.fullmatch(r"decimal\((\d+),(\d+)\)", spark):
        return pa.decimal128(int(match[1]), int(match[2]))
    return _ARROW.get(spark)


def place_of(uri: str) -> str:
    """A path of this machine, or the URL of a store, given a URI of Hadoop's."""
    place = re.sub(r"^s3[an]://", "s3://", unquote(uri))
    return re.sub(r"^file:(//)?(?=/)", "", place)


def check_table(table: CatalogTable, *, converts: bool) -> None:
    """Raises LeftToSpark of a table that Spark reads in a way of its own; ``converts``: of Hive's as of its own."""
    is_of_hive = table.provider == "hive" and table.input_format == _PARQUET_OF_HIVE
    fills = [name for name in table.partition_columns if name in table.padded]
    why = {
        "it is a view": "VIEW" in table.kind,
        "it is a transactional table of Hive": table.properties.get("transactional", "").lower() == "true",
        f"its files are no parquet, but {table.provider or 'of an unknown kind'}": table.provider != "parquet"
        and not is_of_hive,
        f"{_CONVERTS} is false": is_of_hive and not converts,
        "it is bucketed": table.is_bucketed,
        "it is read with options": not _HARMLESS.issuperset(table.options),
        "its partitions are not in the catalog": bool(table.partition_columns) and not table.tracks_partitions,
        f"its partition column {''.join(fills[:1])} is padded": bool(fills),
    }
    if reason := next((text for text, holds in why.items() if holds), ""):
        raise LeftToSpark(reason)


def check_partitions(table: CatalogTable, partitions: Sequence[Partition]) -> None:
    """Raises LeftToSpark of partitions with files of another kind, or with keys that stand for others."""
    if any(partition.input_format not in ("", table.input_format) for partition in partitions):
        raise LeftToSpark("a partition has files of another kind than its table")
    for partition in partitions:
        for name, text in partition.values.items():
            if text is not None and not is_plain_key(text, table.columns[name]):
                raise LeftToSpark(f"a key of its partition column {name} is cast by Spark")


def is_plain_key(text: str, type_: str) -> bool:
    """Whether the text of a partition's key is what its value is written as."""
    with suppress(ValueError):
        if type_ in _WHOLE:
            return str(int(text)) == text
        if type_ == "date":
            return date.fromisoformat(text).isoformat() == text
    return type_ == "string"


def partitions_with(
    table: CatalogTable, partitions: Sequence[Partition], column: str | None, part: Part
) -> list[Partition]:
    """The partitions that a part covers; raises LeftToSpark where they hold other rows too."""
    if part.keys is None:
        return list(partitions)
    name = _partition_name(table, column)
    keys = set(part.keys)
    return [item for item in partitions if (HIVE_NULL if item.values[name] is None else item.values[name]) in keys]


def _partition_name(table: CatalogTable, column: str | None) -> str:
    name = next((name for name in table.partition_columns if name.lower() == (column or "").lower()), None)
    if name is None:
        raise LeftToSpark("the catalog does not cut it by its partition key")
    return name


# What the session's catalog and the file system say.


def read_table(session: SparkSession, name: str) -> CatalogTable:
    """What the session's own catalog says of a table; raises LeftToSpark where it is not told."""
    if is_connect(session):
        raise LeftToSpark("a Connect server does not tell where the files of its tables lie")
    try:
        state = _state(session)
        identifier = state.sqlParser().parseTableIdentifier(name)
        catalog = _option(identifier.catalog()) or session.catalog.currentCatalog()
        if catalog != SPARK_CATALOG:
            raise LeftToSpark(f"it is of the catalog {catalog}, which tells Spark alone")
        return _table_of(state.catalog().getTempViewOrPermanentTableMetadata(identifier))
    except SPARK_ERRORS as error:
        raise LeftToSpark("Spark's catalog does not tell of it") from error


def list_table(session: SparkSession, table: Table, entry: CatalogTable, part: Part) -> Listing:
    """The files of a part; raises LeftToSpark, and UnableToListFiles where they lie in places that are closed."""
    check_table(entry, converts=str(session.conf.get(_CONVERTS, "true")).lower() == "true")
    try:
        partitions = read_partitions(session, table, entry, part)
    except SPARK_ERRORS as error:
        raise LeftToSpark("Spark's catalog does not tell its partitions") from error
    check_partitions(entry, partitions)
    return list_files(table, entry, partitions_with(entry, partitions, table.partition_column, part))


def list_files(table: Table, entry: CatalogTable, partitions: Sequence[Partition]) -> Listing:
    """The files of partitions, of any kind; raises as above."""
    place = place_of(entry.location)
    if not is_read_here(place):
        raise LeftToSpark(f"its files lie on {place.partition('://')[0]}://, which only Spark reads")
    try:
        root = open_root(place)
        paths = [_path_in(root, place_of(partition.location)) for partition in partitions]
        listed = list(_files_in_all(root, paths))
    except LeftToSpark:
        raise
    except Exception as error:
        raise LeftToSpark("its files cannot be listed here") from error
    values = {file.path: item.values for item, files in zip(partitions, listed, strict=True) for file in files}
    files = tuple(sorted((file for files in listed for file in files), key=lambda file: file.path))
    if len(values) < len(files):
        raise LeftToSpark("several of its partitions have the same folder")
    listing = Listing(root=root, files=files, entry=CatalogEntry(schema=entry.schema, values=values))
    refuse_links(table, listing)
    return listing


def read_partitions(session: SparkSession, table: Table, entry: CatalogTable, part: Part) -> list[Partition]:
    """The partitions that the catalog has of a part, or the whole table as one; raises LeftToSpark."""
    if not entry.partition_columns:
        if part.keys is not None:
            _partition_name(entry, table.partition_column)
        return [Partition(location=entry.location)]
    state, jvm = _state(session), session.sparkContext._jvm
    assert jvm is not None
    identifier = state.sqlParser().parseTableIdentifier(table.location)
    specs = [jvm.scala.Option.empty()]
    if part.keys is not None:
        name = _partition_name(entry, table.partition_column)
        if entry.columns[name] == "string" and len(part.keys) <= MOST_LOOK_UPS:
            specs = [
                jvm.scala.Option.apply(jvm.PythonUtils.toScalaMap({name: key})) for key in dict.fromkeys(part.keys)
            ]
    listed = [state.catalog().listPartitions(identifier, spec) for spec in specs]
    return [_partition_of(sequence.apply(at), entry) for sequence in listed for at in range(sequence.size())]


def parameters_of_partitions(session: SparkSession, table: Table) -> list[Mapping[str, str]]:
    """What the catalog keeps beside each partition, as texts; ``created`` is when it was added, in seconds."""
    state = _state(session)
    jvm = session.sparkContext._jvm
    assert jvm is not None
    listed = state.catalog().listPartitions(
        state.sqlParser().parseTableIdentifier(table.location), jvm.scala.Option.empty()
    )
    entries = [listed.apply(at) for at in range(listed.size())]
    return [{**_parameters(entry), "created": str(entry.createTime() // 1000)} for entry in entries]


def _parameters(entry: "JavaObject") -> dict[str, str]:
    pairs = (text.partition(" -> ") for text in _texts(entry.parameters()))
    return {name: value for name, _, value in pairs}


def _files_in_all(root: Root, paths: Sequence[str]) -> Iterator[list[FileInfo]]:
    read = partial(_files_in, root)
    if root.is_local:
        yield from map(read, paths)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(read, paths)


def _files_in(root: Root, path: str) -> list[FileInfo]:
    """The files that Spark reads of one folder: those in it, which are not hidden and not empty."""
    infos = root.filesystem.get_file_info(FileSelector(path, allow_not_found=True))
    visible = [info for info in infos if not is_hidden(info.base_name)]
    if any(info.type is FileType.Directory for info in visible):
        raise LeftToSpark("folders lie in a folder of its files")
    return [info for info in visible if info.size]


def _path_in(root: Root, place: str) -> str:
    """The path of a partition's folder in the file system of its table; raises LeftToSpark where it has another."""
    url, own = (text if "://" in text else f"file://{text}" for text in (place, root.url(root.path)))
    if not root.is_local and url.split("/")[:3] != own.split("/")[:3]:
        raise LeftToSpark("a partition lies in another store than its table")
    if not url.startswith(root.prefix):
        raise LeftToSpark("a partition lies in another store than its table")
    return url[len(root.prefix) :].rstrip("/")


def _state(session: SparkSession) -> "JavaObject":
    return session._jsparkSession.sessionState()


def _option(option: "JavaObject") -> str:
    return str(option.get()) if option.isDefined() else ""


def _texts(sequence: "JavaObject") -> list[str]:
    return [text for text in str(sequence.mkString("\0")).split("\0") if text]


def _table_of(entry: "JavaObject") -> CatalogTable:
    storage, properties = entry.storage(), entry.properties()
    schema = loads(entry.schema().json())
    fields: list[dict[str, Any]] = schema["fields"]
    types = types_of(StructType.fromJson(schema))
    padded = {item["name"] for item in fields if _is_padded(item)}
    return CatalogTable(
        kind=str(entry.tableType().name()),
        provider=_option(entry.provider()).lower(),
        location=_option(storage.locationUri()),
        input_format=_option(storage.inputFormat()),
        columns={name: _CHARS.sub("string", type_) for name, type_ in types.items()},
        padded=frozenset(padded),
        partition_columns=tuple(_texts(entry.partitionColumnNames())),
        options=frozenset(_texts(storage.properties().keySet())),
        properties={name: str(properties.apply(name)) for name in _PROPERTIES if properties.contains(name)},
        is_bucketed=bool(entry.bucketSpec().isDefined()),
        tracks_partitions=bool(entry.tracksPartitionsInCatalog()),
    )


def _is_padded(column: Mapping[str, Any]) -> bool:
    """Whether Spark gives other values of a column than files have, as spaces behind those of a char."""
    metadata = column["metadata"]
    texts = [str(metadata.get(_CHAR, "")), str(column["type"])]
    return not _OWN_WAYS.isdisjoint(metadata) or any(text.startswith("char") for text in texts)


def _partition_of(entry: "JavaObject", table: CatalogTable) -> Partition:
    storage, spec = entry.storage(), entry.spec()
    texts = {name: str(spec.apply(name)) for name in table.partition_columns}
    return Partition(
        location=_option(storage.locationUri()),
        values={name: None if text == HIVE_NULL else text for name, text in texts.items()},
        input_format=_option(storage.inputFormat()),
    )
