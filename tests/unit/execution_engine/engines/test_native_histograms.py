"""What lies in bins is what a loop counts, and the values that come most often are told first."""

from collections import Counter
from math import floor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.column_types import expressions
from execution_engine.engines.gathering import NOTHING, Bins, GroupResults, bins_between, of_bins, of_values
from execution_engine.engines.native.grouped import Binned
from execution_engine.engines.native.language import compiled
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.native.measure import binning, ends_asked, ends_of, in_bins, of_groups, values_asked
from execution_engine.engines.native.reading import Stored
from execution_engine.engines.native.task import Program, TaskResult, from_bytes, glean
from execution_engine.engines.protocol import Measured, MeasurementRequest, Table
from execution_engine.metrics.definitions.uniqueness import MOST_VALUES
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather
from execution_engine.outcome import Reason
from execution_engine.read_by import FallbackKind, Left
from tests.integration.kernels.by_kernels import pieces_in

ITEM = MeasurementRequest(key="h", spec=MetricSpec(name="histogram", columns=("x",), options=(("bins", 3),)))


def binned(folder: Path, *wanted: Binned) -> list[list[int]]:
    """What a task for each file counts of each, added up."""
    columns, pieces = pieces_in(folder)
    program = Program(statistics=(), counted=(), columns=columns, binned=wanted)
    tasks = [from_bytes(glean(program, [piece]).to_bytes()) for piece in pieces]
    assert not any(task.failed for task in tasks)
    return [sum(task.bins[at] for task in tasks).tolist() for at in range(len(wanted))]  # type: ignore[union-attr]


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32(), pa.int32(), pa.decimal128(12, 2), pa.decimal128(30, 6)])
@pytest.mark.parametrize("bins", [1, 3, 7, 1000])
def test_numbers_lie_in_the_bins_that_a_loop_finds(tmp_path: Path, type_: pa.DataType, bins: int) -> None:
    draw, rows = Random(bins), []
    for at in range(2):
        numbers = [None if draw.random() < 0.2 else draw.randint(-50, 50) for _ in range(100)]
        array = pa.array(numbers, pa.int32()).cast(type_)
        pq.write_table(pa.table({"x": array, "n": range(100)}), tmp_path / f"{at}.parquet", row_group_size=30)
        rows += [(number, n) for n, number in enumerate(numbers)]
    low, high = -50.0, 50.0
    width = (high - low) / bins
    every = [
        Binned(
            of=compiled("x * 1e0"), where=None if where is None else compiled(where), low=low, width=width, bins=bins
        )
        for where in (None, "n < 40", "x > 0 or n = 3", "n < 0")
    ]
    kept = [
        rows,
        [(number, n) for number, n in rows if n < 40],
        [(number, n) for number, n in rows if n == 3 or (number is not None and number > 0)],
        [],
    ]
    for found, some in zip(binned(tmp_path, *every), kept, strict=True):
        places = Counter(bins if number is None else min(floor((number - low) / width), bins - 1) for number, _ in some)
        assert found == [places[at] for at in range(bins + 1)]


def test_what_lies_under_a_null_is_in_no_bin(tmp_path: Path) -> None:
    values = pa.array([1.0, float("nan"), 3.0])
    array = pa.Array.from_buffers(pa.float64(), 3, [pa.py_buffer(b"\x05"), values.buffers()[1]])
    pq.write_table(pa.table({"x": array}), tmp_path / "a.parquet")
    assert binned(tmp_path, Binned(of=compiled("x"), where=None, low=1.0, width=1.0, bins=2)) == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (float("nan"), float("nan"), Reason.NOT_FINITE),
        (0.0, float("nan"), Reason.NOT_FINITE),
        (0.0, float("inf"), Reason.NOT_FINITE),
        (float("-inf"), 0.0, Reason.NOT_FINITE),
        (-1.7e308, 1.7e308, Reason.NOT_FINITE),
    ],
)
def test_numbers_that_are_not_finite_or_too_far_apart_have_no_bins(low: float, high: float, reason: Reason) -> None:
    found = bins_between(ITEM, "rides", low, high, 3)
    assert isinstance(found, Measured)
    assert found.failure is not None
    assert found.failure.reason is reason


def test_bins_reach_from_the_least_to_the_greatest_number() -> None:
    assert bins_between(ITEM, "rides", None, None, 3) == NOTHING
    assert bins_between(ITEM, "rides", 1.0, 7.0, 3) == Bins(low=1.0, width=2.0, count=3)
    assert bins_between(ITEM, "rides", 5.0, 5.0, 3) == Bins(low=5.0, width=1.0, count=3)
    assert bins_between(ITEM, "rides", 0.0, 5e-324, 3) == Bins(low=0.0, width=1.0, count=3)  # a third of it is nothing


def test_each_bin_tells_its_ends_and_its_share_of_all_rows() -> None:
    assert of_bins(Bins(low=1.0, width=0.5, count=2), {0: 3, None: 1}) == Measured(
        value=2.0,
        detail={
            "rows": 4,
            "nulls": 1,
            "bins": [
                {"low": 1.0, "high": 1.5, "count": 3, "ratio": 0.75},
                {"low": 1.5, "high": 2.0, "count": 0, "ratio": 0.0},
            ],
        },
    )


TEXTS = st.none() | st.text(max_size=2)


@given(st.dictionaries(TEXTS, st.integers(1, 4), max_size=30))
def test_values_are_told_by_how_often_they_come_and_then_by_their_bytes(counts: dict[str | None, int]) -> None:
    found = of_values(counts)
    told: list[dict[str, Any]] = found.detail["bins"]
    assert {each["value"]: each["count"] for each in told} == counts
    assert (found.value, found.detail["rows"]) == (len(counts), sum(counts.values()))
    ranks = [(-each["count"], each["value"] is not None, (each["value"] or "").encode()) for each in told]
    assert ranks == sorted(ranks)


def test_the_most_frequent_values_alone_are_told() -> None:
    counts: dict[str | None, int] = {f"{at:05}": 1 + (at >= 2) for at in range(MOST_VALUES + 2)}
    found = of_values(counts)
    assert found.value == MOST_VALUES + 2
    assert found.detail["rows"] == 2 * MOST_VALUES + 2
    assert [each["value"] for each in found.detail["bins"]] == [f"{at:05}" for at in range(2, MOST_VALUES + 2)]


def measured(folder: Path, *wanted: MeasurementRequest) -> dict[str, Measured]:
    """Told of the table ``rides`` in this folder, without Spark."""
    report = report_without_spark(Table(name="rides", storage="parquet", location=str(folder)), wanted)
    assert report is not None
    return dict(report.measured)


def histogram(column: str, bins: int | None = None, where: str | None = None) -> MeasurementRequest:
    spec = MetricSpec(
        name="histogram", columns=(column,), options=() if bins is None else (("bins", bins),), where=where
    )
    return MeasurementRequest(key=spec.text, spec=spec)


def test_histograms_of_one_scan_are_told_of_the_rows_that_each_counts(tmp_path: Path) -> None:
    columns = {"x": [1, 4, 7, None, 5], "city": ["oslo", None, "rome", "oslo", "bern"], "n": [1, 2, 3, 4, 5]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    kept = "city = 'oslo'"
    every = [histogram("city"), histogram("X", 3), histogram("city", where="n < 3"), histogram("x", 1, kept)]
    cities, thirds, few, one = measured(tmp_path, *every).values()
    assert cities == of_values({"oslo": 2, None: 1, "rome": 1, "bern": 1})
    assert thirds == of_bins(Bins(low=1.0, width=2.0, count=3), {0: 1, 1: 1, 2: 2, None: 1})
    assert few == of_values({"oslo": 1, None: 1})
    assert one == of_bins(Bins(low=1.0, width=1.0, count=1), {0: 1, None: 1})


def test_a_histogram_of_no_rows_has_nothing_and_one_of_infinite_numbers_no_bins(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, float("inf")]}), tmp_path / "a.parquet")
    assert list(measured(tmp_path, histogram("x", 2, "x < 0"), histogram("x", 2, "x = 1")).values()) == [
        NOTHING,
        of_bins(Bins(low=1.0, width=1.0, count=2), {0: 1}),
    ]
    (infinite,) = measured(tmp_path, histogram("x", 2)).values()
    assert infinite.failure is not None
    assert infinite.failure.reason is Reason.NOT_FINITE
    assert infinite.failure.detail == (
        "histogram(x, bins=2) of rides has values from 1.0 to inf; leave some out with where="
    )


def test_the_ends_of_bins_are_asked_for_as_doubles_of_the_rows_that_count() -> None:
    write = expressions({"x": "bigint"})
    low, high = ends_of(histogram("x", 2, "x > 1"), write)
    assert [each.statistic.gather for each in (low, high)] == [Gather.MIN, Gather.MAX]
    assert [each.statistic.column for each in (low, high)] == ["x", "x"]
    assert [each.where for each in (low, high)] == [write.condition("x > 1")] * 2
    assert ends_asked([histogram("x"), histogram("x", 2, "x > 1")], write) == [low, high]


def test_values_are_counted_of_histograms_that_have_no_bins() -> None:
    (asked,) = values_asked([histogram("x", 2), histogram("city", where="x > 1")], expressions({"x": "bigint"}))
    assert (asked.by, len(asked.requests)) == (("city",), 1)


def test_too_many_values_are_left_to_spark_with_the_reason() -> None:
    assert of_groups(GroupResults(too_many=True)) == Left(
        kind=FallbackKind.ROWS, why="there are more than 100,000 values"
    )


def test_bins_are_counted_of_the_columns_that_they_and_their_conditions_name() -> None:
    stored = {name: Stored(spark="bigint", arrow=pa.int64()) for name in ("x", "n", "other")}
    wide = [(histogram("x", 2, "n > 1"), Bins(low=0.0, width=1.0, count=2)), (ITEM, Bins(low=1.0, width=2.0, count=3))]
    program = binning(wide, expressions(dict.fromkeys(stored, "bigint")), stored)
    assert set(program.columns) == {"x", "n"}
    assert [(each.low, each.width, each.bins) for each in program.binned] == [(0.0, 1.0, 2), (1.0, 2.0, 3)]


def test_what_tasks_count_in_bins_adds_up_and_is_nothing_where_one_failed() -> None:
    wide = [(histogram("x", 2), Bins(low=0.0, width=1.0, count=2)), (ITEM, Bins(low=1.0, width=2.0, count=3))]
    one = TaskResult(bins=[np.array([1, 2, 3]), np.array([4, 0, 0, 1])])
    other = TaskResult(bins=[np.array([0, 5, 1]), np.array([0, 7, 0, 0])])
    assert in_bins(wide, [one, other]) == {
        "histogram(x, bins=2)": of_bins(wide[0][1], {0: 1, 1: 7, None: 4}),
        "h": of_bins(wide[1][1], {0: 4, 1: 7, None: 1}),
    }
    assert in_bins(wide, [one, TaskResult(failed="a file cannot be read")]) == {}
