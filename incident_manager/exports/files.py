"""Rows as CSV or Parquet, in parts that can be sent while the next rows are read (pure)."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Batch = Sequence[tuple[Any, ...]]
ROWS_OF_A_GROUP = 50_000  # of Parquet, held in memory until they are written
# what a spreadsheet may take for a formula at the beginning of a cell, by OWASP, with the wide forms of the same
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class CellKind(StrEnum):
    """What the cells of a column hold."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "flag"
    INSTANT = "instant"


@dataclass(frozen=True, kw_only=True)
class ExportColumn:
    """One column."""

    name: str
    kind: CellKind = CellKind.TEXT


ARROW: Mapping[CellKind, pa.DataType] = MappingProxyType(
    {
        CellKind.TEXT: pa.string(),
        CellKind.WHOLE: pa.int64(),
        CellKind.NUMBER: pa.float64(),
        CellKind.FLAG: pa.bool_(),
        CellKind.INSTANT: pa.timestamp("us", tz="UTC"),
    }
)


def csv_parts(columns: Sequence[ExportColumn], batches: Iterable[Batch]) -> Iterator[bytes]:
    """RFC 4180, in UTF-8 with a line of names; instants in UTC, null is an empty cell.

    A text that a spreadsheet might run as a formula begins with an apostrophe, which spreadsheets do not show. Numbers
    are written as they are: a number with a sign is no formula.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([column.name for column in columns])
    kinds = [column.kind for column in columns]
    for batch in batches:
        writer.writerows([_cell(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.tell():
        yield text.getvalue().encode()


def _cell(kind: CellKind, value: Any) -> Any:
    if value is None:
        return ""
    if kind is CellKind.INSTANT:
        return _utc(value)
    if kind is CellKind.FLAG:
        return "true" if value else "false"
    if kind is CellKind.TEXT:
        return f"'{value}" if str(value).startswith(RISKY) else value
    return value


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parquet_parts(columns: Sequence[ExportColumn], batches: Iterable[Batch]) -> Iterator[bytes]:
    """Parquet with a type for each column; at most one group of rows is held at a time."""
    schema = pa.schema([pa.field(column.name, ARROW[column.kind]) for column in columns])
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        held: list[tuple[Any, ...]] = []
        for batch in batches:
            held.extend(batch)
            if len(held) >= ROWS_OF_A_GROUP:
                writer.write_table(_table(schema, held))
                held = []
                yield from sink.taken()
        if held:
            writer.write_table(_table(schema, held))
    yield from sink.taken()


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    cells = zip(*rows, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)], schema=schema)


class _Sink(io.RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Keep it until it is taken."""
        self.parts.append(bytes(data))
        return len(self.parts[-1])

    def taken(self) -> Iterator[bytes]:
        """What was written since the last time."""
        parts, self.parts = self.parts, []
        yield from parts


@dataclass(frozen=True, kw_only=True)
class FileForm:
    """A kind of file."""

    media_type: str
    parts: Callable[[Sequence[ExportColumn], Iterable[Batch]], Iterator[bytes]]


FORMS: Mapping[str, FileForm] = MappingProxyType(
    {
        "csv": FileForm(media_type="text/csv", parts=csv_parts),
        "parquet": FileForm(media_type="application/vnd.apache.parquet", parts=parquet_parts),
    }
)
