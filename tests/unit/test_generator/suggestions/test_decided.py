"""What somebody has decided of is offered no more."""

import pytest

from test_generator.suggestions.suggest import Decided, Suggestion, as_yaml, still_offered


def a_suggestion(rule: str = "HasMax", assertion: str = "max(price) <= 9", *columns: str, held: int = 2) -> Suggestion:
    """One that two windows have tried."""
    return Suggestion(
        rule=rule, columns=columns or ("price",), assertion=assertion, why="", fitted=8, held=held, tried=2, cost=""
    )


@pytest.mark.parametrize(
    ("other", "is_offered"),
    [
        (a_suggestion(), False),
        (a_suggestion("HasMax", "max(price) <= 10"), False),
        (a_suggestion("HasMax", "max(PRICE) <= 10", "PRICE"), False),
        (a_suggestion("Another", "max(price) <= 9"), False),
        (a_suggestion("HasMin", "min(price) >= 0"), True),
        (a_suggestion("HasMax", "max(fare) <= 9", "fare"), True),
    ],
)
def test_a_decision_covers_the_assertion_and_the_rule_on_its_columns(other: Suggestion, is_offered: bool) -> None:
    decided = [Decided(rule="HasMax", columns=("price",), assertion="max(price) <= 9")]
    assert still_offered([other], decided, ()) == ([other] if is_offered else [])


def test_a_key_is_the_same_in_whatever_order_its_columns_are_named() -> None:
    decided = [Decided(rule="Key", columns=("a", "b"), assertion="uniqueness(a, b) = 1")]
    assert still_offered([a_suggestion("Key", "uniqueness(b, a) = 1", "b", "a")], decided, ()) == []


def test_what_a_live_test_asserts_is_not_offered() -> None:
    assert still_offered([a_suggestion()], (), {"max(price) <= 9"}) == []


@pytest.mark.parametrize(("held", "is_sound"), [(2, True), (1, False), (0, False)])
def test_it_is_sound_where_it_held_on_all_that_tried_it(held: int, is_sound: bool) -> None:
    assert a_suggestion(held=held).is_sound is is_sound


def test_names_of_long_columns_stay_apart() -> None:
    long = "x" * 200
    text = as_yaml([a_suggestion("HasMax", "a", long), a_suggestion("HasMax", "b", f"{long}y")], "raw.t")
    assert f"has-max-{'x' * 60}\n" in text
    assert f"has-max-{'x' * 60}-2\n" in text
