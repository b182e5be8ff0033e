"""The arithmetic of assertions, its precision and its limits."""

from decimal import Decimal

import pytest

from execution_engine.language.evaluate import calculate, call, compare, negate
from execution_engine.language.parse import parse
from execution_engine.language.tree import By, Comparator, Function, History, HistoryFunction, Metric, Operator
from execution_engine.metrics.spec import MetricSpec

ONE, THREE = Decimal(1), Decimal(3)


@pytest.mark.parametrize(("digits", "equal"), [(60, False), (61, True)])
def test_numbers_are_compared_by_their_first_sixty_digits(digits: int, equal: bool) -> None:
    more = Decimal(f"1.{'0' * (digits - 2)}1")
    assert compare(Comparator.EQUAL, ONE, more) is equal
    assert compare(Comparator.LESS, ONE, more) is not equal


def test_results_keep_eighty_digits() -> None:
    assert calculate(Operator.DIVIDE, ONE, THREE) == Decimal(f"0.{'3' * 80}")


@pytest.mark.parametrize("sign", [1, -1])
def test_what_no_number_holds_is_infinite_and_what_is_too_small_is_nothing(sign: int) -> None:
    large, small = sign * Decimal("9e9999"), sign * Decimal("1e-9999")
    assert calculate(Operator.MULTIPLY, large, ONE) == large
    assert calculate(Operator.MULTIPLY, large, Decimal(10)) == sign * Decimal("inf")
    assert calculate(Operator.MULTIPLY, small, ONE) == small
    assert calculate(Operator.MULTIPLY, small, Decimal("1e-90")) == 0
    assert compare(Comparator.EQUAL, large, large)
    assert compare(Comparator.EQUAL, small, small)


def test_a_null_goes_through_all_but_coalesce() -> None:
    assert [calculate(operator, None, ONE) for operator in Operator] == [None] * 4
    assert [calculate(operator, ONE, None) for operator in Operator] == [None] * 4
    assert [compare(comparator, ONE, None) for comparator in Comparator] == [None] * 6
    assert [negate(None), negate(ONE), negate(-ONE)] == [None, -ONE, ONE]
    found = [call(function, (None, THREE, ONE)) for function in (Function.LEAST, Function.GREATEST, Function.COALESCE)]
    assert found == [None, None, 3]
    assert [call(function, (ONE, THREE)) for function in (Function.LEAST, Function.GREATEST)] == [1, 3]
    assert [call(Function.ABS, (-THREE,)), call(Function.COALESCE, (None,))] == [THREE, None]
    assert calculate(Operator.DIVIDE, ONE, Decimal(0)) is None


@pytest.mark.parametrize(
    ("said", "seconds"), [("90s", 90), ("1.5m", 90), ("4h", 14_400), ("2d", 172_800), ("1w", 604_800)]
)
def test_a_duration_is_so_many_seconds(said: str, seconds: float) -> None:
    assert f"Duration(seconds={float(seconds)})" in repr(parse(f"f() < {said}"))


def test_a_tree_that_was_never_written_knows_no_places() -> None:
    metric = Metric(spec=MetricSpec(name="row_count"))
    history = History(function=HistoryFunction.MEAN, metric=metric, last=7)
    condition = parse("1 < 2")
    assert not isinstance(condition, By)
    groups = By(condition=condition, columns=("city",))
    assert {part.at("last") for part in (metric, history, groups)} == {metric.place}
    assert (metric.dataset, metric.datacenter, metric.ago, history.min, history.every) == (None,) * 5
    assert [part.parts for part in (metric, history, groups)] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("function", "last", "least", "needed"),
    [("mean", 7, None, 4), ("mean", 8, None, 4), ("mean", 8, 3, 3), ("last", 7, None, 1), ("lag", 7, None, 1)],
)
def test_so_many_past_windows_are_needed(function: str, last: int, least: int | None, needed: int) -> None:
    metric = Metric(spec=MetricSpec(name="row_count"))
    assert History(function=HistoryFunction(function), metric=metric, last=last, min=least).needed == needed
