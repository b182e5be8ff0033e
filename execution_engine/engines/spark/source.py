"""A part of a table as a DataFrame, opened without starting a Spark job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from execution_engine.metrics.expressions import Expressions
from execution_engine.outcome import Failure, Reason

from ..files import Listing, UnableToListFiles, list_part, newest_file, open_root
from ..footer_statistics import FooterStatistics, footer_statistics
from ..footers import NANOSECONDS, read_columns
from ..nested import with_fields
from ..protocol import Part, Table
from .sql import expressions, is_in, quote

SMALL_BYTES = 32 * 1024 * 1024  # read by one task: two stages cost more than they save
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True, kw_only=True)
class Files:
    """Whole parquet files, and what Spark must know to open them."""

    urls: tuple[str, ...]
    stored: tuple[tuple[str, str], ...]  # name and type, in the files or in the names of their folders
    base: str | None  # the folder below which folders' names are columns; None where there are none

    @property
    def kind(self) -> object:
        """Files of one kind can be opened together."""
        return self.stored, self.base

    def open(self, session: SparkSession, urls: Sequence[str]) -> DataFrame:
        """The rows of files of this kind; not of their folders, to which more may have been added since."""
        schema = ", ".join(f"{quote(name)} {'bigint' if t == NANOSECONDS else t}" for name, t in self.stored)
        reader = session.read.schema(schema)
        if self.base is not None:
            reader = reader.option("basePath", self.base)
        frame = reader.parquet(*(_without_glob(url) for url in urls))
        nanoseconds = [name for name, type_ in self.stored if type_ == NANOSECONDS]
        if not nanoseconds:
            return frame
        return frame.selectExpr(
            *(_as_timestamp(name) if name in nanoseconds else quote(name) for name, _ in self.stored)
        )


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a scan reads."""

    name: str
    open: Callable[[], DataFrame]
    columns: Mapping[str, str]  # name → Spark's type, fields of structs as a.b
    small: bool
    fingerprint: str | None
    footers: FooterStatistics | None = None
    files: Files | None = None  # where it is whole files

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
    def numeric(self) -> dict[str, bool]:
        """Each column, and whether it holds numbers."""
        return {name: type_.startswith(NUMERIC) for name, type_ in self.columns.items()}


def open_source(session: SparkSession, table: Table, part: Part) -> Source:
    """The part; UnableToListFiles or Spark's own error if it cannot be opened."""
    if table.storage == "table":
        return _open_catalog_table(session, table, part)
    return _open_files(session, table, part, list_part(table, part))


def _open_catalog_table(session: SparkSession, table: Table, part: Part) -> Source:
    frame = session.table(table.location)
    columns = dict(frame.dtypes)
    if part.keys is not None:
        frame = frame.where(_part_condition(table, columns, part.keys))
    return Source(name=table.name, open=lambda: frame, columns=with_fields(columns), small=False, fingerprint=None)


def _open_files(session: SparkSession, table: Table, part: Part, listing: Listing) -> Source:
    if not listing.files:
        return _open_nothing(session, table, listing)
    newest = max(listing.files, key=lambda file: file.mtime_ns)
    stored = read_columns(listing.root, newest) | dict.fromkeys(listing.folder_columns, "string")
    keys = part.keys if listing.filtered else None
    condition = _part_condition(table, stored, keys) if keys is not None else None
    small = listing.size < SMALL_BYTES
    base = listing.root.url(listing.root.path) if listing.folder_columns else None
    files = Files(urls=tuple(listing.urls), stored=tuple(stored.items()), base=base)

    def open_() -> DataFrame:
        frame = files.open(session, files.urls)
        if condition is not None:
            frame = frame.where(condition)
        return frame.coalesce(1) if small else frame

    return Source(
        name=table.name,
        open=open_,
        columns=_shown(stored),
        small=small,
        fingerprint=listing.fingerprint,
        footers=None if listing.filtered else footer_statistics(listing.root, listing.files),
        files=None if listing.filtered else files,
    )


def _open_nothing(session: SparkSession, table: Table, listing: Listing) -> Source:
    """No rows, under the columns that a sibling partition has, else under the declared ones."""
    sibling = newest_file(table)
    stored = read_columns(open_root(table.location), sibling) if sibling else dict(table.columns)
    top = stored | ({table.partition_column: "string"} if table.partition_column else {})
    top = {name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in top.items()}
    columns = with_fields(top)

    def open_() -> DataFrame:
        nulls = [f"cast(null as {type_}) as {quote(name)}" for name, type_ in top.items()]
        nothing = session.range(0, 0, 1, 1)
        return nothing.selectExpr(*nulls) if nulls else nothing

    nothing_told = FooterStatistics(rows=0, columns={})
    return Source(
        name=table.name, open=open_, columns=columns, small=True, fingerprint=listing.fingerprint, footers=nothing_told
    )


def _part_condition(table: Table, columns: Mapping[str, str], keys: tuple[str, ...]) -> str:
    column = table.partition_column
    if column is None or column.lower() not in {name.lower() for name in columns}:
        detail = (
            f"{table.name} has neither folders {column}=… nor a column {column}; "
            f"set its partition key to one of {', '.join(sorted(columns))}"
        )
        raise UnableToListFiles(Failure(reason=Reason.NO_PARTITION_COLUMN, detail=detail))
    is_text = columns.get(column) == "string"  # compared as it is, so that the filter is pushed into the files
    return is_in(quote(column) if is_text else f"cast({quote(column)} as string)", keys)


def _shown(stored: Mapping[str, str]) -> dict[str, str]:
    return with_fields({name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in stored.items()})


def _as_timestamp(name: str) -> str:
    return f"timestamp_micros({quote(name)} div 1000) as {quote(name)}"


def _without_glob(url: str) -> str:
    return "".join(f"\\{char}" if char in "{}[]*?\\" else char for char in url)
