"""A part of a table as a DataFrame, from files of each kind, Spark's catalog or the caller's own frame.

What is measured of it is in ``measures`` and ``keys``.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyarrow.fs import LocalFileSystem
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from assay.catalog.profile import PARQUET
from execution_engine.engines.column_types import (
    expressions,
    is_in,
    measure_drift,
    quote,
    spark_type,
    with_fields,
)
from execution_engine.engines.files.footers import (
    NANOSECONDS,
    TELLING,
    FooterStatistics,
    assertion_columns,
    columns_by_name,
    columns_of_files,
    footer_statistics,
    read_columns,
)
from execution_engine.engines.files.listing import (
    Listing,
    Root,
    UnableToListFiles,
    escape_key,
    list_part,
    newest_file,
    read_fingerprints,
)
from execution_engine.engines.protocol import HIVE_NULL, SMALL_BYTES, WHOLE, Measured, MeasurementRequest, Part, Table
from execution_engine.engines.spec_check import kinds_of
from execution_engine.metrics.definition import ColumnKind
from execution_engine.metrics.definitions.schema import SeenColumns, compare, parse_columns
from execution_engine.metrics.expressions import Expressions
from execution_engine.outcome import Reason
from execution_engine.read_by import FallbackKind, Left

from .catalog_tables import LeftToSpark, list_table, read_table
from .copies import copy_of, is_closed_to, runs_here
from .failures import SPARK_ERRORS, is_connect
from .frame_types import types_in
from .live_rows import live_frame

# The columns of files that are not parquet: what their headers and values tell, and what the catalog declares.

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
    them once more. A column that is there and not declared is text in CSV, and as inferred in JSON; parquet and ORC
    tell their own.
    """
    if table.storage in PARQUET:
        return read_columns(listing)
    options = reading_options(table)
    if table.storage == "csv" and options["header"].lower() != "true" and table.columns:
        folder = (table.partition_column or "").lower() if listing.folder_columns else None
        seen = {name: type_ for name, type_ in _declared(table).items() if name.lower() != folder}
    else:
        infers = not table.columns and table.storage != "orc"
        if table.storage == "json":
            options["mode"] = "PERMISSIVE"  # only to learn the columns: the reason of a failure is told later
        if table.storage == "csv" and infers:
            options["inferSchema"] = "true"
        urls = listing.urls if infers else [listing.root.url(listing.newest.path)]
        seen = types_in(read_as(session.read.options(**options), table.storage, urls))
    folders = {name.lower() for name in listing.folder_columns}
    inside = {name: type_ for name, type_ in seen.items() if name.lower() not in folders}
    detail = f"{listing.root.url(listing.files[-1].path)} names no columns; give it a header"
    if inside and table.storage == "json":
        inside.pop(_CORRUPT, None)
        detail = (
            f"{table.name}: no line of {table.location} is a JSON object; write one object on each line, or give the "
            "option multiLine: 'true' for a file that is one array"
        )
    if not inside:
        raise UnableToListFiles(detail)
    if table.storage == "orc":
        return inside
    declared = {name.lower(): spark_type(type_) for name, type_ in table.columns.items()}
    return {name: declared.get(name.lower()) or type_ for name, type_ in inside.items()}


def _declared(table: Table) -> dict[str, str]:
    """Types of other systems are texts here: there are no rows to tell the difference."""
    return {name: spark_type(type_) or "string" for name, type_ in table.columns.items()}


def read_as(reader: DataFrameReader, storage: str, urls: Sequence[str]) -> DataFrame:
    """The rows of the files, whose names are taken as they are."""
    return reader.format(storage).load([without_glob(url) for url in urls])


def without_glob(url: str) -> str:
    """The URL for Spark, which would take some characters of a name for patterns."""
    return "".join(f"\\{char}" if char in "{}[]*?\\" else char for char in url)


# The files behind a frame that reads them as they are: what the kernels may read in its place.

_RELATION = "LogicalRelation"
_PLAIN_OPTIONS = {"path", "paths", "__paths__"}
_UTC = {"UTC", "GMT", "Z", "ETC/UTC", "ETC/GMT", "+00:00"}


def files_behind(frame: DataFrame) -> Listing | None:
    """The parquet files of this machine whose rows are the frame's; None where the frame is anything else.

    None too where its session has another time zone than UTC, or tells columns apart by their case: conditions would
    mean something else there.
    """
    if is_connect(frame.sparkSession) or frame.storageLevel.useMemory or frame.storageLevel.useDisk:
        return None
    urls: list[str] = []
    with suppress(*SPARK_ERRORS):
        conf = frame.sparkSession.conf
        zone, by_case = conf.get("spark.sql.session.timeZone"), conf.get("spark.sql.caseSensitive")
        if _is_plain(frame) and str(zone).upper() in _UTC and str(by_case).lower() == "false":
            urls = frame.inputFiles()
    paths = [unquote(urlsplit(url).path) for url in urls if urlsplit(url).scheme in ("", "file")]
    if not paths or len(paths) != len(urls):
        return None
    root = Root(filesystem=LocalFileSystem(), path=os.path.commonpath(map(os.path.dirname, paths)), prefix="file://")
    if any("=" in path[len(root.path) :] for path in paths):
        return None
    return Listing(root=root, files=tuple(root.filesystem.get_file_info(sorted(paths))))


def _is_plain(frame: DataFrame) -> bool:
    """Whether it is a relation of parquet files without partitions, buckets or options."""
    plan = frame._jdf.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != _RELATION or plan.isStreaming():
        return False
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    keys = relation.options().keySet().mkString("\n").lower().split("\n")
    return bool(
        relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
        and relation.partitionSchema().isEmpty()
        and not relation.bucketSpec().isDefined()
        and _PLAIN_OPTIONS.issuperset(filter(None, keys))
    )


# A part of a table, or a frame that the caller made, as what a scan reads; opened without starting a Spark job.


@dataclass(frozen=True, kw_only=True)
class Files:
    """Whole files, and what Spark must know to open them."""

    urls: tuple[str, ...]
    stored: tuple[tuple[str, str], ...]  # name and type, in the files or in the names of their folders
    base: str | None  # the folder below which folders' names are columns; None where there are none
    storage: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> object:
        """Files of one kind can be opened together."""
        return self.stored, self.base

    def open(self, session: SparkSession, urls: Sequence[str]) -> DataFrame:
        """The rows of files of this kind; not of their folders, to which more may have been added since."""
        schema = ", ".join(f"{quote(name)} {'bigint' if t == NANOSECONDS else t}" for name, t in self.stored)
        reader = session.read.schema(schema).options(**self.options)
        if self.base is not None:
            reader = reader.option("basePath", self.base)
        frame = read_as(reader, self.storage, urls)
        nanoseconds = [name for name, type_ in self.stored if type_ == NANOSECONDS]
        if not nanoseconds:
            return frame
        return frame.selectExpr(
            *(
                f"timestamp_micros({quote(name)} div 1000) as {quote(name)}" if name in nanoseconds else quote(name)
                for name, _ in self.stored
            )
        )


@dataclass
class Reading:
    """Whether kernels may read, and how a measurement that is taken by itself was read: by them, or why it was left."""

    native: bool = True
    kernels: bool = False
    left: Left | None = None

    def begin(self) -> None:
        """Another measurement is taken."""
        self.kernels, self.left = False, None


@dataclass(frozen=True, kw_only=True)
class SparkSource:
    """What a scan reads."""

    session: SparkSession
    name: str
    open: Callable[[], DataFrame]
    columns: Mapping[str, str]  # as assertions write them → Spark's type, fields of structs as a.b
    small: bool
    fingerprint: str | None
    spread: Callable[[], DataFrame] | None = None  # the rows as all cores read them, also where they are few
    footers: FooterStatistics | None = None
    files: Files | None = None  # where it is whole files
    listing: Listing | None = None  # of these
    places: Callable[[], tuple[SeenColumns, ...]] = (
        tuple  # the columns of each file, or of the table; none where no file is
    )
    reading: Reading = field(default_factory=Reading, compare=False)
    fallback: Left | None = None  # why all of it is Spark's to read
    beside: list["SparkSource"] = field(default_factory=list, compare=False)  # files copied for them stay as long

    @cached_property
    def frame(self) -> DataFrame:
        """The rows, opened when first asked for: what the footers tell needs none."""
        return self.open()

    @property
    def rows(self) -> int | None:
        """How many rows there are, where the files' footers tell."""
        return self.footers.rows if self.footers else None

    @cached_property
    def write(self) -> Expressions:
        """Writes SQL over a row."""
        return expressions(self.columns)

    @property
    def kinds(self) -> dict[str, ColumnKind | None]:
        """The kind of each column; None of one that no metric wants a kind of, such as a boolean or a struct."""
        return kinds_of(self.columns)


def open_source(session: SparkSession, table: Table, part: Part) -> SparkSource:
    """The part; UnableToListFiles or Spark's own error if it cannot be opened."""
    if table.storage == "table":
        return _open_of_catalog(session, table, part)
    listing = list_part(table, part)
    return _open_files(session, table, part, listing) if listing.files else _open_nothing(session, table, listing)


def _open_of_catalog(session: SparkSession, table: Table, part: Part) -> SparkSource:
    """A table of Spark's catalog: its files where the catalog tells them, else what Spark reads."""
    listing, footers, fallback = None, None, None
    try:
        entry = read_table(session, table.location)
        if logged := entry.logged(table):
            return _open_logged(session, table, logged, part)
        listing = list_table(session, table, entry, part)
        columns = dict(entry.columns)
        session.catalog.refreshTable(table.location)  # else Spark reads the files that it has listed before
        with suppress(UnableToListFiles):
            footers = footer_statistics(listing)
    except LeftToSpark as error:
        fallback = Left(kind=FallbackKind.TABLE, why=str(error))
        columns = types_in(session.table(table.location))
    condition = _part_condition(table, columns, part.keys) if part.keys is not None else None
    small = listing is not None and listing.size < SMALL_BYTES and not is_closed_to(session, listing)

    def spread() -> DataFrame:
        frame = session.table(table.location)
        return frame if condition is None else frame.where(condition)

    return SparkSource(
        session=session,
        name=table.name,
        open=lambda: spread().coalesce(1) if small else spread(),
        spread=spread,
        columns=with_fields(columns),
        small=small,
        fingerprint=listing.fingerprint if listing else None,
        footers=footers,
        listing=listing,
        places=lambda: (SeenColumns(place=f"table {table.place}", columns=columns),),
        fallback=fallback,
    )


def _open_logged(session: SparkSession, table: Table, logged: Table, part: Part) -> SparkSource:
    """By its log; raises LeftToSpark where the log cannot be read and Spark has the jars for it."""
    try:
        return open_source(session, logged, part)
    except UnableToListFiles as error:
        with suppress(*SPARK_ERRORS):
            session.table(table.location)
            raise LeftToSpark("its log is not read here") from error
        raise


def fingerprints_in_catalog(session: SparkSession, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
    """Of the files of each part of a table of Spark's catalog; None of what Spark reads in a way of its own."""
    try:
        entry = read_table(session, table.location)
        if logged := entry.logged(table):
            return read_fingerprints(logged, parts)
        return tuple(list_table(session, table, entry, part).fingerprint for part in parts)
    except (LeftToSpark, UnableToListFiles, *SPARK_ERRORS):
        return (None,) * len(parts)


def open_beside(source: SparkSource, table: Table) -> SparkSource:
    """Another table, whole, for a metric that reads it beside its own; raises what ``open_source`` does."""
    other = open_source(source.session, table, WHOLE)
    source.beside.append(other)
    return other


def _open_files(session: SparkSession, table: Table, part: Part, listing: Listing) -> SparkSource:
    is_closed = is_closed_to(session, listing)
    is_by_arrow = listing.snapshot is not None or (is_closed and table.storage in PARQUET)
    is_copied = is_closed and not is_by_arrow and runs_here(session)

    @cache
    def copied(*, newest: bool) -> Listing:
        files = (listing.newest,) if newest else listing.files
        return copy_of(table, replace(listing, files=files)) if is_copied else listing

    seen = listing if table.storage in PARQUET else copied(newest=listing.is_orc)
    stored = columns_in(session, table, seen) | dict.fromkeys(listing.folder_columns, "string")
    condition = _part_condition(table, stored, part.keys) if listing.filtered and part.keys is not None else None
    small = listing.size < SMALL_BYTES
    footers = _footers_of(table, listing)

    def spread() -> DataFrame:
        if is_by_arrow:
            frame = live_frame(session, listing, stored)
        else:
            files = _files_of(table, copied(newest=False), stored)
            frame = files.open(session, files.urls)
        return frame if condition is None else frame.where(condition)

    def places() -> tuple[SeenColumns, ...]:
        """The columns of each file; of CSV and JSON their names, as the newest file has them.

        A JSON file leaves out what is null, so what is missing in the newest is looked for in all of them.
        """
        if listing.snapshot or table.storage in TELLING:
            return columns_of_files(listing, table.storage)
        names = {name.lower() for name in stored}
        if table.storage != "json" or all(name.lower() in names for name in table.columns):
            return columns_by_name(listing, stored)
        reader = session.read.options(**{**reading_options(table), "mode": "PERMISSIVE"})
        return columns_by_name(listing, dict(read_as(reader, "json", seen.urls).dtypes))

    return SparkSource(
        session=session,
        name=table.name,
        open=lambda: spread().coalesce(1) if small else spread(),
        spread=spread,
        columns=assertion_columns(stored),
        small=small,
        fingerprint=listing.fingerprint,
        footers=footers,
        files=_files_of(table, listing, stored) if footers and not is_by_arrow else None,
        listing=listing if footers else None,
        places=places,
    )


def _footers_of(table: Table, listing: Listing) -> FooterStatistics | None:
    """What the footers tell, unless the files hold rows of other parts; of damaged ORC Spark says what is wrong."""
    if listing.filtered or (table.storage not in PARQUET and not listing.is_orc):
        return None
    with suppress(*[UnableToListFiles] if listing.is_orc else []):
        return footer_statistics(listing)
    return None


def _files_of(table: Table, listing: Listing, stored: Mapping[str, str]) -> Files:
    return Files(
        urls=tuple(listing.urls),
        stored=tuple(stored.items()),
        base=listing.root.url(listing.root.path) if listing.folder_columns else None,
        storage=table.storage,
        options=reading_options(table),
    )


def _open_nothing(session: SparkSession, table: Table, listing: Listing) -> SparkSource:
    """No rows, under the columns that a sibling partition has, else under the declared ones."""
    like = listing if listing.snapshot else None
    if like is None and (sibling := newest_file(table)):
        like = Listing(root=listing.root, files=(sibling,))
    stored = columns_in(session, table, like) if like else _declared(table)
    named_by_folders = table.partition_column if listing.snapshot is None else None
    top = stored | ({named_by_folders: "string"} if named_by_folders else {})
    top = {name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in top.items()}

    def open_() -> DataFrame:
        nulls = [f"cast(null as {type_}) as {quote(name)}" for name, type_ in top.items()]
        nothing = session.range(0, 0, 1, 1)
        return nothing.selectExpr(*nulls) if nulls else nothing

    return SparkSource(
        session=session,
        name=table.name,
        open=open_,
        columns=with_fields(top),
        small=True,
        fingerprint=listing.fingerprint,
        footers=FooterStatistics(rows=0, columns={}),
    )


def _part_condition(table: Table, columns: Mapping[str, str], keys: tuple[str, ...]) -> str:
    column = table.partition_column
    if column is None or column.lower() not in {name.lower() for name in columns}:
        detail = (
            f"{table.name} has neither folders {column}=… nor a column {column}; "
            f"set its partition key to one of {', '.join(sorted(columns))}"
        )
        raise UnableToListFiles(detail, Reason.NO_PARTITION_COLUMN)
    is_text = columns.get(column) == "string"  # compared as it is, so that the filter is pushed into the files
    named = is_in(quote(column) if is_text else f"cast({quote(column)} as string)", keys)
    return f"({named} or {quote(column)} is null)" if HIVE_NULL in keys else named


def frame_source(frame: DataFrame, name: str) -> SparkSource:
    """The rows of the frame; how many they are is known where it reads files as they are."""
    listing = files_behind(frame)
    footers = None
    with suppress(UnableToListFiles):  # what is not surely read is not told: files may have been replaced since
        footers = footer_statistics(listing) if listing else None
    return SparkSource(
        session=frame.sparkSession,
        name=name,
        open=lambda: frame,
        columns=with_fields(types_in(frame)),
        small=False,
        fingerprint=None,
        footers=footers,
        listing=listing,
    )


def frame_table(frame: DataFrame, name: str) -> Table:
    """The frame as a table of its session's catalog, for metrics that read it beside another; drop it afterwards."""
    view = f"assay_frame_{uuid4().hex}"
    frame.createTempView(view)
    return Table(name=name, storage="table", location=view, columns=types_in(frame))


def drop_table(frame: DataFrame, table: Table) -> None:
    """Forgets what ``frame_table`` made."""
    frame.sparkSession.catalog.dropTempView(table.location)


def listed_keys(session: SparkSession, table: str, column: str) -> tuple[str, ...] | None:
    """The keys of a column, sorted, that of null as Hive writes it; None where the table is not partitioned by it."""
    try:
        rows = session.sql(f"show partitions {table}").collect()
    except (AnalysisException, ParseException):  # a view, or a table without partitions
        return None
    start = f"{escape_key(column).lower()}="
    names = [name for row in rows for name in str(row[0]).split("/")]
    keys = {unquote(name[len(start) :]) for name in names if name.lower().startswith(start)}
    return tuple(sorted(keys)) or None


# Whether the columns are those that were promised or declared; read from the files' footers, without a job.


def match_schema(source: SparkSource, item: MeasurementRequest) -> Measured:
    """1 where every column is there with its type; the detail lists what differs."""
    detail = compare(parse_columns(str(item.spec.arguments[0])), source.columns)
    matches = not detail["missing"] and not detail["other"]
    return Measured(value=float(matches), detail=detail)


def find_drift(source: SparkSource, item: MeasurementRequest) -> Measured:
    """How many declared columns are gone or of another type, in any file."""
    return measure_drift(item, source.places(), source.name)
