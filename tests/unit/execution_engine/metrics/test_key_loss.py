import pytest

from execution_engine.metrics.keys.filter_shape import Loss

MANY = 10**9


@pytest.mark.thorough
@pytest.mark.parametrize("missed", [0, 1, 50, 1000, 1001, 20_000, 3_000_000])
@pytest.mark.parametrize("error_rate", [0.01, 0.001, 1e-12])
def test_no_more_are_hidden_than_stated_with_a_confidence_of_three_nines(missed: int, error_rate: float) -> None:
    from scipy.stats import nbinom

    stated = Loss(keys=MANY, missed=missed, error_rate=error_rate).hidden_at_most
    assert nbinom.cdf(stated - 1, missed + 1, 1 - error_rate) < 0.999 <= nbinom.cdf(stated, missed + 1, 1 - error_rate)


def test_what_is_found_is_corrected_for_what_is_hidden() -> None:
    loss = Loss(keys=1_000_000, missed=9_900, error_rate=0.01)
    assert (loss.hidden, loss.found) == (100, 990_000)


def test_no_more_are_hidden_than_there_are() -> None:
    loss = Loss(keys=1000, missed=1000, error_rate=0.01)
    assert (loss.hidden, loss.hidden_at_most, loss.found) == (0, 0, 0)
