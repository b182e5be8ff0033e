"""A part of a table, or a frame that the caller made, as what a scan reads; opened without starting a Spark job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote
from uuid import uuid4

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from execution_engine.engines.columns.declared_types import spark_type
from execution_engine.engines.columns.nested import with_fields
from execution_engine.engines.columns.spark_sql import expressions, is_in, quote
from execution_engine.engines.columns.spec_check import kinds_of
from execution_engine.engines.files.file_columns import TELLING, columns_by_name, columns_of_files
from execution_engine.engines.files.footer_statistics import FooterStatistics, footer_statistics
from execution_engine.engines.files.footers import NANOSECONDS, read_columns, shown_columns
from execution_engine.engines.files.listing import Listing, UnableToListFiles, escape_key, list_part, newest_file
from execution_engine.engines.limits import SMALL_BYTES
from execution_engine.engines.protocol import HIVE_NULL, WHOLE, Part, Table
from execution_engine.metrics.definitions.schema_drift import SeenColumns
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ColumnKind
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import Left

from .formats import columns_in, names_in_all, read_as, reading_options, types_in
from .frame_files import files_behind


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
            *(_as_timestamp(name) if name in nanoseconds else quote(name) for name, _ in self.stored)
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
    footers: FooterStatistics | None = None
    files: Files | None = None  # where it is whole files
    listing: Listing | None = None  # of these
    places: Callable[[], tuple[SeenColumns, ...]] = (
        tuple  # the columns of each file, or of the table; none where no file is
    )
    reading: Reading = field(default_factory=Reading, compare=False)

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
        return _open_catalog_table(session, table, part)
    return _open_files(session, table, part, list_part(table, part))


def open_beside(source: SparkSource, table: Table) -> SparkSource:
    """Another table, whole, for a metric that reads it beside its own; raises what ``open_source`` does."""
    return open_source(source.session, table, WHOLE)


def _open_catalog_table(session: SparkSession, table: Table, part: Part) -> SparkSource:
    frame = session.table(table.location)
    columns = types_in(frame)
    if part.keys is not None:
        frame = frame.where(_part_condition(table, columns, part.keys))
    return SparkSource(
        session=session,
        name=table.name,
        open=lambda: frame,
        columns=with_fields(columns),
        small=False,
        fingerprint=None,
        places=lambda: (SeenColumns(place=f"table {table.place}", columns=columns),),
    )


def _open_files(session: SparkSession, table: Table, part: Part, listing: Listing) -> SparkSource:
    if not listing.files:
        return _open_nothing(session, table, listing)
    stored = _columns_inside(session, table, listing) | dict.fromkeys(listing.folder_columns, "string")
    keys = part.keys if listing.filtered else None
    condition = _part_condition(table, stored, keys) if keys is not None else None
    small = listing.size < SMALL_BYTES
    base = listing.root.url(listing.root.path) if listing.folder_columns else None
    files = Files(
        urls=tuple(listing.urls),
        stored=tuple(stored.items()),
        base=base,
        storage=table.storage,
        options=reading_options(table),
    )
    tells = table.storage == "parquet" and not listing.filtered

    def open_() -> DataFrame:
        frame = files.open(session, files.urls)
        if condition is not None:
            frame = frame.where(condition)
        return frame.coalesce(1) if small else frame

    return SparkSource(
        session=session,
        name=table.name,
        open=open_,
        columns=shown_columns(stored),
        small=small,
        fingerprint=listing.fingerprint,
        footers=footer_statistics(listing) if tells else None,
        files=files if tells else None,
        listing=listing if tells else None,
        places=lambda: _places(session, table, listing, stored),
    )


def _places(
    session: SparkSession, table: Table, listing: Listing, stored: Mapping[str, str]
) -> tuple[SeenColumns, ...]:
    """The columns of each file; of CSV and JSON their names, as the newest file has them.

    A JSON file leaves out what is null, so what is missing in the newest is looked for in all of them.
    """
    if table.storage in TELLING:
        return columns_of_files(listing, table.storage)
    names = {name.lower() for name in stored}
    is_short = table.storage == "json" and any(name.lower() not in names for name in table.columns)
    return columns_by_name(listing, names_in_all(session, table, listing) if is_short else stored)


def _columns_inside(session: SparkSession, table: Table, listing: Listing) -> dict[str, str]:
    """The columns inside the files, and their types in Spark."""
    if table.storage != "parquet":
        return columns_in(session, table, listing)
    return read_columns(listing)


def _open_nothing(session: SparkSession, table: Table, listing: Listing) -> SparkSource:
    """No rows, under the columns that a sibling partition has, else under the declared ones."""
    sibling = newest_file(table)
    beside = Listing(root=listing.root, files=(sibling,)) if sibling else None
    stored = _columns_inside(session, table, beside) if beside else _declared(table)
    top = stored | ({table.partition_column: "string"} if table.partition_column else {})
    top = {name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in top.items()}
    columns = with_fields(top)

    def open_() -> DataFrame:
        nulls = [f"cast(null as {type_}) as {quote(name)}" for name, type_ in top.items()]
        nothing = session.range(0, 0, 1, 1)
        return nothing.selectExpr(*nulls) if nulls else nothing

    nothing_told = FooterStatistics(rows=0, columns={})
    return SparkSource(
        session=session,
        name=table.name,
        open=open_,
        columns=columns,
        small=True,
        fingerprint=listing.fingerprint,
        footers=nothing_told,
    )


def _declared(table: Table) -> dict[str, str]:
    """Types of other systems are texts here: there are no rows to tell the difference."""
    return {name: spark_type(type_) or "string" for name, type_ in table.columns.items()}


def _part_condition(table: Table, columns: Mapping[str, str], keys: tuple[str, ...]) -> str:
    column = table.partition_column
    if column is None or column.lower() not in {name.lower() for name in columns}:
        detail = (
            f"{table.name} has neither folders {column}=… nor a column {column}; "
            f"set its partition key to one of {', '.join(sorted(columns))}"
        )
        raise UnableToListFiles(Failure(reason=Reason.NO_PARTITION_COLUMN, detail=detail))
    is_text = columns.get(column) == "string"  # compared as it is, so that the filter is pushed into the files
    named = is_in(quote(column) if is_text else f"cast({quote(column)} as string)", keys)
    return f"({named} or {quote(column)} is null)" if HIVE_NULL in keys else named


def _as_timestamp(name: str) -> str:
    return f"timestamp_micros({quote(name)} div 1000) as {quote(name)}"


def frame_source(frame: DataFrame, name: str) -> SparkSource:
    """The rows of the frame; how many they are is known where it reads files as they are."""
    columns, listing = with_fields(types_in(frame)), files_behind(frame)
    return SparkSource(
        session=frame.sparkSession,
        name=name,
        open=lambda: frame,
        columns=columns,
        small=False,
        fingerprint=None,
        footers=_footers_behind(listing),
        listing=listing,
    )


def _footers_behind(listing: Listing | None) -> FooterStatistics | None:
    """What is not surely read is not told: the frame may have been made before its files were replaced."""
    try:
        return footer_statistics(listing) if listing else None
    except UnableToListFiles:
        return None


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
