"""What the footers of parquet files tell of their columns, exactly, without reading data."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from json import loads
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo

from execution_engine.engines.gathering.selects import AskedStatistic
from execution_engine.metrics.columns import written
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Value, over_nothing

from .footers import MOST_FOOTERS, unreadable
from .listing import Listing, read_footer

_EXACT_TYPES = {"NONE", "INT", "DECIMAL"}
_TOLD = {Gather.COUNT, Gather.MIN, Gather.MAX}


@dataclass(frozen=True, kw_only=True)
class FooterBounds:
    """Of one column over all files: how many are not null, and the least and the greatest where that is known."""

    count: int
    least: int | Decimal | None
    greatest: int | Decimal | None


@dataclass(frozen=True, kw_only=True)
class FooterStatistics:
    """The rows, and the columns of which every row group of every file tells.

    ``groups``: of each file, by its path, the rows of each of its row groups.
    """

    rows: int
    columns: dict[str, FooterBounds]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def answer(self, statistic: Statistic) -> Value:
        """The statistic over all rows, or None where it must be read from the data."""
        if statistic == ROWS:
            return self.rows
        bounds = self.columns.get((statistic.column or "").lower())
        if bounds is None:
            return None
        match statistic.gather:
            case Gather.COUNT:
                return bounds.count
            case Gather.MIN:
                return bounds.least
            case Gather.MAX:
                return bounds.greatest
        return None


def told(footers: FooterStatistics | None, asked: Iterable[AskedStatistic]) -> dict[AskedStatistic, Value]:
    """What the footers tell of the statistics asked; of no rows everything is known."""
    if footers is None:
        return {}
    if footers.rows == 0:
        return {one: over_nothing(one.statistic) for one in asked}
    answers = ((one, footers.answer(one.statistic)) for one in asked if one.where is None)
    return {one: value for one, value in answers if value is not None}


def is_full(footers: FooterStatistics | None, name: str) -> bool:
    """Whether the footers rule nulls out of a column."""
    bounds = footers.columns.get(name.lower()) if footers else None
    return bounds is not None and footers is not None and bounds.count == footers.rows


def columns_told(asked: Iterable[AskedStatistic]) -> frozenset[str]:
    """The columns, in lower case, of which the footers may tell what is asked."""
    plain = (one.statistic for one in asked if one.where is None)
    return frozenset(each.column.lower() for each in plain if each.column and each.gather in _TOLD)


def footer_statistics(listing: Listing, names: Collection[str] | None = None) -> FooterStatistics | None:
    """What the footers of the files tell; None where asking Spark is quicker than reading so many.

    ``names``: of these columns alone, in lower case; None for all.
    """
    if len(listing.files) > MOST_FOOTERS:
        return None
    newest = listing.newest if listing.files else None
    return merged_footers([_of_file(listing, file, file is newest, names) for file in listing.files])


def merged_footers(told: Sequence[FooterStatistics]) -> FooterStatistics:
    """Of several files together; of the columns that all of them tell of."""
    if len(told) == 1:
        return told[0]
    names = set.intersection(*(set(one.columns) for one in told)) if told else set()
    columns = {name: _merged([one.columns[name] for one in told]) for name in names}
    groups = {path: rows for one in told for path, rows in one.groups.items()}
    return FooterStatistics(rows=sum(one.rows for one in told), columns=columns, groups=groups)


def _of_file(listing: Listing, file: FileInfo, is_newest: bool, names: Collection[str] | None) -> FooterStatistics:
    try:
        metadata = listing.footer if is_newest else _read(listing, file)
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        paths = (metadata.schema.column(at).path for at in range(metadata.num_columns))
        places = [(at, written(path).lower()) for at, path in enumerate(paths) if "." not in path]
        found = {
            name: bounds
            for at, name in places
            if (names is None or name in names)
            and (bounds := _bounds([(group.column(at), group.num_rows) for group in groups])) is not None
        }
    except (pa.ArrowException, OSError) as error:
        raise unreadable(listing.root, file, error) from error
    rows = tuple(group.num_rows for group in groups)
    return FooterStatistics(rows=metadata.num_rows, columns=found, groups={file.path: rows})


def _read(listing: Listing, file: FileInfo) -> pq.FileMetaData:
    return read_footer(listing.root.filesystem, file)


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
        low, high = _exact(statistics)
        parts.append(FooterBounds(count=chunk.num_values - statistics.null_count, least=low, greatest=high))
    return _merged(parts)


def _exact(statistics: Any) -> tuple[Any, Any]:
    """Whole numbers and decimals; not floats, where a NaN would hide, nor texts, which may be cut.

    Others are not looked at, as pyarrow imports all of pandas for an instant.
    """
    kind = statistics.logical_type.type
    if kind not in _EXACT_TYPES:
        return None, None
    if not statistics.has_min_max or not isinstance(statistics.min, int | Decimal) or isinstance(statistics.min, bool):
        return None, None
    has_sign_told = statistics.physical_type == "INT64" and kind == "INT"
    if has_sign_told and not loads(statistics.logical_type.to_json()).get("isSigned", True):
        return Decimal(statistics.min), Decimal(statistics.max)  # of 64 bits, which are a decimal to Spark
    return statistics.min, statistics.max


def _merged(parts: Sequence[FooterBounds]) -> FooterBounds:
    if len(parts) == 1 and parts[0].count:
        return parts[0]
    filled = [part for part in parts if part.count]
    lows, highs = [part.least for part in filled], [part.greatest for part in filled]
    known = bool(filled) and None not in lows and None not in highs
    return FooterBounds(
        count=sum(part.count for part in parts),
        least=min(low for low in lows if low is not None) if known else None,
        greatest=max(high for high in highs if high is not None) if known else None,
    )
