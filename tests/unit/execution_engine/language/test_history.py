"""Functions over past windows."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.exact import Number
from execution_engine.language.evaluate import evaluate
from execution_engine.language.parse import parse
from execution_engine.outcome import Failure, Outcome, Reason

REFERENCE: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": np.mean,
    "median": np.median,
    "stddev": np.std,
    "min": np.min,
    "max": np.max,
}
PAST = "mean(row_count(), last=7)"


def aggregated(call: str, values: Sequence[float | None]) -> Number | None:
    """What ``call`` makes of the past values."""
    return evaluate(parse(f"{call} >= 0"), {call: values}).operands[call]


def today(count: float, past: Sequence[float | None]) -> Outcome:
    """Whether today is within 15 % of the mean of seven days."""
    tree = parse(f"abs(row_count() / {PAST} - 1) <= 15 %")
    return evaluate(tree, {"row_count()": count, PAST: past}).outcome


@pytest.mark.parametrize("function", REFERENCE)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_functions_agree_with_numpy_over_the_population(function: str, values: list[float]) -> None:
    found = aggregated(f"{function}(row_count(), last=30, min=1)", values)
    assert found == pytest.approx(float(REFERENCE[function](values)), rel=1e-9, abs=1e-3)


def test_the_deviation_of_equal_values_is_exactly_nothing() -> None:
    assert aggregated("stddev(row_count(), last=7)", [0.1] * 7) == 0


def test_a_deviation_near_the_largest_number_is_still_one() -> None:
    assert aggregated("stddev(row_count(), last=7)", [1e300, -1e300] * 3) == pytest.approx(1e300)


def test_missing_windows_are_passed_over() -> None:
    assert aggregated(PAST, [None, 10.0, None, 20.0, float("nan"), 30.0, 40.0]) == 25


def test_only_the_newest_windows_count() -> None:
    assert aggregated("mean(row_count(), last=2)", [1000.0, 1.0, 3.0]) == 2


@pytest.mark.parametrize(
    ("call", "known", "outcome"),
    [
        ("mean(row_count(), last=7)", 4, Outcome.HELD),
        ("mean(row_count(), last=7)", 3, Outcome.ERROR),
        ("mean(row_count(), last=7, min=2)", 2, Outcome.HELD),
        ("mean(row_count(), last=7, min=2)", 1, Outcome.ERROR),
        ("mean(row_count(), last=1)", 0, Outcome.ERROR),
    ],
)
def test_too_few_past_windows_are_warming_up(call: str, known: int, outcome: Outcome) -> None:
    verdict = evaluate(parse(f"{call} >= 0"), {call: [1.0] * known + [None] * 3})
    assert verdict.outcome is outcome
    assert (verdict.failure.reason if verdict.failure else None) in (None, Reason.WARMING_UP)


def test_a_failure_to_look_back_is_told_before_warming_up() -> None:
    other = "max(row_count(), last=7)"
    lost = Failure(reason=Reason.ENGINE_UNREACHABLE)
    assert evaluate(parse(f"{PAST} > {other}"), {PAST: [], other: lost}).failure == lost


def test_a_history_too_large_to_be_held_is_an_error() -> None:
    verdict = evaluate(parse(f"{PAST} > 0"), {PAST: [1.7e308] * 7})
    assert verdict.failure is not None
    assert verdict.failure.reason is Reason.NOT_FINITE


@pytest.mark.parametrize(("count", "outcome"), [(115, "held"), (116, "broken"), (85, "held"), (84, "broken")])
def test_today_is_held_against_the_mean_of_seven_days(count: float, outcome: str) -> None:
    assert today(count, [90.0, 110.0, 100.0, 100.0, 95.0, 105.0, 100.0]) == outcome


def test_the_last_known_window_is_taken_however_old_within_the_reach() -> None:
    assert aggregated("last(row_count(), last=7)", [1.0, 5.0, None, 6.0, None, None]) == 6
    assert aggregated("last(row_count(), last=2)", [5.0, None, 6.0, None, None]) is None


def test_a_lag_is_one_window_and_no_other() -> None:
    assert aggregated("lag(row_count(), 7)", [5.0]) == 5
    for missing in ([None], [], [float("nan")]):
        verdict = evaluate(parse("lag(row_count(), 7) > 0"), {"lag(row_count(), 7)": missing})
        assert verdict.failure is not None
        assert verdict.failure.reason is Reason.WARMING_UP
