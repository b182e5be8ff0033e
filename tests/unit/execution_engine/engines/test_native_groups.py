"""What the kernels gather of each group is what a loop over the rows makes of them."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.column_types import quote
from execution_engine.engines.gathering import GroupResults, GroupsRequest, Keyed, StatisticRequest, in_order
from execution_engine.engines.native import measure
from execution_engine.engines.native.grouped import REDUCTIONS, Groups, TooManyGroups, merged, spread, values
from execution_engine.engines.native.language import UnableToTell
from execution_engine.engines.native.measure import (
    drafted,
    drafted_groups,
    merged_group_results,
    merged_results,
    with_groups,
)
from execution_engine.engines.native.task import from_bytes, glean
from execution_engine.engines.native.values import values_of
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.statistics import Gather, Statistic, Summary
from execution_engine.read_by import FallbackKind, Left
from tests.integration.kernels.by_kernels import pieces_in
from tests.integration.kernels.tables import KINDS, ROW
from tests.unit.execution_engine.engines.test_native_gathering import greatest, least

SEEDS = (1, 2, 5, 6, 7, 8, 11, 12)
WHERES: Mapping[str | None, Callable[[int], bool]] = {
    None: lambda row: True,
    f"{ROW} between 5 and 40": lambda row: 5 <= row <= 40,
    f"{ROW} < 0": lambda row: False,
}
COUNT = StatisticRequest(statistic=Statistic(gather=Gather.COUNT, of=("1",)))
PLAIN = ("few", "kind", "truth", "cents", "date", "moment")  # kinds of which some values come again
Row = dict[str, Any]
Key = tuple[str | None, ...]


def text_of(value: Any) -> str | None:
    """As Spark's documentation of CAST says of these few kinds."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case datetime():
            fraction = f"{value.microsecond:06d}".rstrip("0")
            return value.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0") + (f".{fraction}" if fraction else "")
        case date():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
    return str(value)


def write_rows(draw: Random, folder: Path) -> list[Row]:
    """Three files of rows, some of groups that no other file has, in row groups of any size."""
    kinds = {name: KINDS[name] for name in PLAIN} | {
        "rate": KINDS["rate"],
        "longer": KINDS["longer"],
        "long": KINDS["some"],
    }
    rows: list[Row] = []
    for at in range(3):
        count = draw.choice([1, 30, 70])
        columns = {
            name: [None if draw.random() < 0.15 else kind.draw(draw) for _ in range(count)]
            for name, kind in kinds.items()
        }
        columns |= {ROW: list(range(len(rows), len(rows) + count)), "file": [f"of {at}"] * count}
        types = {name: kind.arrow for name, kind in kinds.items()} | {ROW: pa.int64(), "file": pa.string()}
        arrays = {name: pa.array(some, types[name]) for name, some in columns.items()}
        pq.write_table(pa.table(arrays), folder / f"{at}.parquet", row_group_size=draw.choice([3, 100]))
        rows += [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    return rows


def taken(folder: Path, wanted: GroupsRequest) -> tuple[GroupResults, Mapping[Any, Left]]:
    """What a task for each file finds, merged, and why the rest is Spark's."""
    columns, pieces = pieces_in(folder)
    draft = drafted_groups(columns, wanted)
    if not draft.requests and not draft.keyed:
        return GroupResults(), draft.left
    program = draft.program
    gleaned = [from_bytes(glean(program, [piece]).to_bytes()) for piece in pieces]
    found, left = merged_group_results(draft, gleaned, 0)
    return found, {**draft.left, **left}


def by_key(rows: Sequence[Row], by: Sequence[str]) -> dict[Key, list[Row]]:
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(text_of(row[name]) for name in by)].append(row)
    return groups


def statistic(gather: Gather, name: str, where: str | None) -> StatisticRequest:
    return StatisticRequest(statistic=Statistic(gather=gather, of=(quote(name),)), where=where)


def exact_sum(numbers: Sequence[Any]) -> Any:
    if isinstance(numbers[0], float) and not all(map(math.isfinite, numbers)):
        return sum(numbers)
    whole = sum(map(Fraction, numbers))
    return float(whole) if isinstance(numbers[0], float) else whole


REFERENCES = {Gather.COUNT: len, Gather.SUM: exact_sum, Gather.MIN: least, Gather.MAX: greatest}


def same(found: Any, expected: Any, size: float) -> bool:
    if isinstance(found, float):
        if not math.isfinite(expected):
            return not math.isfinite(found)
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12 * size)
    return found is not None and Fraction(found) == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("by", [("kind",), ("few",), ("truth", "date"), ("cents", "moment", "kind"), ("file", "kind")])
def test_counts_sums_and_extremes_of_each_group_are_those_of_a_loop(
    tmp_path: Path, seed: int, by: tuple[str, ...]
) -> None:
    rows = write_rows(Random(seed), tmp_path)
    every = [
        (statistic(gather, name, where), name)
        for gather in REFERENCES
        for name in ("few", "rate", "longer", "long", "cents")
        for where in WHERES
    ]
    found, left = taken(tmp_path, GroupsRequest(by=by, requests=tuple(one for one, _ in every)))
    groups = by_key(rows, by)
    assert (left, len(found.keys), set(found.keys)) == ({}, len(groups), set(groups))
    for one, name in every:
        for key, value in zip(found.keys, found.statistics[one], strict=True):
            kept = [row[name] for row in groups[key] if WHERES[one.where](row[ROW]) and row[name] is not None]
            if not kept and one.statistic.gather is not Gather.COUNT:
                assert value is None
            else:
                size = sum(abs(number) for number in kept if math.isfinite(number)) if name == "rate" else 0
                assert same(value, REFERENCES[one.statistic.gather](kept), float(size)), (one, key, value, kept)


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_of_each_group_are_those_of_a_loop(tmp_path: Path, seed: int) -> None:
    rows = write_rows(Random(seed), tmp_path)
    one = StatisticRequest(statistic=Statistic(gather=Gather.MOMENTS, of=("few * 1e0",)))
    both = StatisticRequest(statistic=Statistic(gather=Gather.COMOMENTS, of=("few * 1e0", "cents * 1e0")))
    found, left = taken(tmp_path, GroupsRequest(by=("kind",), requests=(one, both)))
    assert left == {}
    for key, moments, comoments in zip(found.keys, found.statistics[one], found.statistics[both], strict=True):
        of_group = by_key(rows, ("kind",))[key]
        numbers = [Fraction(row["few"]) for row in of_group if row["few"] is not None]
        expected = (len(numbers), *centred(numbers, numbers)) if numbers else None
        assert moments == (pytest.approx(expected, abs=1e-9) if expected else None)
        pairs = [
            (Fraction(row["few"]), Fraction(row["cents"]))
            for row in of_group
            if row["few"] is not None and row["cents"] is not None
        ]
        if not pairs:
            assert comoments is None
            continue
        xs, ys = zip(*pairs, strict=True)
        (x, xx), (y, yy), (_, xy) = centred(xs, xs), centred(ys, ys), centred(xs, ys)
        assert comoments == pytest.approx((len(pairs), x, y, xx, yy, xy), rel=1e-9, abs=1e-6)


def centred(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> tuple[float, float]:
    """The mean of the first, and the sum of the products of both off their means."""
    x, y = Fraction(sum(xs), len(xs)), Fraction(sum(ys), len(ys))
    return float(x), float(sum((one - x) * (other - y) for one, other in zip(xs, ys, strict=True)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "grouping",
    [
        Grouping(columns=("few",)),
        Grouping(columns=("cents", "few")),
        Grouping(columns=("few", "date"), partial=True),
        Grouping(columns=("kind",), present=("date",)),
    ],
    ids=repr,
)
def test_keys_of_each_group_are_counted_as_by_a_loop(tmp_path: Path, seed: int, grouping: Grouping) -> None:
    rows = write_rows(Random(seed), tmp_path)
    every = [Keyed(grouping=grouping, where=where) for where in WHERES]
    found, left = taken(tmp_path, GroupsRequest(by=("truth", "kind"), requests=(), keyed=tuple(every)))
    groups = by_key(rows, ("truth", "kind"))
    assert (left, set(found.keys)) == ({}, set(groups))
    for one in every:
        for key, summary in zip(found.keys, found.counted[one], strict=True):
            kept = [row for row in groups[key] if WHERES[one.where](row[ROW])]
            rounded = replace(summary, weighted_logs=round(summary.weighted_logs, 9))
            assert rounded == summary_of(kept, grouping), (one, key)
            assert are_whole(rounded)


def are_whole(summary: Summary) -> bool:
    """Whether its counts are whole numbers in type too, as states write them."""
    return all(isinstance(getattr(summary, each.name), int) for each in fields(summary) if each.name != "weighted_logs")


def summary_of(rows: Sequence[Row], grouping: Grouping) -> Summary:
    whole: Counter[tuple[Any, ...]] = Counter()
    without: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        key = tuple(row[name] for name in grouping.columns)
        if all(row[name] is not None for name in grouping.present):
            is_keyless = (all if grouping.partial else any)(part is None for part in key)
            (without if is_keyless else whole)[key] += 1
    return Summary(
        rows=whole.total(),
        distinct=len(whole),
        single=sum(times == 1 for times in whole.values()),
        most=max(whole.values(), default=0),
        weighted_logs=round(sum(times * math.log(times) for times in whole.values()), 9),
        distinct_with_nulls=len(without),
        rows_with_nulls=without.total(),
    )


def write_column(folder: Path, array: pa.Array) -> None:
    pq.write_table(pa.table({"a": array, "n": pa.array(range(len(array)))}), folder / "a.parquet")


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([-(2**63), 2**63 - 1, 0]), ["-9223372036854775808", "9223372036854775807", "0"]),
        (pa.array([2**64 - 1, 0], pa.uint64()), ["18446744073709551615", "0"]),
        (pa.array([Decimal("0.00"), Decimal("-0.05"), Decimal("1234.50")]), ["0.00", "-0.05", "1234.50"]),
        (pa.array([Decimal("0.000001"), Decimal("0")], pa.decimal128(30, 6)), ["0.000001", "0.000000"]),
        (pa.array([date(1, 1, 1), date(9999, 12, 31)]), ["0001-01-01", "9999-12-31"]),
        (pa.array([datetime(1, 1, 1), datetime(9999, 12, 31, 23)]), ["0001-01-01 00:00:00", "9999-12-31 23:00:00"]),
        (pa.array([-500_000, 1020], pa.timestamp("us", "UTC")), ["1969-12-31 23:59:59.5", "1970-01-01 00:00:00.00102"]),
        (pa.array(["", "a\0b", "東京", None]), ["", "a\0b", "東京", None]),
        (pa.array(["a", "b", "a"], pa.large_string()), ["a", "b"]),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)  # fmt: skip
def test_a_group_is_told_apart_by_the_text_that_spark_writes(
    tmp_path: Path, array: pa.Array, texts: list[str | None]
) -> None:
    write_column(tmp_path, array)
    found, left = taken(tmp_path, GroupsRequest(by=("a",), requests=(COUNT,)))
    assert (left, len(found.keys), {key for (key,) in found.keys}) == ({}, len(texts), set(texts))
    assert sum(found.statistics[COUNT]) == len(array)


NO_UTF_8 = "a text that is no UTF-8 is told by Spark"


@pytest.mark.parametrize(
    ("array", "kind", "why"),
    [
        (pa.array([b"a"]), FallbackKind.COLUMN, "bytes is written as a text by Spark"),
        (pa.array([Decimal("0.0000001")]), FallbackKind.ROWS, "a small decimal may be written with an exponent"),
        (pa.array([2932897], pa.date32()), FallbackKind.ROWS, "years before 1 or after 9999 are written by Spark"),
        (pa.StringArray.from_buffers(1, *pa.array([b"\xff"]).buffers()[1:]), FallbackKind.ROWS, NO_UTF_8),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)  # fmt: skip
def test_texts_that_java_may_write_otherwise_are_left_to_spark(
    tmp_path: Path, array: pa.Array, kind: FallbackKind, why: str
) -> None:
    write_column(tmp_path, array)
    _, left = taken(tmp_path, GroupsRequest(by=("n", "a"), requests=(COUNT,)))
    assert left == {COUNT: Left(kind=kind, why=why)}


@pytest.mark.parametrize(
    ("gather", "array", "why"),
    [
        (Gather.SUM, pa.array(["x"]), "text is no number"),
        (Gather.SUM, pa.array([date(2026, 3, 1)]), "date has no sum"),
        (Gather.MIN, pa.array(["x"]), "text is no number"),
        (Gather.MAX, pa.array([date(2026, 3, 1)]), "date has no extreme that is a number"),
        (Gather.MOMENTS, pa.array([True]), "truth is no number"),
        (Gather.HLL, pa.array([1]), "hll of each group is Spark's to gather"),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_a_statistic_that_a_column_has_not_is_left_to_spark_with_the_reason(
    tmp_path: Path, gather: Gather, array: pa.Array, why: str
) -> None:
    write_column(tmp_path, array)
    one = statistic(gather, "a", None)
    found, left = taken(tmp_path, GroupsRequest(by=("n",), requests=(one,)))
    assert (found.statistics, left[one].why) == ({}, why)


def test_what_only_the_rows_show_to_be_sparks_leaves_the_other_clauses_and_statistics(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x\n", "y", "y"], "g": ["p", "p", "q"]}), tmp_path / "a.parquet")
    breaks = "a rlike 'x$'"
    keys = [Keyed(grouping=Grouping(columns=("a",)), where=where) for where in (breaks, None, "g = 'p'")]
    asked = [statistic(Gather.COUNT, "a", where) for where in (breaks, None)]
    found, left = taken(tmp_path, GroupsRequest(by=("g",), requests=tuple(asked), keyed=tuple(keys)))
    why = Left(kind=FallbackKind.ROWS, why="a text ends with a line break, before which $ may stand")
    assert left == {asked[0]: why, keys[0]: why}
    assert {one: list(of_groups) for one, of_groups in found.statistics.items()} == {asked[1]: [2, 1]}
    assert [[each.rows for each in found.counted[one]] for one in keys[1:]] == [[2, 1], [2, 0]]


def test_groups_that_are_too_many_in_one_task_or_in_all_together_are_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "MAX_GROUPS", 5)
    for at in range(2):
        pq.write_table(pa.table({"a": range(3 * at, 3 * at + 3), "b": range(3)}), tmp_path / f"{at}.parquet")
    assert taken(tmp_path, GroupsRequest(by=("a",), requests=(COUNT,))) == (GroupResults(too_many=True), {})
    assert not taken(tmp_path, GroupsRequest(by=("b",), requests=(COUNT,)))[0].too_many
    monkeypatch.setattr(measure, "MAX_GROUPS", 2)
    assert taken(tmp_path, GroupsRequest(by=("b",), requests=(COUNT,)))[0].too_many
    monkeypatch.setattr(measure, "MAX_GROUPS", 6)
    assert len(taken(tmp_path, GroupsRequest(by=("a",), requests=(COUNT,)))[0].keys) == 6


def test_rows_that_meet_a_condition_are_counted_among_those_that_count(tmp_path: Path) -> None:
    write_column(tmp_path, pa.array(["x", "y", "x", "x", None]))
    met = Statistic(gather=Gather.COUNT, of=("case when n < 3 then 1 end",))
    every = [StatisticRequest(statistic=met, where=where) for where in (None, "n > 0", "a is null")]
    found, left = taken(tmp_path, GroupsRequest(by=("a",), requests=tuple(every)))
    assert (left, found.keys) == ({}, [(None,), ("x",), ("y",)])
    assert [list(found.statistics[one]) for one in every] == [[0, 2, 1], [0, 1, 1], [0, 0, 0]]


def test_what_many_tasks_would_send_of_many_groups_or_keys_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_column(tmp_path, pa.array(["x", "y", "z"]))
    rows, keys = statistic(Gather.COUNT, "n", None), Keyed(grouping=Grouping(columns=("n",)))
    wanted, (columns, pieces) = GroupsRequest(by=("a",), requests=(rows,), keyed=(keys,)), pieces_in(tmp_path)
    monkeypatch.setattr(measure, "MOST_SENT", 30)
    monkeypatch.setattr(measure, "MOST_KEYED", 30)
    for of_rows, tasks, kinds in ((30, 10, []), (31, 10, [FallbackKind.UNKNOWN]), (30, 11, [FallbackKind.ROWS] * 2)):
        draft = drafted_groups(columns, wanted, rows=of_rows, tasks=tasks)
        found = glean(draft.program, pieces)
        left = {**draft.left, **merged_group_results(draft, [found], 0)[1]}
        assert [why.kind for why in left.values()] == kinds
    assert {why.why for why in left.values()} == {"so many groups of so many tasks are Spark's to merge"}


def test_one_that_is_spark_s_takes_along_what_shares_its_job_and_no_grouping(tmp_path: Path) -> None:
    write_column(tmp_path, pa.array(["x", "y"]))
    asked = (statistic(Gather.HLL, "n", None), statistic(Gather.SUM, "n", None))
    keys = Keyed(grouping=Grouping(columns=("n",)))
    found, left = taken(tmp_path, GroupsRequest(by=("a",), requests=asked, keyed=(keys,)))
    assert [left[one].kind for one in asked] == [FallbackKind.UNKNOWN, FallbackKind.BESIDE]
    assert list(found.counted) == [keys]
    found, left = taken(tmp_path, GroupsRequest(by=("a",), requests=asked, keyed=(), together=False))
    assert (list(left), list(found.statistics)) == ([asked[0]], [asked[1]])


@pytest.mark.parametrize(
    ("by", "gather", "kind", "why"),
    [
        ("a", Gather.HLL, FallbackKind.UNKNOWN, "hll of each group is Spark's to gather"),
        ("a", Gather.KLL, FallbackKind.UNKNOWN, "kll is Spark's to gather"),
        ("d", Gather.COUNT, FallbackKind.COLUMN, "double is written as a text by Spark"),
        ("z", Gather.COUNT, FallbackKind.COLUMN, "z is no plain column of the files"),
        ("a.b", Gather.COUNT, FallbackKind.COLUMN, "a.b is no plain column of the files"),
    ],
)
def test_groups_that_are_sparks_are_left_with_their_kind_and_reason(
    by: str, gather: Gather, kind: FallbackKind, why: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": [1], "d": [0.5]}), tmp_path / "a.parquet")
    one = statistic(gather, "a", None)
    draft = drafted_groups(pieces_in(tmp_path)[0], GroupsRequest(by=(by,), requests=(one,)))
    assert draft.left == {one: Left(kind=kind, why=why)}
    assert (draft.requests, draft.program.columns) == ((), {})


def test_what_is_left_of_some_groups_is_not_mistaken_for_what_is_told(tmp_path: Path) -> None:
    write_column(tmp_path, pa.array(["x", "y", "x", None]))
    sums = [statistic(Gather.SUM, name, None) for name in ("a", "n", "z")]
    keyed = [Keyed(grouping=Grouping(columns=(name,))) for name in ("z", "n", "a")]
    found, left = taken(tmp_path, GroupsRequest(by=("a",), requests=tuple(sums), keyed=tuple(keyed), together=False))
    assert {one: each.why for one, each in left.items()} == {
        sums[0]: "text is no number",
        sums[2]: "z is no plain column of the files",
        keyed[0]: "z is no plain column of the files",
    }
    assert dict(zip(found.keys, found.statistics[sums[1]], strict=True)) == {("x",): 2, ("y",): 1, (None,): 3}
    distinct = {one: [each.distinct for each in found.counted[one]] for one in keyed[1:]}
    assert [dict(zip(found.keys, distinct[one], strict=True)) for one in keyed[1:]] == [
        {("x",): 2, ("y",): 1, (None,): 1},
        {("x",): 1, ("y",): 1, (None,): 0},
    ]


def test_keys_of_many_rows_are_left_to_spark_with_the_reason(tmp_path: Path) -> None:
    write_column(tmp_path, pa.array(["x"]))
    keys = Keyed(grouping=Grouping(columns=("n",)))
    wanted, (columns, _) = GroupsRequest(by=("a",), requests=(), keyed=(keys,)), pieces_in(tmp_path)
    assert drafted_groups(columns, wanted, rows=measure.MOST_KEYED).keyed == (keys,)
    left = drafted_groups(columns, wanted, rows=measure.MOST_KEYED + 1).left
    assert left == {keys: Left(kind=FallbackKind.UNKNOWN, why="keys of so many rows are Spark's to count by groups")}


def test_one_program_gathers_groups_beside_what_is_asked_of_all_rows(tmp_path: Path) -> None:
    write_column(tmp_path, pa.array(["x", "y", "x", None]))
    columns, pieces = pieces_in(tmp_path)
    total, rows = statistic(Gather.SUM, "n", None), statistic(Gather.COUNT, "a", None)
    draft = drafted(columns, [total], [])
    of_groups = [drafted_groups(columns, GroupsRequest(by=(by,), requests=(rows,))) for by in ("a", "n")]
    assert with_groups(draft.program, []) == draft.program
    program = with_groups(draft.program, of_groups)
    assert set(program.columns) == {"a", "n"}
    found = [from_bytes(glean(program, pieces).to_bytes())]
    assert merged_results(draft, found)[0] == {total: 6}
    (by_a, _), (by_n, _) = (merged_group_results(each, found, at) for at, each in enumerate(of_groups))
    assert dict(zip(by_a.keys, by_a.statistics[rows], strict=True)) == {("x",): 2, ("y",): 1, (None,): 0}
    assert dict(zip(by_n.keys, by_n.statistics[rows], strict=True)) == {("0",): 1, ("1",): 1, ("2",): 1, ("3",): 0}


NUMBERS = st.lists(st.tuples(st.integers(0, 4), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=30)


@given(NUMBERS, NUMBERS, st.sampled_from(["count", "long_sum", "min", "max"]))
def test_what_two_tasks_found_merges_into_what_one_would_have(
    first: list[tuple[int, int]], second: list[tuple[int, int]], gather: str
) -> None:
    one, other, both = (reduced(gather, some) for some in (first, second, first + second))
    scattered = [spread(parts, np.arange(5)[::-1], 9) for parts in (one, other)]
    found = values(gather, merged(gather, *scattered), None)
    assert list(found[:5]) == list(values(gather, both, None))[::-1]


def reduced(gather: str, rows: list[tuple[int, int]]) -> Any:
    places = np.array([place for place, _ in rows])
    numbers = values_of(pa.array([number for _, number in rows]), "bigint")
    return REDUCTIONS[gather](places, 5, *([] if gather == "count" else [numbers]))


def test_what_is_always_the_same_in_a_group_is_off_by_nothing() -> None:
    numbers = values_of(pa.array([0.1, 2.0, 0.1, 4.0, 0.1]), "double")  # of which the mean of three is no 0.1
    parts = REDUCTIONS["moments"](np.array([0, 1, 0, 1, 0]), 2, numbers)
    assert values("moments", parts, None) == [(3, 0.1, 0.0), (2, 3.0, 2.0)]


def test_a_mean_that_is_infinite_in_one_task_is_so_in_all() -> None:
    one = np.array([1]), np.array([math.inf]), np.array([math.nan])
    other = np.array([3]), np.array([1.0]), np.array([0.0])
    for first, second in ((one, other), (other, one)):
        with np.errstate(invalid="ignore"):
            (moments,) = values("moments", merged("moments", first, second), None)
        assert moments[:2] == (4, math.inf)


def test_a_sum_that_may_be_too_long_for_spark_on_its_way_is_left_to_it() -> None:
    numbers = values_of(pa.array([Decimal(10**33), Decimal(-(10**33))], pa.decimal128(38, 0)), "decimal(38,0)")
    with pytest.raises(UnableToTell, match="a sum on the way may be too long for Spark"):
        REDUCTIONS["sum"](np.array([0, 1]), 2, numbers)
    assert values("min", REDUCTIONS["min"](np.array([0, 1]), 2, numbers), 0) == [Decimal(10**33), Decimal(-(10**33))]


@given(st.lists(st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("ab")), min_size=1)))
def test_rows_are_of_one_group_exactly_where_they_are_alike(batches: list[list[tuple[int | None, str | None]]]) -> None:
    groups = Groups(most=1000)
    for rows in batches:
        numbers, texts = pa.array([row[0] for row in rows], pa.int64()), pa.array([row[1] for row in rows], pa.string())
        packed = texts.dictionary_encode()
        for each in (texts, packed):
            places = groups.places([values_of(numbers, "bigint"), values_of(each, "string")])
            keys = list(groups.numbers)
            assert [keys[at] for at in places] == [(None if n is None else str(n), text) for n, text in rows]


@given(st.sets(st.tuples(st.none() | st.text(max_size=2), st.none() | st.text(max_size=1))))
def test_groups_are_in_the_order_of_their_keys_a_null_before_all_texts(
    keys: set[tuple[str | None, str | None]],
) -> None:
    some = list(keys)
    ranks = [[(part is not None, (part or "").encode()) for part in some[at]] for at in in_order(some)]
    assert ranks == sorted(ranks)
    assert len(ranks) == len(some)


def test_a_dictionary_s_texts_that_no_row_has_are_no_groups() -> None:
    packed = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", "b", "c"]))
    groups = Groups(most=2)
    assert groups.places([values_of(packed, "string")]).tolist() == [1, 0, 1]
    assert list(groups.numbers) == [("a",), ("c",)]
    with pytest.raises(TooManyGroups):
        groups.places([values_of(pa.array(["d"]), "string")])
    with pytest.raises(UnableToTell):
        groups.places([values_of(pa.array([0.5]), "double")])
