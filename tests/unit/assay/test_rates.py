"""Rates as operators write them."""

import pytest
from pydantic import ValidationError

from assay.config import Config
from assay.rates import RATES, merged, parse_rate


@pytest.mark.parametrize(
    ("text", "meant"), [("600/m", (600, 60)), ("1/s", (1, 1)), ("5/h", (5, 3600)), ("9/d", (9, 86400))]
)
def test_a_rate_is_so_many_within_so_many_seconds(text: str, meant: tuple[int, int]) -> None:
    assert parse_rate(text) == meant


@pytest.mark.parametrize("text", ["", "0/m", "-1/m", "1.5/m", "600", "600/minute", "600/w", "m/600", "9999999999/m"])
def test_what_is_no_rate_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 600/m"):
        parse_rate(text)


def test_an_operator_changes_some_and_keeps_the_others() -> None:
    assert merged({"gate": "9/s"}) == {**RATES, "gate": "9/s"}


@pytest.mark.parametrize("rates", [{"gates": "9/s"}, {"gate": "often"}])
def test_a_wrong_rate_is_told_when_the_service_starts(rates: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"no such kind|is no rate"):
        Config(rates=rates)


def test_the_usual_rates_can_be_read() -> None:
    assert all(parse_rate(rate) for rate in RATES.values())
