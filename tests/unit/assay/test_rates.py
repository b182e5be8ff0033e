"""Rates as operators write them."""

import pytest
from pydantic import ValidationError

from assay.config import RATES, Config, merged, parse_rate


@pytest.mark.parametrize(
    ("text", "meant"), [("600/m", (600, 60)), ("1/s", (1, 1)), ("5/h", (5, 3600)), ("9/d", (9, 86400))]
)
def test_a_rate_is_so_many_within_so_many_seconds(text: str, meant: tuple[int, int]) -> None:
    assert parse_rate(text) == meant


@pytest.mark.parametrize(
    "text", ["", "0/m", "-1/m", "1.5/m", "600", "600/minute", "600/w", "m/600", "9999999999/m", "5/M", "5\u0665/m"]
)
def test_what_is_no_rate_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 600/m") as refused:
        parse_rate(text)
    assert str(refused.value) == (f"{text!r} is no rate: write a number, a slash and one of s, m, h, d, such as 600/m")


def test_a_rate_has_at_most_nine_digits() -> None:
    assert parse_rate("999999999/d") == (999_999_999, 86_400)


def test_an_operator_changes_some_and_keeps_the_others() -> None:
    assert merged({"gate": "9/s"}) == {**RATES, "gate": "9/s"}


@pytest.mark.parametrize("rates", [{"gates": "9/s"}, {"gate": "often"}])
def test_a_wrong_rate_is_told_when_the_service_starts(rates: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"no such kind|is no rate"):
        Config(rates=rates)


def test_a_kind_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no such kind") as refused:
        merged({"gates": "9/s", "a": "1/s", "gate": "2/s"})
    assert str(refused.value) == (
        "a, gates: no such kind of request; there are read, write, gate, query, report, run, anonymous, "
        "login, login-address, login-name"
    )


def test_the_usual_rates_are_those_that_operators_are_told_of() -> None:
    assert {kind: parse_rate(rate) for kind, rate in RATES.items()} == {
        "read": (1200, 60),
        "write": (300, 60),
        "gate": (1200, 60),
        "query": (120, 60),
        "report": (30, 60),
        "run": (60, 60),
        "anonymous": (60, 60),
        "login": (10, 60),
        "login-address": (60, 60),
        "login-name": (100, 3600),
    }
