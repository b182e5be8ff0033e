"""What tasks are sent to gather keys, what they send back, and why some of it is Spark's to read."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native.key_tasks import Among, Distinct, Filled, Lowest, Named, Take
from execution_engine.engines.native.measure import key_program, parts_of
from execution_engine.engines.native.reading import Piece, Stored
from execution_engine.engines.native.task import Program, TaskResult, from_bytes, glean, load_results, loads_to_bytes
from execution_engine.read_by import FallbackKind, Left
from tests.integration.kernels.by_kernels import pieces_in
from tests.unit.execution_engine.engines.key_hash import key_hash, rank

PLAIN = {
    "a": Stored(spark="bigint", arrow=pa.int64()),
    "b": Stored(spark="string", arrow=pa.string()),
    "raw": Stored(spark="binary", arrow=pa.binary()),
    "order id": Stored(spark="bigint", arrow=pa.int64()),
}
TAKES: Sequence[Take] = (
    Distinct(),
    Distinct(buckets=(0, 7)),
    Filled(slices=7, bits_per_slice=64),
    Lowest(size=3),
    Among(hashes=(1, 2)),
    Named(hashes=(key_hash(["1"]), 2**64 - 1)),
)


def program_of(take: Take, *columns: str, where: str | None = None) -> Program:
    program = key_program(columns, where, take, PLAIN)
    assert isinstance(program, Program)
    return program


def sent_back(**given: Any) -> TaskResult:
    return TaskResult(**given, groups=[], bins=[])


@pytest.mark.parametrize("take", TAKES, ids=repr)
def test_a_program_reads_the_columns_of_its_keys_and_of_its_condition(take: Take) -> None:
    assert set(program_of(take, "A", where="`order id` > 1").columns) == {"a", "order id"}
    assert set(program_of(take, "`Order ID`", "b").columns) == {"b", "order id"}


@pytest.mark.parametrize(
    ("columns", "where", "take", "kind", "why"),
    [
        (("a", "s.x"), None, Distinct(), FallbackKind.COLUMN, "s.x is no plain column of the files"),
        (("a",), "a + 1 > 2", Distinct(), FallbackKind.UNKNOWN, "Add is Spark's to answer"),
        (("c",), None, Distinct(), FallbackKind.COLUMN, "c is no plain column of the files"),
        (("a",), "C > 1", Lowest(size=1), FallbackKind.COLUMN, "c is no plain column of the files"),
        (("a",), "b > 1", Filled(slices=1, bits_per_slice=8), FallbackKind.COLUMN, "text is not compared with exact"),
        (("raw",), None, Lowest(size=1), FallbackKind.COLUMN, "bytes is written as a text by Spark"),
    ],
)
def test_what_no_kernel_reads_is_left_to_spark_before_a_task_is_sent(
    columns: tuple[str, ...], where: str | None, take: Take, kind: FallbackKind, why: str
) -> None:
    assert key_program(columns, where, take, PLAIN) == Left(kind=kind, why=why)


def files(folder: Path, *parts: dict[str, Any]) -> list[Piece]:
    for at, columns in enumerate(parts):
        pq.write_table(pa.table(columns), folder / f"{at}.parquet")
    return pieces_in(folder)[1]


def hashes_in(found: tuple[bytes, int]) -> set[int]:
    return set(np.frombuffer(found[0], np.uint64).tolist())


def test_a_task_gathers_the_keys_of_all_its_files(tmp_path: Path) -> None:
    pieces = files(tmp_path, {"a": [1, 2, None], "B": ["x", "y", "z"]}, {"a": [2, 3], "b": ["y", None]})
    told = glean(program_of(Distinct(), "b", "a", where="a < 3"), pieces)
    assert (told.unable, told.failed, told.taken[1]) == ({}, "", 3)
    assert hashes_in(told.taken) == {key_hash(key) for key in (("x", "1"), ("y", "2"))}
    lowest = glean(program_of(Lowest(size=2), "a"), pieces).taken
    ranks = {text: rank(text) for text in ("1:1", "1:2", "1:3", "-")}
    assert lowest == {text.encode(): ranks[text] for text in sorted(ranks, key=lambda text: ranks[text])[:2]}


def test_tasks_know_the_classes_where_no_module_has_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = files(tmp_path, {"a": [1, 2]}, {"a": [3]})
    loads = [[(at, [piece])] for at, piece in enumerate(pieces)]
    every = [loads_to_bytes(program_of(take, "a", where="a > 0"), loads) for take in TAKES]
    expected = [[glean(program_of(take, "a", where="a > 0"), [piece]) for piece in pieces] for take in TAKES]
    for name in [name for name in sys.modules if name.startswith("execution_engine.")]:
        monkeypatch.setitem(sys.modules, name, None)
    told = [[list(load_results(sent, at)) for at in range(2)] for sent in every]
    monkeypatch.undo()
    assert [[[(at, from_bytes(blob)) for at, blob in some] for some in each] for each in told] == [
        [[(at, replace(told, groups=[], bins=[]))] for at, told in enumerate(each)] for each in expected
    ]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([0.5]), "doubles that are no whole numbers are written by Spark"),
        (pa.array([3_000_000], pa.date32()), "years before 1 or after 9999 are written by Spark"),
    ],
    ids=["doubles", "dates"],
)
def test_rows_that_are_sparks_to_read_are_told_with_the_reason(tmp_path: Path, column: pa.Array, why: str) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "0.parquet")
    columns, pieces = pieces_in(tmp_path)
    program = key_program(("a",), None, Distinct(), columns)
    assert isinstance(program, Program)
    sent = loads_to_bytes(program, [[(0, [])], [(0, pieces)]])
    (nothing,), (left,) = ([from_bytes(blob) for _, blob in load_results(sent, at)] for at in range(2))
    assert (nothing, left) == (sent_back(taken=(b"", 0)), sent_back(unable={0: why}))
    assert parts_of([nothing, left]) == Left(kind=FallbackKind.ROWS, why=why)


def test_files_that_are_not_what_was_listed_fail_the_task_with_the_reason(tmp_path: Path) -> None:
    (piece,) = files(tmp_path, {"a": ["x"]})
    for given, why in (
        (piece, "a has several types, or one of an old writer"),
        (replace(piece, size=1), "a file was replaced while it was read"),
        (replace(piece, path="/nowhere"), "a file cannot be read"),
    ):
        ((_, blob),) = load_results(loads_to_bytes(program_of(Distinct(), "a"), [[(0, [given])]]), 0)
        told = from_bytes(blob)
        assert told == sent_back(failed=why)
        assert parts_of([TaskResult(taken=(b"", 0)), told]) == Left(kind=FallbackKind.FAILED, why=why)


def test_a_task_that_failed_outweighs_one_that_left_its_rows_to_spark() -> None:
    unable, failed = TaskResult(unable={0: "of its rows"}), TaskResult(failed="of its file")
    assert parts_of([unable, failed]) == Left(kind=FallbackKind.FAILED, why="of its file")
    assert parts_of([TaskResult(taken=1), TaskResult(taken=2)]) == [1, 2]
    assert parts_of([]) == []
