"""Files of ORC are read stripe by stripe, as they were listed, and what Spark may read otherwise is refused."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from execution_engine.engines.native.language import ColumnNode, UnableToTell
from execution_engine.engines.native.reading import Piece, Stored, UnableToReadPiece, batches

BIGINT = Stored(spark="bigint", arrow=pa.int64())


def written(folder: Path, **columns: Any) -> Piece:
    path = folder / "a.orc"
    orc.write_table(pa.table(columns), path, stripe_size=1)
    stat, stripes = path.stat(), orc.ORCFile(path).nstripes
    return Piece(
        path=str(path), groups=tuple(range(stripes)), size=stat.st_size, mtime_ns=stat.st_mtime_ns, is_orc=True
    )


def read(piece: Piece, **types: str) -> list[Sequence[Any]]:
    """The values of the column ``a``, batch by batch."""
    arrow = {"bigint": pa.int64(), "string": pa.string(), "date": pa.date32()}
    columns = {name: Stored(spark=spark, arrow=arrow[spark]) for name, spark in types.items()}
    return [batch.values(ColumnNode(name="a")).array.to_pylist() for batch in batches(piece, columns)]


def test_its_rows_come_in_their_order_and_a_column_that_it_lacks_is_null(tmp_path: Path) -> None:
    numbers = list(range(5_000))
    piece = written(tmp_path, A=numbers, b=["x"] * 5_000)
    assert len(piece.groups) > 1
    assert [number for batch in read(piece, a="bigint") for number in batch] == numbers
    last = read(replace(piece, groups=piece.groups[-1:]), a="bigint")
    assert last[-1][-1] == 4_999
    assert sum(map(len, read(replace(piece, folders={"a": "1"}), a="bigint"))) == 5_000
    assert {value for batch in read(written(tmp_path, b=numbers), a="bigint") for value in batch} == {None}


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"a": ["x"]}, "a has several types"),
        ({"a": [1], "A": [2]}, "a is written in several ways"),
        ({"_col0": [1], "_col1": [2]}, "a file has no names of its columns"),
    ],
)
def test_a_file_that_has_a_column_otherwise_is_left_to_spark(columns: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(UnableToTell, match=f"^{why}$"):
        read(written(tmp_path, **columns), a="bigint")


def test_days_before_the_calendar_of_now_are_left_to_spark(tmp_path: Path) -> None:
    first = date(1582, 10, 15)
    assert read(written(tmp_path, a=[first, None]), a="date") == [[first, None]]
    with pytest.raises(UnableToTell, match=r"^a has days of an old calendar$"):
        read(written(tmp_path, a=[date(1582, 10, 14)]), a="date")


def test_a_file_that_was_replaced_or_is_no_orc_fails_the_task(tmp_path: Path) -> None:
    piece = written(tmp_path, a=[1])
    with pytest.raises(UnableToReadPiece, match=r"^a file was replaced while it was read$"):
        read(replace(piece, mtime_ns=piece.mtime_ns - 1), a="bigint")
    Path(piece.path).write_bytes(b"no ORC at all")
    stat = Path(piece.path).stat()
    with pytest.raises(UnableToReadPiece, match=r"^a file cannot be read$"):
        read(replace(piece, size=stat.st_size, mtime_ns=stat.st_mtime_ns), a="bigint")
