"""The rows that break metrics, as the kernels find and write them, and which row groups footers clear of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.native import rows as native_rows
from execution_engine.engines.native.language import compiled
from execution_engine.engines.native.pruning import Bounds, outcomes
from execution_engine.engines.native.rows import write_without_spark
from execution_engine.engines.protocol import BROKEN, WHOLE, Part, RowsRequest, Table
from execution_engine.metrics.spec import MetricSpec

OLDER = {
    "id": [1, 2, 3, 4, 5],
    "city": ["rome", None, "oslo", "rome", None],
    "fare": [4.5, 20.0, None, 7.0, 7.0],
}
NEWER = {"ID": [6, 7, 8], "city": ["lima", "oslo", "oslo"], "fare": [8.0, 0.5, None], "note": ["a", None, "b"]}
RULES = {
    MetricSpec(name="completeness", columns=("city",)): {2, 5},
    MetricSpec(name="completeness", columns=("fare",), where="id > 3"): {8},
    MetricSpec(name="uniqueness", columns=("city",)): {1, 3, 4, 7, 8},
    MetricSpec(name="uniqueness", columns=("city",), where="id in (3, 4, 5, 7)"): {3, 7},
    MetricSpec(name="distinct_count", columns=("city", "fare")): {3, 8},
    MetricSpec(name="distinct_count", columns=("fare",)): {3, 4, 5, 8},
    MetricSpec(name="in_range", columns=("fare",), arguments=(1.0, 9.0)): {2, 7},
    MetricSpec(name="compliance", arguments=("id < 4",)): {4, 5, 6, 7, 8},
    MetricSpec(name="compliance", arguments=("part = 'a'",)): {6, 7, 8},
}


def table_in(folder: Path) -> Table:
    """Two files of row groups of two rows; the newer has a column more, and writes one in capitals."""
    for part, columns in (("a", OLDER), ("b", NEWER)):
        (folder / f"part={part}").mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / f"part={part}" / "rows.parquet", row_group_size=2)
    return Table(name="trips", storage="parquet", location=str(folder))


def request(folder: Path, *specs: MetricSpec, **more: Any) -> RowsRequest:
    for name in ("bad", "good"):
        (folder / name).mkdir()
    return RowsRequest(specs=specs, bad=str(folder / "bad"), good=str(folder / "good"), **more)


def rows_of(folder: str) -> list[dict[str, Any]]:
    return [{name.lower(): value for name, value in row.items()} for row in pq.read_table(folder).to_pylist()]


def test_each_row_is_written_once_with_all_it_breaks(tmp_path: Path) -> None:
    asked = request(tmp_path, *RULES)
    written = write_without_spark(table_in(tmp_path / "table"), WHOLE, asked)
    assert written is not None
    assert (written.bad, written.good, written.is_cut, written.by) == (8, 0, False, "kernels")
    assert {row["id"]: set(row[BROKEN]) for row in rows_of(asked.bad)} == {
        at: {spec.text for spec, broken in RULES.items() if at in broken} for at in range(1, 9)
    }
    by_id = {row["id"]: row for row in rows_of(asked.bad)}
    assert [(by_id[at]["part"], by_id[at]["note"]) for at in (1, 8)] == [("a", None), ("b", "b")]


def test_other_rows_are_good_ones_where_somebody_wants_these(tmp_path: Path) -> None:
    spec, table = MetricSpec(name="completeness", columns=("city",)), table_in(tmp_path / "table")
    asked = request(tmp_path, spec)
    written = write_without_spark(table, WHOLE, asked)
    assert written is not None
    assert (written.bad, written.good, bool(written.fingerprint)) == (2, 6, True)
    assert [row["id"] for row in rows_of(asked.good)] == [1, 3, 4, 6, 7, 8]
    written = write_without_spark(table, WHOLE, replace(asked, good=""))
    assert written is not None
    assert (written.bad, written.good, [row["id"] for row in rows_of(asked.bad)]) == (2, 0, [2, 5])


@pytest.mark.parametrize(("limit", "bad", "is_cut"), [(1, 1, True), (4, 4, True), (5, 5, False), (6, 5, False)])
def test_no_more_bad_rows_are_written_than_the_limit(tmp_path: Path, limit: int, bad: int, is_cut: bool) -> None:
    asked = request(tmp_path, MetricSpec(name="compliance", arguments=("id < 4",)), limit=limit)
    written = write_without_spark(table_in(tmp_path / "table"), WHOLE, asked)
    assert written is not None
    assert (written.bad, written.is_cut) == (bad, is_cut)
    assert [row["id"] for row in rows_of(asked.bad)] == [4, 5, 6, 7, 8][:bad]


def test_metrics_that_no_single_row_breaks_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    asked = request(tmp_path, MetricSpec(name="mean", columns=("fare",)), MetricSpec(name="mean", columns=("fee",)))
    written = write_without_spark(table_in(tmp_path / "table"), WHOLE, asked)
    assert written is not None
    assert {text: failure.detail.partition(":")[0] for text, failure in written.failures.items()} == {
        "mean(fare)": "mean(fare) is of all rows together",
        "mean(fee)": written.failures["mean(fee)"].detail.partition(":")[0],
    }
    assert "fee" in written.failures["mean(fee)"].detail
    assert list((tmp_path / "bad").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "part", "condition"),
    [
        ({"storage": "csv"}, WHOLE, "id < 4"),
        ({"location": "hdfs://lake/trips"}, WHOLE, "id < 4"),
        ({}, Part(keys=("z",)), "id < 4"),
        ({"partition_column": "city"}, Part(keys=("rome",)), "id < 4"),
        ({}, WHOLE, "id + 1 < 4"),
    ],
)
def test_what_spark_must_read_is_left_to_it(tmp_path: Path, change: dict[str, Any], part: Part, condition: str) -> None:
    asked = request(tmp_path, MetricSpec(name="compliance", arguments=(condition,)))
    assert write_without_spark(replace(table_in(tmp_path / "table"), **change), part, asked) is None


def test_so_many_keys_are_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unique = [MetricSpec(name="uniqueness", columns=(name,)) for name in ("city", "fare")]
    table, asked = table_in(tmp_path / "table"), request(tmp_path, *unique)
    monkeypatch.setattr(native_rows, "MOST_KEYED_ROWS", 16)
    assert write_without_spark(table, WHOLE, asked) is not None
    monkeypatch.setattr(native_rows, "MOST_KEYED_ROWS", 15)
    assert write_without_spark(table, WHOLE, asked) is None


FOOTER = {
    "id": Bounds(rows=4, nulls=0, low=2, high=5),
    "opt": Bounds(rows=4, nulls=2, low=2, high=5),
    "none": Bounds(rows=4, nulls=4),
    "one": Bounds(rows=4, nulls=0, low=3, high=3),
    "city": Bounds(rows=4, nulls=0),
}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (("id < 2", "id <= 1", "id > 5", "id >= 6", "id = 1", "id = 6", "one < 3", "one <> 3"), "F"),
        (("id < 6", "id <= 5", "id > 1", "id >= 2", "id <> 6", "id <> 1", "one = 3", "not (id < 2)"), "T"),
        (("id < 3", "id < 5", "id <= 2", "id > 4", "id > 2", "id >= 5", "id = 2", "id = 5", "id <> 3"), "FT"),
        (
            ("id < 2.5", "id < 'x'", "city = 'a'", "city < 3", "id in (1, 2)", "city like 'a%'", "city rlike 'a|b'"),
            "FT",
        ),
        (("opt < 2", "opt < 2 or id < 2"), "FN"),
        (("opt < 9", "not (opt < 2)", "id < 9 and opt < 9", "city like '%a' or none < 2"), "NT"),
        (("none < 2", "none = 1", "none < 2 or id < 2", "none in (1)", "none like 'a%'"), "N"),
        (("5 < id", "away < 2", "opt in (1, 2)", "away in (1)", "away like '%a'", "id < opt"), "FNT"),
        (("id is null", "none is not null", "false", "id < 2 and city = 'a'", "none < 2 and id < 2"), "F"),
        (("none is null", "id is not null", "true", "none < 2 or id < 9", "id < 9 and id > 1"), "T"),
        (("opt is null", "away is null", "id < 9 and city = 'a'"), "FT"),
    ],
)
def test_a_footer_says_what_a_condition_may_come_to(conditions: tuple[str, ...], expected: str) -> None:
    letters = {True: "T", False: "F", None: "N"}
    told = {
        text: "".join(sorted(letters[each] for each in outcomes(compiled(text), FOOTER.get))) for text in conditions
    }
    assert told == dict.fromkeys(conditions, expected)
