"""The columns of a parquet file from its footer, as types of Spark's; given a schema, Spark opens it without a job."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, partial
from itertools import islice
from json import loads
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc, types
from pyarrow.fs import FileInfo

from execution_engine.engines.column_types import with_fields
from execution_engine.engines.gathering import StatisticRequest
from execution_engine.metrics.definitions.schema import SeenColumns
from execution_engine.metrics.expressions import written
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Value, over_nothing

from .listing import Listing, Root, UnableToListFiles, kind_of, read_footer
from .stores import store_failure

READABLE = "Assay reads folders of parquet, ORC (.orc), CSV (.csv, .tsv) and JSON (.json, .jsonl) files"
NANOSECONDS = "bigint of nanoseconds"  # no type of Spark's; the reader turns it into a timestamp
MOST_FOOTERS = 200  # that are looked at for columns that differ, or opened where a log tells what else is asked
MERGED_AT_ONCE = 256
AT_ONCE = 16  # requests to a store

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
    """The newest file's columns, or a snapshot's, with Spark's types; those that Spark cannot read are left out."""
    if listing.snapshot:
        return {name: type_ for name, type_ in _read_types(listing.schema, frozenset()).items() if type_ != NANOSECONDS}
    try:
        int96 = _int96(listing.footer.schema)
        doubled = next((name for name, count in Counter(listing.schema.names).items() if count > 1), None)
        if doubled is not None:
            raise pa.ArrowInvalid(f"it has two columns called {doubled!r}")
        return dict(_read_types(listing.schema, int96))
    except (pa.ArrowException, OSError) as error:
        raise unreadable(listing.root, listing.newest, error) from error


def _int96(schema: pq.ParquetSchema) -> frozenset[str]:
    """The columns that an old writer stored so."""
    return frozenset(leaf.path for leaf in map(schema.column, range(len(schema))) if leaf.physical_type == "INT96")


@lru_cache(maxsize=64)  # many tables and windows are alike
def _read_types(schema: pa.Schema, int96: frozenset[str]) -> Mapping[str, str]:
    types_ = {field.name: spark_type_of(field.type, field.name in int96) for field in schema}
    return {name: type_ for name, type_ in types_.items() if type_ is not None}


def assertion_columns(stored: Mapping[str, str]) -> dict[str, str]:
    """The columns (name → stored type) as assertions write them, fields of structs as a.b → Spark's type."""
    return with_fields({name: "timestamp" if type_ == NANOSECONDS else type_ for name, type_ in stored.items()})


def unreadable(root: Root, file: FileInfo, error: Exception) -> UnableToListFiles:
    """What to raise where a file is no parquet file: what it seems to be, or that it is damaged."""
    url, kind = root.url(file.path), kind_of(file.base_name)
    if failure := store_failure(url, error):
        return UnableToListFiles(failure.detail, failure.reason)
    if kind not in (None, "parquet"):
        mend = f"its name says {kind}: write storage: {kind}"
    elif file.base_name.endswith((".parquet", ".parq")):
        mend = f"it is cut or damaged ({error}): write it again"
    else:
        mend = f"{READABLE}: name it as what it is, or write it as parquet ({error})"
    return UnableToListFiles(f"{url} is no readable parquet file; {mend}")


def spark_type_of(type_: pa.DataType, int96: bool = False) -> str | None:
    """Spark's type, or ``NANOSECONDS``; None for what Spark cannot read."""
    if types.is_dictionary(type_):
        return spark_type_of(type_.value_type)
    if types.is_timestamp(type_):
        if type_.unit == "ns" and not int96:
            return NANOSECONDS
        return "timestamp" if int96 or type_.tz is not None else "timestamp_ntz"
    if types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_list(type_) or types.is_large_list(type_):
        element = spark_type_of(type_.value_type)
        return None if element in (None, NANOSECONDS) else f"array<{element}>"
    if not types.is_map(type_) and not types.is_struct(type_):
        return _SIMPLE.get(type_)
    parts = [type_.key_type, type_.item_type] if types.is_map(type_) else [field.type for field in type_]
    inner = [spark_type_of(part) for part in parts]
    if None in inner or NANOSECONDS in inner:
        return None
    if types.is_map(type_):
        return f"map<{inner[0]},{inner[1]}>"
    fields = (f"`{field.name.replace('`', '``')}`:{kind}" for field, kind in zip(type_, inner, strict=True))
    return f"struct<{','.join(fields)}>"


# What the footers of parquet files tell of their columns, exactly, without reading data.

_EXACT_TYPES = {"NONE", "INT", "DECIMAL"}
_TOLD = {Gather.COUNT: "count", Gather.MIN: "least", Gather.MAX: "greatest"}


@dataclass(frozen=True, kw_only=True)
class FooterBounds:
    """Of one column over all files: how many are not null, and the least and the greatest where that is known."""

    count: int
    least: int | Decimal | None
    greatest: int | Decimal | None


@dataclass(frozen=True, kw_only=True)
class FooterStatistics:
    """The rows, and the columns of which every row group of every file tells.

    ``groups``: of each file, by its path, the rows of each of its row groups, where footers were read for all else.
    """

    rows: int
    columns: dict[str, FooterBounds]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def answer(self, statistic: Statistic) -> Value:
        """The statistic over all rows, or None where it must be read from the data."""
        if statistic == ROWS:
            return self.rows
        bounds = self.columns.get((statistic.column or "").lower())
        name = _TOLD.get(statistic.gather)
        return None if bounds is None or name is None else getattr(bounds, name)


def footer_values(
    footers: FooterStatistics | None, requests: Iterable[StatisticRequest]
) -> dict[StatisticRequest, Value]:
    """What the footers tell of the statistics asked; of no rows everything is known."""
    if footers is None:
        return {}
    if footers.rows == 0:
        return {request: over_nothing(request.statistic) for request in requests}
    answers = ((request, footers.answer(request.statistic)) for request in requests if request.where is None)
    return {request: value for request, value in answers if value is not None}


def is_full(footers: FooterStatistics | None, name: str) -> bool:
    """Whether the footers rule nulls out of a column."""
    bounds = footers.columns.get(name.lower()) if footers else None
    return bounds is not None and footers is not None and bounds.count == footers.rows


def columns_told(requests: Iterable[StatisticRequest]) -> frozenset[str]:
    """The columns, in lower case, of which the footers may tell what is asked."""
    plain = (request.statistic for request in requests if request.where is None)
    return frozenset(statistic.column.lower() for statistic in plain if statistic.column and statistic.gather in _TOLD)


def footer_statistics(listing: Listing, names: Collection[str] | None = None) -> FooterStatistics:
    """What the footers of the files tell.

    ``names``: of these columns alone, in lower case; None for all.
    """
    if listing.snapshot and (logged := logged_statistics(listing, names)):
        return logged
    places = _PlacesInFiles(frozenset() if listing.snapshot else names)
    read = partial(_rows_of_stripes, listing) if listing.is_orc else partial(_statistics_of_file, listing, places)
    if listing.root.is_local:
        return _merged_by_turns(map(read, listing.files))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return _merged_by_turns(pool.map(read, listing.files))


def _merged_by_turns(footers: Iterator[FooterStatistics]) -> FooterStatistics:
    """As ``merged_footers``, of which only so many are held at once: of wide files they are large."""
    turns = iter(lambda: list(islice(footers, MERGED_AT_ONCE)), [])
    return merged_footers([merged_footers(turn) for turn in turns])


class _PlacesInFiles:
    """Where files have these columns, most of them where the file before has them."""

    def __init__(self, names: Collection[str] | None) -> None:
        self._names = names
        self._last: tuple[Sequence[str], Mapping[str, int]] = (), {}

    def of(self, metadata: pq.FileMetaData) -> Mapping[str, int]:
        """The places by the names, as assertions write them, in lower case."""
        schema = metadata.schema
        paths = [schema.column(at).path for at in range(metadata.num_columns)]
        last = self._last
        if paths != last[0]:
            every = {written(path).lower(): at for at, path in enumerate(paths) if "." not in path}
            places = {name: at for name, at in every.items() if self._names is None or name in self._names}
            last = self._last = paths, places
        return last[1]


def _statistics_of_file(listing: Listing, places: _PlacesInFiles, file: FileInfo) -> FooterStatistics:
    try:
        metadata = read_footer(listing.root, file)
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        others = _columns_of_other_types(listing, file, metadata)
        columns = {
            name: bounds
            for name, at in places.of(metadata).items()
            if not others or metadata.schema.column(at).path.lower() not in others
            if (bounds := _bounds([(group.column(at), group.num_rows) for group in groups])) is not None
        }
    except (pa.ArrowException, OSError) as error:
        raise unreadable(listing.root, file, error) from error
    rows = tuple(group.num_rows for group in groups)
    living = metadata.num_rows - len(listing.deleted_in(file))
    return FooterStatistics(rows=living, columns=columns, groups={file.path: rows})


def _rows_of_stripes(listing: Listing, file: FileInfo) -> FooterStatistics:
    """The rows of an ORC file, and of each stripe its share, as how many it has is not told."""
    try:
        with listing.root.filesystem.open_input_file(file.path) as opened:
            stripes = orc.ORCFile(opened)
            rows, count = int(stripes.nrows), int(stripes.nstripes)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(listing.root, file, error) from error
    return FooterStatistics(rows=rows, columns={}, groups={file.path: (max(1, rows // max(1, count)),) * count})


def _columns_of_other_types(listing: Listing, file: FileInfo, metadata: pq.FileMetaData) -> set[str]:
    """The columns of a file, in lower case, that the catalog has in another type, or the same of all of its rows."""
    if listing.entry is None:
        return set()
    types_by_name = {field.name.lower(): field.type for field in listing.schema}
    own = [(field.name.lower(), field.type) for field in metadata.schema.to_arrow_schema()]
    counts = Counter(name for name, _ in own)
    others = {name for name, type_ in own if types_by_name.get(name) != type_ or counts[name] > 1}
    return others | {name.lower() for name in listing.entry.values[file.path]}


def group_rows(root: Root, file: FileInfo) -> tuple[int, ...]:
    """The rows of each row group of a parquet file; raises UnableToListFiles."""
    try:
        metadata = read_footer(root, file)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(root, file, error) from error
    return tuple(metadata.row_group(at).num_rows for at in range(metadata.num_row_groups))


def logged_statistics(listing: Listing, names: Collection[str] | None = None) -> FooterStatistics | None:
    """What a snapshot's log tells of its files, of which none is opened; None where it does not tell their rows."""
    assert listing.snapshot is not None
    merged = []
    lower = {name.lower(): written(name).lower() for name in listing.schema.names}
    if names is not None:
        lower = {name: written_name for name, written_name in lower.items() if written_name in names}
    for listed in listing.files:
        file, deleted = listing.snapshot.files[listed.path], len(listing.deleted_in(listed))
        if file.rows is None:
            return None
        columns = {
            lower[name]: FooterBounds(
                count=file.rows - nulls, least=file.least.get(name), greatest=file.greatest.get(name)
            )
            for name, nulls in file.nulls.items()
            if not deleted  # else there are fewer nulls, and perhaps no row has the bounds
            if name in lower
        }
        merged.append(FooterStatistics(rows=file.rows - deleted, columns=columns))
    return merged_footers(merged)


def merged_footers(footers: Sequence[FooterStatistics]) -> FooterStatistics:
    """Of several files together; of the columns that all of them tell of."""
    if len(footers) == 1:
        return footers[0]
    names = set.intersection(*(set(footer.columns) for footer in footers)) if footers else set()
    columns = {name: _merged([footer.columns[name] for footer in footers]) for name in names}
    groups = {path: rows for footer in footers for path, rows in footer.groups.items()}
    return FooterStatistics(rows=sum(footer.rows for footer in footers), columns=columns, groups=groups)


def _bounds(chunks: Iterable[tuple[Any, int]]) -> FooterBounds | None:
    """Of one column of one file; None where a row group has no statistics."""
    parts = []
    for chunk, rows in chunks:
        statistics = chunk.statistics
        if chunk.num_values != rows:
            raise pa.ArrowInvalid(f"its footer claims {chunk.num_values} values of a column in {rows} rows")
        if statistics is None or not statistics.has_null_count:
            return None
        if not 0 <= statistics.null_count <= rows:
            raise pa.ArrowInvalid(f"its footer claims {statistics.null_count} nulls in {rows} rows")
        low: int | Decimal | None = None
        high: int | Decimal | None = None
        kind = statistics.logical_type.type
        # not of floats, where a NaN would hide, nor of texts, which may be cut; others are not looked at, as pyarrow
        # imports all of pandas for an instant
        if kind in _EXACT_TYPES and statistics.has_min_max and isinstance(least := statistics.min, int | Decimal):
            is_unsigned = statistics.physical_type == "INT64" and kind == "INT"
            if is_unsigned and not loads(statistics.logical_type.to_json()).get("isSigned", True):
                low, high = Decimal(least), Decimal(statistics.max)  # of 64 bits: a decimal to Spark
            elif not isinstance(least, bool):
                low, high = least, statistics.max
        parts.append(FooterBounds(count=chunk.num_values - statistics.null_count, least=low, greatest=high))
    return _merged(parts)


def _merged(parts: Sequence[FooterBounds]) -> FooterBounds:
    if len(parts) == 1 and parts[0].count:
        return parts[0]
    filled = [part for part in parts if part.count]
    lows, highs = [part.least for part in filled], [part.greatest for part in filled]
    has_bounds = bool(filled) and None not in lows and None not in highs
    return FooterBounds(
        count=sum(part.count for part in parts),
        least=min(low for low in lows if low is not None) if has_bounds else None,
        greatest=max(high for high in highs if high is not None) if has_bounds else None,
    )


# The columns of each file of a part, from what files tell of themselves: no data is read, and no Spark is asked.

TELLING = ("parquet", "orc")  # files that name the types of their columns
_UNSIGNED = {pa.uint8(): "tinyint", pa.uint16(): "smallint", pa.uint32(): "int", pa.uint64(): "bigint"}


def columns_of_files(listing: Listing, storage: str) -> tuple[SeenColumns, ...]:
    """The columns of every file, the newest first, of at most ``MOST_FOOTERS`` files; UnableToListFiles.

    Where files hold several partitions, it is the newest alone: nothing says in which file a partition's rows are.
    """
    if listing.snapshot:
        columns = {field.name: _named(field.type) for field in listing.schema}
        return (SeenColumns(place=listing.snapshot.label, columns=columns),)
    newest = sorted(listing.files, key=lambda file: file.mtime_ns, reverse=True)
    seen = []
    for file in newest[: 1 if listing.filtered else MOST_FOOTERS]:
        try:
            if storage == "orc":
                with listing.root.filesystem.open_input_file(file.path) as opened:
                    columns = {field.name: _named(field.type) for field in orc.ORCFile(opened).schema}
            else:
                schema = read_footer(listing.root, file).schema
                int96, fields = _int96(schema), schema.to_arrow_schema()
                columns = {field.name: _named(field.type, field.name in int96) for field in fields}
        except (pa.ArrowException, OSError) as error:
            raise unreadable(listing.root, file, error) from error
        seen.append(_seen(listing.root, file, columns))
    return tuple(seen)


def columns_by_name(listing: Listing, names: Mapping[str, str]) -> tuple[SeenColumns, ...]:
    """The columns of files that tell names alone, as they were found in the newest."""
    return (_seen(listing.root, listing.newest, dict.fromkeys(names)),)


def _seen(root: Root, file: FileInfo, columns: Mapping[str, str | None]) -> SeenColumns:
    """With the columns in the names of its folders, which have no types."""
    place = file.path[len(root.path) :].lstrip("/") or file.base_name
    folders = [unquote(name.split("=", 1)[0]) for name in place.split("/")[:-1] if "=" in name]
    return SeenColumns(place=place, columns={**columns, **dict.fromkeys(folders)})


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
