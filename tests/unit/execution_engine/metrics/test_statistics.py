from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.definitions.numeric import CORRELATION
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import Gather, Statistic, over_nothing

FLOATS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30)
PARTS = st.lists(FLOATS, min_size=1, max_size=6)
PAIRS = st.lists(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1), min_size=1, max_size=6)


def statistic(gather: Gather) -> Statistic:
    return Statistic(gather=gather, of=("x",))


def moments(values: Sequence[float]) -> tuple[float, ...]:
    return len(values), float(np.mean(values)), float(np.var(values) * len(values))


def comoments(pairs: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    x, y = np.array(pairs).T
    dx, dy = x - x.mean(), y - y.mean()
    return len(x), x.mean(), y.mean(), (dx * dx).sum(), (dy * dy).sum(), (dx * dy).sum()


OF_NUMBERS: dict[Gather, Callable[[Sequence[float]], Any]] = {
    Gather.COUNT: len,
    Gather.SUM: np.sum,
    Gather.MIN: np.min,
    Gather.MAX: np.max,
    Gather.MOMENTS: moments,
}


@pytest.mark.parametrize("gather", OF_NUMBERS)
@given(parts=PARTS)
def test_a_statistic_of_parts_is_that_of_their_union(gather: Gather, parts: list[list[float]]) -> None:
    of = OF_NUMBERS[gather]
    merged = merge(statistic(gather), [of(part) for part in parts])
    assert merged == pytest.approx(of([value for part in parts for value in part]), rel=1e-7, abs=1e-3)


@given(parts=PAIRS)
def test_products_of_deviations_merge(parts: list[list[tuple[float, float]]]) -> None:
    merged = merge(statistic(Gather.COMOMENTS), [comoments(part) for part in parts])
    assert merged == pytest.approx(comoments([pair for part in parts for pair in part]), rel=1e-7, abs=1e-3)


def test_deviations_far_from_zero_do_not_cancel() -> None:
    """Sums of squares would lose all digits here."""
    parts = [[1e9 + 1, 1e9 + 2], [1e9 + 3]]
    merged = merge(statistic(Gather.MOMENTS), [moments(part) for part in parts])
    assert merged[2] == pytest.approx(2)


@pytest.mark.parametrize("gather", Gather)
def test_a_part_without_rows_changes_nothing(gather: Gather) -> None:
    nothing = over_nothing(statistic(gather))
    assert merge(statistic(gather), [nothing, nothing]) == nothing


def test_a_value_that_is_not_a_number_is_the_greatest() -> None:
    values = [1.0, float("nan"), 2.0]
    assert merge(statistic(Gather.MIN), values) == 1
    assert np.isnan(merge(statistic(Gather.MAX), values))


NAN = float("nan")


@pytest.mark.parametrize(
    ("gather", "values", "found"),
    [
        (Gather.COUNT, [], 0),
        (Gather.COUNT, [None, 2, 3], 5),
        *[(Gather.SUM, [], None), (Gather.SUM, [None, 2, 3], 5), (Gather.SUM, [None, 2], 2)],
        (Gather.LONG_SUM, [2**62, 2**62], 2**63),
        (Gather.MIN, [3, None, 1, 2], 1),
        (Gather.MAX, [3, None, 1, 2], 3),
        (Gather.MIN, [5.0, NAN, 1.0], 1.0),
        (Gather.MAX, [NAN, 1.0, 5.0], NAN),
        (Gather.MIN, [NAN, NAN], NAN),
        (Gather.MOMENTS, [(1, 2.0, 0.0), (1, 4.0, 0.0)], (2, 3.0, 2.0)),
        (Gather.MOMENTS, [(1, 2.0, 0.0), None, (3, 6.0, 6.0)], (4, 5.0, 18.0)),
        (
            Gather.COMOMENTS,
            [(1, 2.0, 1.0, 0.0, 0.0, 0.0), (3, 6.0, 5.0, 6.0, 3.0, 1.0)],
            (4, 5.0, 4.0, 18.0, 15.0, 13.0),
        ),
    ],
)
def test_what_is_not_there_is_left_out_of_a_union(gather: Gather, values: list[Any], found: Any) -> None:
    merged = merge(statistic(gather), values)
    assert repr(merged) == repr(found)


def test_keys_of_parts_follow_each_other() -> None:
    merged = merge(statistic(Gather.KEYS), [np.array([3, 1]), None, np.array([1])])
    assert list(merged) == [3, 1, 1]


def test_the_order_of_parts_does_not_matter_where_one_is_no_number() -> None:
    for values in ([NAN, 1.0], [1.0, NAN]):
        assert merge(statistic(Gather.MIN), values) == 1.0
        assert np.isnan(merge(statistic(Gather.MAX), values))


@pytest.mark.parametrize(("sums", "value"), [((3.0, 3.0, 3.0), 1.0), ((3.0, 3.0, -3.0), -1.0), ((4.0, 4.0, 2.0), 0.5)])
def test_a_column_that_is_another_correlates_with_one_and_no_digit_more(
    sums: tuple[float, float, float], value: float
) -> None:
    spec = MetricSpec(name="correlation", columns=("a", "b"))
    assert CORRELATION.value is not None
    assert CORRELATION.value(spec, {"comoments": (3, 0.0, 0.0, *sums)}) == value
