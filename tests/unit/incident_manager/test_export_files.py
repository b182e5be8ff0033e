"""Files of rows, read back by readers that know nothing of us."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incident_manager import exports
from incident_manager.exports import INSTANT, RISKY, csv_parts, parquet_parts

COLUMNS = pa.schema(
    {"id": pa.int64(), "name": pa.string(), "value": pa.float64(), "is_open": pa.bool_(), "at": INSTANT}
)
INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
ROWS = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | TEXTS,
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none() | INSTANTS,
)


def read_csv(parts: Iterator[bytes]) -> list[dict[str, str]]:
    """The rows as Python's own reader has them."""
    return list(csv.DictReader(io.StringIO(b"".join(parts).decode(), newline="")))


@given(st.lists(st.lists(ROWS, max_size=4), max_size=4))
def test_parquet_gives_back_every_row_with_its_type(batches: list[list[tuple[Any, ...]]]) -> None:
    table = pq.read_table(io.BytesIO(b"".join(parquet_parts(COLUMNS, batches))))
    assert [str(kind) for kind in table.schema.types] == ["int64", "string", "double", "bool", "timestamp[us, tz=UTC]"]
    assert [tuple(row.values()) for row in table.to_pylist()] == [row for batch in batches for row in batch]


@given(st.lists(st.lists(ROWS, max_size=4), max_size=4))
def test_csv_gives_back_every_row(batches: list[list[tuple[Any, ...]]]) -> None:
    found = read_csv(csv_parts(COLUMNS, batches))
    rows = [row for batch in batches for row in batch]
    assert len(found) == len(rows)
    for got, (whole, text, number, flag, at) in zip(found, rows, strict=True):
        guarded = f"'{text}" if text and text.startswith(RISKY) else text or ""
        assert (got["id"], got["name"], got["is_open"]) == (str(whole), guarded, str(flag).lower())
        assert (float(got["value"]) if got["value"] else None) == number
        assert (datetime.fromisoformat(got["at"]) if got["at"] else None) == at


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "\n=1", "=1"])
def test_no_cell_of_text_begins_like_a_formula(text: str) -> None:
    (row,) = read_csv(csv_parts(COLUMNS, [[(1, text, -1.5, True, None)]]))
    assert row["name"] == f"'{text}"
    assert row["value"] == "-1.5"


def test_instants_are_written_in_utc() -> None:
    at = datetime(2026, 3, 9, 2, 30, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    (row,) = read_csv(csv_parts(COLUMNS, [[(1, None, None, False, at)]]))
    assert row["at"] == "2026-03-09T00:30:00.000005Z"


def test_a_file_without_rows_still_names_its_columns() -> None:
    assert b"".join(csv_parts(COLUMNS, [])) == b"id,name,value,is_open,at\r\n"
    assert pq.read_table(io.BytesIO(b"".join(parquet_parts(COLUMNS, [])))).column_names == COLUMNS.names


def test_parts_are_given_before_the_next_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "ROWS_OF_A_GROUP", 10)
    read: list[int] = []

    def batches() -> Iterator[list[tuple[Any, ...]]]:
        for n in range(50):
            read.append(n)
            yield [(n, "x" * 100, 1.0, True, None)] * 10

    for write in (csv_parts, parquet_parts):
        read.clear()
        parts = write(COLUMNS, batches())
        next(parts)
        assert len(read) <= 2
        assert len(list(parts)) > 10
        assert len(read) == 50


def test_pandas_reads_both_alike() -> None:
    rows = [(n, f"é {n}", n / 7, n % 2 == 0, datetime(2026, 3, n + 1, tzinfo=UTC)) for n in range(9)]
    of_csv = pd.read_csv(
        io.BytesIO(b"".join(csv_parts(COLUMNS, [rows]))), parse_dates=["at"], float_precision="round_trip"
    )
    of_parquet = pd.read_parquet(io.BytesIO(b"".join(parquet_parts(COLUMNS, [rows]))))
    pd.testing.assert_frame_equal(of_csv, of_parquet, check_dtype=False, check_exact=True)
