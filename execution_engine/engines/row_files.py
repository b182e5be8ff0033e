"""Bad rows as they are written: their own columns, sensitive ones hashed, what they break, and where they come from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2s
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.metrics.expressions import is_hidden, path_of
from execution_engine.outcome import Failure, Reason

from .protocol import BROKEN, ROWS_FILE, RowsRequest, WrittenRows, none_written

ROW_KEY, FINGERPRINT = "assay_key", "assay_fingerprint"
HASH_BYTES = 16
GROUP_BYTES = 64 * 1024 * 1024  # of rows that wait for their row group to be written
Flags = npt.NDArray[np.bool_]


def refuse_columns(table: str, names: Sequence[str], request: RowsRequest) -> WrittenRows | None:
    """A failure of all metrics where a column of the table has a name that bad rows get; else None."""
    ours = {BROKEN, *((ROW_KEY, FINGERPRINT, *request.constants) if request.constants else ())}
    name = next((name for name in names if name.lower() in ours), None)
    if name is None:
        return None
    detail = f"{table} has a column {name} already, which bad rows get from Assay: rename it"
    return none_written(request.specs, Failure(reason=Reason.INVALID, detail=detail))


def bad_rows(rows: pa.Table, broken: pa.Array, request: RowsRequest, fingerprint: str | None = None) -> pa.Table:
    """The rows with what they break and where they come from; what is hidden is hashed, or left out without a key.

    Where there are constants, ``fingerprint`` is the column of the data that was read.
    """
    columns: dict[str, Any] = {}
    for name in rows.column_names:
        if not is_hidden(name, request.hidden):
            columns[name] = rows[name]
        elif request.hash_key is not None:
            columns[name] = pa.array([hash_value(value, request.hash_key) for value in rows[name].to_pylist()])
            columns[name] = columns[name].cast(pa.string())
    columns[BROKEN] = broken
    columns |= {name: pa.repeat(pa.scalar(text, pa.string()), len(rows)) for name, text in request.constants.items()}
    if request.constants:
        columns[FINGERPRINT] = pa.repeat(pa.scalar(fingerprint, pa.string()), len(rows))
        columns[ROW_KEY] = _keys(columns, request.row_key, len(rows))
    return pa.table(columns)


def hash_value(value: object, key: bytes) -> str | None:
    """A text that is the same for equal values, and tells nothing else without the key; None of null."""
    return None if value is None else blake2s(str(value).encode(), key=key, digest_size=HASH_BYTES).hexdigest()


def _keys(columns: dict[str, Any], names: Sequence[str], rows: int) -> pa.Array:
    """The values of the key, apart by commas; null where there is no key among the columns."""
    lowered = {name.lower(): column for name, column in columns.items()}
    paths = [path_of(name) for name in names]
    if not paths or any(len(path) > 1 or path[0].lower() not in lowered for path in paths):
        return pa.nulls(rows, pa.string())
    values = zip(*(lowered[path[0].lower()].to_pylist() for path in paths), strict=True)
    return pa.array(
        [", ".join("null" if value is None else str(value) for value in row) for row in values], pa.string()
    )


def broken_texts(flags: Sequence[Flags], texts: Sequence[str]) -> pa.Array:
    """For each row the texts whose flag is set."""
    if not flags:
        return pa.array([], pa.list_(pa.string()))
    matrix = np.stack(flags, axis=1)
    offsets = np.concatenate([[0], matrix.sum(axis=1).cumsum()]).astype(np.int32)
    values = pa.array(texts, pa.string()).take(pa.array(np.nonzero(matrix)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), values)


@dataclass
class RowsFile:
    """The one file of a folder, which gets rows as they come: none at all is a file without rows."""

    folder: str
    rows: int = 0
    _writer: pq.ParquetWriter | None = None
    _waiting: list[pa.Table] = field(default_factory=list)
    _bytes: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            if self._writer is not None:
                self._writer.close()

    def add(self, rows: pa.Table) -> None:
        """Add rows; those of the first call say the columns."""
        if self._waiting and not rows.num_rows:
            return
        self._waiting.append(rows)
        self.rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._bytes > GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting)
        if self._writer is None:
            self._writer = pq.ParquetWriter(Path(self.folder) / ROWS_FILE, table.schema)
        self._writer.write_table(table)
        self._waiting, self._bytes = [], 0
