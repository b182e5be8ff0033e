from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.statistics import Gather, Statistic, merge, over_nothing

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
