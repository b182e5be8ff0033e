"""Row groups are cut into tasks of about as many rows, and files are read as they were listed or not at all."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.files.listing import list_part
from execution_engine.engines.files.snapshot import ColumnNames
from execution_engine.engines.gathering import GroupsRequest, Keyed, StatisticRequest
from execution_engine.engines.native import measure, reading
from execution_engine.engines.native.grouped import Binned
from execution_engine.engines.native.hashing import hashes
from execution_engine.engines.native.language import ColumnNode, UnableToTell, compiled
from execution_engine.engines.native.local_scan import stored_columns
from execution_engine.engines.native.measure import TASK_ROWS, tasks
from execution_engine.engines.native.reading import INSTANT, Piece, Stored, UnableToReadPiece, batches, batches_of
from execution_engine.engines.native.task import Program, from_bytes, glean, load_results, loads_to_bytes
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.statistics import Gather, Statistic
from tests.integration.kernels.by_kernels import pieces_in

BIGINT = Stored(spark="bigint", arrow=pa.int64())
GROUPS = st.lists(st.lists(st.integers(1, 2 * TASK_ROWS), max_size=6), max_size=6)


def listed(groups: Sequence[Sequence[int]]) -> list[tuple[Piece, Sequence[int]]]:
    return [
        (Piece(path=str(at), groups=tuple(range(len(counts))), size=at, mtime_ns=at), counts)
        for at, counts in enumerate(groups)
    ]


@given(GROUPS, st.none() | st.integers(1, 5))
def test_every_row_group_is_of_one_task_in_the_order_of_the_files(groups: list[list[int]], most: int | None) -> None:
    rows = sum(map(sum, groups))
    cut = tasks(listed(groups), rows, most)
    held = [(piece.path, group) for task in cut for piece in task for group in piece.groups]
    assert held == [(str(at), group) for at, counts in enumerate(groups) for group in range(len(counts))]
    assert len(cut) <= min(-(-rows // TASK_ROWS), most or rows)
    assert all(task and all(piece.groups for piece in task) for task in cut)
    assert all((piece.size, piece.mtime_ns) == (int(piece.path),) * 2 for task in cut for piece in task)


@given(GROUPS)
def test_no_task_has_more_rows_than_its_share_and_one_row_group(groups: list[list[int]]) -> None:
    rows, largest = sum(map(sum, groups)), max((count for some in groups for count in some), default=0)
    for task in tasks(listed(groups), rows):
        held = sum(groups[int(piece.path)][group] for piece in task for group in piece.groups)
        assert held <= rows / -(-rows // TASK_ROWS) + largest


def test_what_fits_one_task_is_one_and_twice_as_much_is_two() -> None:
    assert len(tasks(listed([[TASK_ROWS // 2, TASK_ROWS // 2]]), TASK_ROWS)) == 1
    assert len(tasks(listed([[TASK_ROWS, TASK_ROWS]]), 2 * TASK_ROWS)) == 2
    assert len(tasks(listed([[TASK_ROWS, TASK_ROWS]]), 2 * TASK_ROWS, 1)) == 1
    assert measure.TASK_ROWS == 250_000


def written(folder: Path, **columns: Any) -> Piece:
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return pieces_in(folder)[1][0]


def read(piece: Piece, **types: pa.DataType) -> list[list[Any]]:
    """The values of the column ``a``, batch by batch."""
    spark = {pa.int64(): "bigint", pa.int32(): "int", pa.string(): "string"}
    columns = {name: Stored(spark=spark[type_], arrow=type_) for name, type_ in types.items()}
    return [batch.values(ColumnNode(name="a")).array.to_pylist() for batch in batches(piece, columns)]


def test_a_column_is_read_whatever_the_case_of_its_name_and_is_null_where_a_file_lacks_it(tmp_path: Path) -> None:
    assert read(written(tmp_path, A=[1, None]), a=pa.int64()) == [[1, None]]
    assert read(written(tmp_path, b=[1, 2]), a=pa.int64(), b=pa.int64()) == [[None, None]]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"a": [1], "A": [2]}, "A is written in several ways"),
        ({"a": ["x"]}, "a has several types, or one of an old writer"),
        ({"A": pa.array([1], pa.int32())}, "A has several types, or one of an old writer"),
    ],
)
def test_a_column_of_two_names_or_of_another_type_is_left_to_spark(
    columns: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(UnableToTell, match=f"^{why}$"):
        read(written(tmp_path, **columns), a=pa.int64())


def test_texts_that_a_file_lacks_are_nulls_to_conditions_and_keys(tmp_path: Path) -> None:
    (batch,) = batches(written(tmp_path, b=[1, 2]), {"a": Stored(spark="string", arrow=pa.string())})
    assert batch.met(compiled("a is null")).yes.tolist() == [True, True]
    for sql in ("a = 'x'", "a like 'x%'", "char_length(a) > 1"):
        found = batch.met(compiled(sql))
        assert (found.yes.tolist(), found.no.tolist()) == ([False, False], [False, False])
    assert hashes([batch.values(ColumnNode(name="a"))]).tolist() == [42, 42]  # the seed


def test_a_column_that_nobody_asked_for_is_not_read_even_where_it_is_damaged(tmp_path: Path) -> None:
    table = pa.table({"b": list(range(1000)), "a": [1] * 1000})
    pq.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    path = tmp_path / "a.parquet"
    at, content = pq.read_metadata(path).row_group(0).column(0).data_page_offset, bytearray(path.read_bytes())
    content[at : at + 50] = b"\xff" * 50
    path.write_bytes(content)
    (piece,) = pieces_in(tmp_path)[1]
    assert read(piece, a=pa.int64()) == [[1] * 1000]
    with pytest.raises(UnableToReadPiece, match=r"^a file cannot be read$"):
        read(piece, a=pa.int64(), b=pa.int64())


def test_a_column_that_the_newest_file_lacks_is_left_to_spark(tmp_path: Path) -> None:
    (batch,) = batches(written(tmp_path, a=[1], b=[2]), {"a": BIGINT})
    with pytest.raises(UnableToTell, match=r"^b is no plain column of the files$"):
        batch.values(ColumnNode(name="b"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"size": 1}, "a file was replaced while it was read"),
        ({"mtime_ns": 1}, "a file was replaced while it was read"),
        ({"path": "/nowhere"}, "a file cannot be read"),
    ],
)
def test_a_file_that_is_not_what_was_listed_fails_the_task(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    piece = replace(written(tmp_path, a=[1]), **change)
    with pytest.raises(UnableToReadPiece, match=f"^{why}$"):
        read(piece, a=pa.int64())
    assert glean(Program(statistics=(), counted=(), columns={"a": BIGINT}), [piece]).failed == why


def test_a_file_that_is_replaced_while_it_is_read_fails_the_task(tmp_path: Path) -> None:
    piece = written(tmp_path, a=[1, 2])
    reading_ = batches(piece, {"a": BIGINT})
    assert next(reading_).rows == 2
    written(tmp_path, a=[1, 2, 3])
    with pytest.raises(UnableToReadPiece, match=r"^a file was replaced while it was read$"):
        list(reading_)


def test_only_the_row_groups_of_the_piece_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": list(range(9))}), tmp_path / "a.parquet", row_group_size=3)
    piece = replace(pieces_in(tmp_path)[1][0], groups=(0, 2))
    assert [value for batch in read(piece, a=pa.int64()) for value in batch] == [0, 1, 2, 6, 7, 8]
    assert read(replace(piece, footer=pq.read_metadata(piece.path)), a=pa.int64()) == read(piece, a=pa.int64())


def test_a_file_that_is_no_parquet_fails_the_task(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"no parquet at all")
    stat = path.stat()
    with pytest.raises(UnableToReadPiece, match=r"^a file cannot be read$"):
        read(Piece(path=str(path), groups=(0,), size=stat.st_size, mtime_ns=stat.st_mtime_ns), a=pa.int64())


@pytest.mark.parametrize(
    "notes",
    [
        {"org.apache.spark.legacyDateTime": ""},
        {"org.apache.spark.legacyINT96": ""},
        {"org.apache.spark.version": "2.4.8"},
    ],
)
@pytest.mark.parametrize(
    ("spark", "arrow"),
    [("date", pa.date32()), ("timestamp", pa.timestamp("us", "UTC")), ("timestamp_ntz", pa.timestamp("us"))],
)
def test_times_of_an_old_writer_are_left_to_spark(
    notes: dict[str, str], spark: str, arrow: pa.DataType, tmp_path: Path
) -> None:
    old = pa.table({"a": pa.array([1], arrow), "b": [1]}).replace_schema_metadata(notes)
    pq.write_table(old, tmp_path / "a.parquet")
    (piece,) = pieces_in(tmp_path)[1]
    with pytest.raises(UnableToTell, match=r"^a is of an old calendar$"):
        list(batches(piece, {"a": Stored(spark=spark, arrow=arrow)}))
    assert len(list(batches(piece, {"b": BIGINT}))) == 1


@pytest.mark.parametrize(
    ("version", "is_read"), [("", False), ("2.4.8", False), ("3.0.3", False), ("3.1.0", True), ("4.0.1", True)]
)
def test_times_of_96_bits_are_instants_where_a_spark_of_now_wrote_them(
    version: str, is_read: bool, tmp_path: Path
) -> None:
    table = pa.table({"a": pa.array([1_000], pa.timestamp("ns"))})
    table = table.replace_schema_metadata({"org.apache.spark.version": version} if version else {})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    (piece,) = pieces_in(tmp_path)[1]
    columns = stored_columns(
        list_part(Table(name="t", storage="parquet", location=str(tmp_path)), WHOLE), {"a": "timestamp"}
    )
    assert columns == ({"a": Stored(spark="timestamp", arrow=INSTANT)} if is_read else {})
    if is_read:
        (batch,) = batches(piece, columns)
        assert batch.values(ColumnNode(name="a")).array.cast(pa.int64()).to_pylist() == [1]
    else:
        with pytest.raises(UnableToTell, match=r"^a has several types, or one of an old writer$"):
            list(batches(piece, {"a": Stored(spark="timestamp", arrow=INSTANT)}))


def test_small_row_groups_of_a_store_are_fetched_together_and_large_ones_one_by_one() -> None:
    half = reading.BUFFER // 2
    assert reading.shares([3, 4, 5, 6], [half, half, 1, 1]) == [[3, 4], [5, 6]]
    assert reading.shares([0, 1, 2], [3 * half, 3 * half, 0]) == [[0], [1], [2]]
    assert reading.shares(range(1000), [0] * 1000) == [list(range(1000))]
    assert reading.shares([], []) == []


def test_texts_that_are_packed_arrive_packed_and_long_ones_do_not(tmp_path: Path) -> None:
    columns = {"a": Stored(spark="string", arrow=pa.string()), "b": BIGINT}
    for values, is_packed in ((["x", "y"] * 500, True), ([f"{at:04}" * 900 for at in range(1000)], False)):
        (batch,) = batches(written(tmp_path, a=values, b=list(range(1000))), columns)
        assert pa.types.is_dictionary(batch.values(ColumnNode(name="a")).array.type) is is_packed
        assert batch.values(ColumnNode(name="b")).array.type == pa.int64()


@pytest.mark.parametrize(
    ("values", "is_packed"),
    [(["x", None] * 500, True), ([f"{at:04}" for at in range(1000)], False), (["x" * 20_000, *"abc"] * 2, True)],
)
def test_texts_of_small_files_share_a_dictionary_where_they_repeat_or_are_long(
    values: list[str | None], is_packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 16)
    for at in range(2):
        pq.write_table(pa.table({"a": values}), tmp_path / f"{at}.parquet")
    (batch,) = batches_of(pieces_in(tmp_path)[1], {"a": Stored(spark="string", arrow=pa.string())}, ())
    array = batch.values(ColumnNode(name="a")).array
    assert (array.to_pylist(), pa.types.is_dictionary(array.type)) == (values * 2, is_packed)


def test_each_file_is_looked_at_for_its_own_columns_and_its_own_writer(tmp_path: Path) -> None:
    moments = pa.array([1, 2], pa.timestamp("us"))
    inside = pa.array([{"a": 3}], pa.struct({"a": moments.type}))
    files = [pa.table({"a": moments}), pa.table([inside], pa.schema([pa.field("b", inside.type, nullable=False)]))]
    for at, table in enumerate([*files, files[0]]):  # the leaves of all are alike
        pq.write_table(table, tmp_path / f"{at}.parquet", store_schema=False)
    columns = {"a": Stored(spark="timestamp_ntz", arrow=moments.type)}
    read_batches = batches_of(pieces_in(tmp_path)[1], columns, ())
    assert [batch.values(ColumnNode(name="a")).array.null_count for batch in read_batches] == [0, 1, 0]
    old = files[0].replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    for at, table in enumerate([files[0], old, files[0]]):
        pq.write_table(table, tmp_path / f"{at}.parquet")
    with pytest.raises(UnableToTell, match="a is of an old calendar"):
        list(batches_of(pieces_in(tmp_path)[1], columns, ()))


def test_rows_that_are_large_are_read_fewer_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = written(tmp_path, a=list(range(1000)))
    assert list(map(len, read(piece, a=pa.int64()))) == [1000]
    monkeypatch.setattr(reading, "MOST_BYTES", 4000)
    most = max(map(len, read(piece, a=pa.int64())))
    assert 300 < most < 1000  # eight bytes a row, and what parquet adds
    monkeypatch.setattr(reading, "MOST_BYTES", 1)
    assert max(map(len, read(piece, a=pa.int64()))) == reading.LEAST_ROWS == 64


@pytest.mark.parametrize("type_", [pa.string(), pa.binary(), pa.large_string()], ids=str)
def test_long_texts_for_which_a_short_dictionary_stands_are_read_few_at_once(
    type_: pa.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["a" * 10_000, "b" * 2_000, "", None]
    pq.write_table(pa.table({"a": pa.array(texts * 500, type_)}), tmp_path / "a.parquet", compression="none")
    columns, (piece,) = pieces_in(tmp_path)
    monkeypatch.setattr(reading, "SHORT", 1)
    monkeypatch.setattr(reading, "FEW_BYTES", 1)
    monkeypatch.setattr(reading, "MOST_BYTES", 2_000_000)
    monkeypatch.setattr(reading, "BUFFER", 1000)
    found = [batch.values(ColumnNode(name="a")).array for batch in batches(piece, columns)]
    assert [array for each in found for array in each.to_pylist()] == pa.array(texts * 500, type_).to_pylist()
    assert max(each.nbytes for each in found) < 2_000_000


def test_the_longest_text_of_any_row_group_bounds_the_rows_that_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["a", "b"] * 250 + ["c" * 10_000, "d"] * 250
    pq.write_table(pa.table({"a": texts}), tmp_path / "a.parquet", compression="none", row_group_size=500)
    columns, (piece,) = pieces_in(tmp_path)
    for name, value in (("SHORT", 1), ("FEW_BYTES", 1), ("MOST_BYTES", 2_000_000)):
        monkeypatch.setattr(reading, name, value)
    found = [batch.values(ColumnNode(name="a")).array for batch in batches(piece, columns)]
    assert [text for each in found for text in each.to_pylist()] == texts
    assert max(map(len, found)) < 250


def test_the_names_of_folders_are_columns_of_texts(tmp_path: Path) -> None:
    piece = replace(written(tmp_path, b=[1, 2]), folders={"a": "oslo"})
    assert read(piece, a=pa.string(), b=pa.int64()) == [["oslo", "oslo"]]
    assert read(replace(piece, folders={"a": None}), a=pa.string(), b=pa.int64()) == [[None, None]]


def test_tasks_know_the_classes_where_no_module_has_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[list[int | None]] = [[1, 2, None], [2, 7]]
    for at, numbers in enumerate(files):
        pq.write_table(pa.table({"a": numbers, "b": ["x", "y", "y"][: len(numbers)]}), tmp_path / f"{at}.parquet")
    columns, pieces = pieces_in(tmp_path)
    total = StatisticRequest(statistic=Statistic(gather=Gather.SUM, of=("a",)), where="a > 1")
    keys = Keyed(grouping=Grouping(columns=("a",)))
    draft = measure.drafted(columns, [total], [keys])
    groups = measure.drafted_groups(columns, GroupsRequest(by=("b",), requests=(total,), keyed=(keys,)))
    binned = Binned(of=compiled("a * 1e0"), where=compiled("b = 'y'"), low=1.0, width=3.0, bins=2)
    program = replace(measure.with_groups(draft.program, [groups]), binned=(binned,))
    sent = loads_to_bytes(program, [[(5, pieces[:1])], [(3, pieces[1:]), (4, pieces)]])
    for name in [name for name in sys.modules if name.startswith("execution_engine.")]:
        monkeypatch.setitem(sys.modules, name, None)
    told = [(number, blob) for at in range(2) for number, blob in load_results(sent, at)]
    monkeypatch.undo()
    units = {number: from_bytes(blob) for number, blob in told}
    assert [number for number, _ in told] == [5, 3, 4]
    for some, sum_, distinct, sums, bins in (
        ([units[5]], 2, 2, {("x",): None, ("y",): 2}, [1, 0, 1]),
        ([units[3]], 9, 2, {("x",): 2, ("y",): 7}, [0, 1, 0]),
        ([units[5], units[3]], 11, 3, {("x",): 2, ("y",): 9}, [1, 1, 1]),
        ([units[4]], 11, 3, {("x",): 2, ("y",): 9}, [1, 1, 1]),
    ):
        statistics, counted, left = measure.merged_results(draft, some)
        found, left_of_groups = measure.merged_group_results(groups, some, 0)
        assert (statistics, counted[keys].summary.distinct, left, left_of_groups) == ({total: sum_}, distinct, {}, {})
        assert dict(zip(found.keys, found.statistics[total], strict=True)) == sums
        assert sum(unit.bins[0] for unit in some).tolist() == bins  # type: ignore[union-attr]


def test_a_column_of_a_lake_may_have_a_point_in_the_name_that_its_files_give_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": [1, 2]}), tmp_path / "a.parquet")
    (piece,) = pieces_in(tmp_path)[1]
    renamed = replace(piece, columns=ColumnNames(names={"now": ("a.b",)}))
    (batch,) = batches(renamed, {"now": BIGINT})
    assert batch.columns("now").whole.tolist() == [1, 2]
