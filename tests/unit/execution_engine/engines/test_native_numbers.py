"""Numbers of the kernels against Python's own: decimals of any length, texts of numbers, quantiles, equal numbers."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.native.evaluation import RowBatch
from execution_engine.engines.native.language import ColumnNode, UnableToTell, compiled
from execution_engine.engines.native.partials import LARGEST_SUM, Gathered, Partials, of_batches
from execution_engine.engines.native.values import values_of
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import Gather, Statistic

OPERATORS: Mapping[str, Any] = {"<": np.less, "<=": np.less_equal, "=": np.equal, "<>": np.not_equal, ">": np.greater}
WIDE = (pa.decimal128(30, 6), "decimal(30,6)")
HUGE = (pa.uint64(), "decimal(20,0)")
PRICE = (pa.decimal128(12, 2), "decimal(12,2)")
DOUBLE = (pa.float64(), "double")
BIGINT = (pa.int64(), "bigint")
A = (ColumnNode(name="a"),)
LONGEST = (pa.decimal128(38, 0), "decimal(38,0)")
wides = st.decimals(-(10**23), 10**23, places=6)
huges = st.integers(0, 2**64 - 1)
doubles = st.floats(-1e6, 1e6).filter(lambda number: number != 0 or np.copysign(1, number) > 0)


def batch_of(**columns: tuple[Sequence[Any], tuple[pa.DataType, str]]) -> RowBatch:
    found = {name: values_of(pa.array(values, arrow), spark) for name, (values, (arrow, spark)) in columns.items()}
    return RowBatch(rows=len(next(iter(columns.values()))[0]), columns=lambda name: found[name])


def met(condition: str, **columns: tuple[Sequence[Any], tuple[pa.DataType, str]]) -> list[bool]:
    return list(batch_of(**columns).met(compiled(condition)).yes.tolist())


def gathered(one: Gathered, batches: Sequence[RowBatch]) -> list[Any]:
    partials = Partials(statistics=[one], counted=[])
    for batch in batches:
        partials.add(batch)
    if partials.unable:
        raise UnableToTell(partials.unable[0])
    return list(of_batches(one, partials.values_by_place[0]))


@given(st.lists(wides, min_size=1), wides, st.sampled_from(sorted(OPERATORS)))
def test_long_decimals_compare_with_a_literal_as_decimals_do(values: list[Decimal], bound: Decimal, by: str) -> None:
    expected = [bool(OPERATORS[by](value, bound)) for value in values]
    assert met(f"a {by} {bound:f}", a=(values, WIDE)) == expected


@given(
    st.lists(st.tuples(wides, st.decimals(-(10**9), 10**9, places=2)), min_size=1), st.sampled_from(sorted(OPERATORS))
)
def test_decimals_of_two_scales_compare_as_decimals_do(pairs: list[tuple[Decimal, Decimal]], by: str) -> None:
    left, right = map(list, zip(*pairs, strict=True))
    expected = [bool(OPERATORS[by](*pair)) for pair in pairs]
    assert met(f"a {by} b", a=(left, WIDE), b=(right, PRICE)) == expected


@given(st.lists(huges, min_size=1), huges)
def test_unsigned_numbers_compare_and_are_written_with_every_digit(values: list[int], other: int) -> None:
    assert met(f"a >= {other}", a=(values, HUGE)) == [value >= other for value in values]
    assert met(f"cast(a as string) = '{other}'", a=([*values, other], HUGE)) == [value == other for value in values] + [
        True
    ]


@given(st.lists(st.lists(wides, min_size=1), min_size=1))
def test_long_decimals_are_added_up_with_every_digit(batches: list[list[Decimal]]) -> None:
    told = gathered(Gathered(gather="sum", of=A), [batch_of(a=(each, WIDE)) for each in batches])
    with localcontext(prec=100):
        expected = sum((value for each in batches for value in each), Decimal(0))
    assert merge(Statistic(gather=Gather.SUM, of=("a",)), told) == expected


@given(st.lists(st.lists(st.none() | doubles, min_size=1), min_size=1), st.floats(0, 1))
def test_a_quantile_of_batches_is_that_of_all_their_numbers(batches: list[list[float | None]], share: float) -> None:
    one = Gathered(gather="percentile", of=A, argument=share)
    told = gathered(one, [batch_of(a=(each, DOUBLE)) for each in batches])
    numbers = [number for each in batches for number in each if number is not None]
    assert len(told) == min(1, len(numbers))
    if numbers:
        assert told[0] == pytest.approx(np.quantile(numbers, share), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(("gather", "numbers"), [("sum", [1.7e308, 1.7e308, -1.7e308]), ("moments", [1e160, -1e160])])
def test_a_sum_that_is_an_infinity_in_some_order_is_left_to_spark(gather: str, numbers: list[float]) -> None:
    with pytest.raises(UnableToTell, match="too large"):
        gathered(Gathered(gather=gather, of=A), [batch_of(a=(numbers, DOUBLE))])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("gather", "least"),
    [("sum", LARGEST_SUM / 4), ("moments", (LARGEST_SUM / 4) ** 0.5), ("comoments", (LARGEST_SUM / 4) ** 0.5)],
)
def test_sums_are_told_as_long_as_all_magnitudes_together_are_no_infinity(gather: str, least: float, sign: int) -> None:
    """Of moments it is the squares that are added up."""
    one = Gathered(gather=gather, of=(*A, ColumnNode(name="b"))[: 2 if gather == "comoments" else 1])
    others = [sign * least / 3, sign * least / 7, 0.0], DOUBLE
    largest = batch_of(a=([*others[0], sign * least * 0.99], DOUBLE), b=(list(range(4)), DOUBLE))
    assert len(gathered(one, [largest])) == 1
    with pytest.raises(UnableToTell, match=r"^a sum on the way may be too large for a double$"):
        gathered(one, [batch_of(a=([*others[0], sign * least * 1.01], DOUBLE), b=(list(range(4)), DOUBLE))])


@pytest.mark.parametrize(
    ("gather", "values", "type_", "why"),
    [
        ("sum", ["x"], (pa.string(), "string"), "text is no number"),
        ("sum", [True], (pa.bool_(), "boolean"), "truth has no sum"),
        ("sum", [1], (pa.timestamp("us", "UTC"), "timestamp"), "timestamp has no sum"),
        ("sum", [1], (pa.timestamp("us"), "timestamp_ntz"), "timestamp_ntz has no sum"),
        ("min", [True], (pa.bool_(), "boolean"), "truth has no extreme that is a number"),
        ("max", [b"x"], (pa.binary(), "binary"), "bytes is no number"),
        ("max", [date(2026, 1, 1)], (pa.date32(), "date"), "date has no extreme that is a number"),
        ("moments", [date(2026, 1, 1)], (pa.date32(), "date"), "date is no number"),
        ("sum", [10**32, 1], LONGEST, "a sum on the way may be too long for Spark"),
        ("percentile", [0.0, -0.0], DOUBLE, "a quantile among zeros of both signs is Spark's"),
        ("percentile", [1.0, -0.0], DOUBLE, "a quantile among zeros of both signs is Spark's"),
        ("hll", ["x" * 5000], (pa.string(), "string"), "texts of thousands of bytes are Spark's to hash"),
    ],
)
def test_what_is_not_surely_gathered_alike_is_left_to_spark_with_the_reason(
    gather: str, values: list[Any], type_: tuple[pa.DataType, str], why: str
) -> None:
    with pytest.raises(UnableToTell) as left:
        gathered(Gathered(gather=gather, of=A), [batch_of(a=(values, type_))])
    assert str(left.value) == why


def test_a_sum_of_decimals_is_told_up_to_the_longest() -> None:
    (found,) = gathered(Gathered(gather="sum", of=A), [batch_of(a=([10**32 - 1, 1], LONGEST))])
    assert found == Decimal(10**32)


@pytest.mark.parametrize("then", ["1", "'x'", "1.5", "a", "b"])
@pytest.mark.parametrize("where", [None, "a is null or a < 5"])
def test_what_stands_where_a_condition_is_met_is_counted_where_it_is_no_null(then: str, where: str | None) -> None:
    whens = compiled(f"case when a > 2 or b then {then} end")
    one = Gathered(gather="count", of=(whens,), where=None if where is None else compiled(where))
    rows = [(1, True), (None, True), (3, None), (4, False), (5, True), (0, False), (None, None)]
    batch = batch_of(a=([a for a, _ in rows], BIGINT), b=([b for _, b in rows], (pa.bool_(), "boolean")))
    expected = [
        {"a": a, "b": b}.get(then, 1) is not None
        for a, b in rows
        if ((a is not None and a > 2) or b) and (where is None or a is None or a < 5)
    ]
    assert gathered(one, [batch]) == [sum(expected)]


@pytest.mark.parametrize("numbers", [[-0.0, -0.0], [-5e-324, 0.0, 0.0], [-0.0]])
def test_no_mean_is_a_zero_with_a_sign(numbers: list[float]) -> None:
    ((_, mean, _),) = gathered(Gathered(gather="moments", of=A), [batch_of(a=(numbers, DOUBLE))])
    assert repr(mean) == "0.0"


@pytest.mark.parametrize("numbers", [[np.inf, 1.0], [np.nan, 1e300], [np.inf, -np.inf]])
def test_a_sum_of_what_is_infinite_is_the_same_in_any_order(numbers: list[float]) -> None:
    one = Gathered(gather="sum", of=A)
    assert repr(gathered(one, [batch_of(a=(numbers, DOUBLE))])[0]) == repr(float(sum(numbers)))


@pytest.mark.parametrize(
    ("numbers", "why"),
    [([np.inf, 1.0, 2.0], "infinite"), ([1.0, -np.inf, np.inf], "infinite"), ([5e-324, 0.0, 0.0], "next to nothing")],
)
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_pairs_whose_products_hang_on_their_order_are_left_to_spark(numbers: list[float], why: str, names: str) -> None:
    batch = batch_of(a=(numbers, DOUBLE), b=([1.0, 2.0, 4.0], DOUBLE))
    pair = tuple(ColumnNode(name=name) for name in names)
    with pytest.raises(UnableToTell, match=why):
        gathered(Gathered(gather="comoments", of=pair), [batch])


def test_pairs_with_a_nan_are_nan_in_any_order() -> None:
    batch = batch_of(a=([np.nan, 1.0, 2.0], DOUBLE), b=([1.0, 2.0, 4.0], DOUBLE))
    ((count, x, y, xx, yy, xy),) = gathered(Gathered(gather="comoments", of=(*A, ColumnNode(name="b"))), [batch])
    assert (count, y, yy) == (3, pytest.approx(7 / 3), pytest.approx(14 / 3))
    assert np.isnan([x, xx, xy]).all()


@pytest.mark.parametrize("numbers", [[0.0, -0.0], [-0.0, 0.0], [-0.0]])
@pytest.mark.parametrize("gather", ["min", "max", "sum"])
def test_zeros_of_both_signs_are_one_whichever_comes_first(gather: str, numbers: list[float]) -> None:
    (found,) = gathered(Gathered(gather=gather, of=A), [batch_of(a=(numbers, DOUBLE))])
    assert repr(found) == "0.0"


@given(st.floats(-1e140, 1e140), st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_what_is_always_the_same_deviates_by_nothing_however_often_it_comes(number: float, counts: list[int]) -> None:
    batches = [
        batch_of(a=([number] * count, DOUBLE), b=([float(at) for at in range(count)], DOUBLE)) for count in counts
    ]
    moments = merge(
        Statistic(gather=Gather.MOMENTS, of=("a",)),
        gathered(Gathered(gather="moments", of=A), batches),
    )
    both = Gathered(gather="comoments", of=(*A, ColumnNode(name="b")))
    comoments = merge(Statistic(gather=Gather.COMOMENTS, of=("a", "b")), gathered(both, batches))
    assert repr(moments) == repr((sum(counts), number + 0.0, 0.0))
    assert (comoments[1], comoments[3], comoments[5]) == (number, 0.0, 0.0)


@given(st.lists(st.none() | st.booleans(), max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_truths_of_some_rows_are_those_of_the_rows(values: list[bool | None], start: int, count: int) -> None:
    rows = values[start : start + count]
    found = values_of(pa.array(values, pa.bool_()).slice(min(start, len(values)), count), "boolean")
    absent = [False] * len(rows) if found.null is None else found.null.tolist()
    assert absent == [value is None for value in rows]
    assert [truth for truth, value in zip(found.whole.tolist(), rows, strict=True) if value is not None] == [
        value for value in rows if value is not None
    ]
