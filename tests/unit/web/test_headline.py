"""What an incident leads with: plain words and the worst value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.rendering.headline import WorstResult, headline, share

DAY = "2026-03-15"


def worst(
    test: str, value: float | None, *, is_standard: bool = True, keys: str = DAY, columns: tuple[str, ...] = ()
) -> WorstResult:
    return WorstResult(
        test=test,
        category=test.partition(":")[0],
        is_standard=is_standard,
        keys=keys,
        value=value,
        columns=columns,
        datacenter="sea",
        spoils="phx",
    )


@pytest.mark.parametrize(
    ("test", "value", "said"),
    [
        ("completeness:raw.trips", 0.8, "20 % of the rows are missing on 2026-03-15."),
        ("completeness:raw.trips", 0.9431, "5.7 % of the rows are missing on 2026-03-15."),
        ("completeness:raw.trips", 0.9995, "Less than 0.1 % of the rows are missing on 2026-03-15."),
        ("completeness:raw.trips", 0.0, "All of the rows are missing on 2026-03-15."),
        ("completeness:raw.trips", 2.0, "There are 2 times as many rows as in raw.trips on 2026-03-15."),
        ("completeness:raw.trips", 1.25, "There are 25 % more rows than in raw.trips on 2026-03-15."),
        (
            "completeness-sample:app.orders",
            0.5,
            "50 % of the rows that were drawn from app.orders are missing on 2026-03-15.",
        ),
        ("duplicates", 0.02, "2 % of the rows are duplicates on 2026-03-15."),
        ("consistency-count:sea>phx", 0.75, "25 % of the rows that sea has are missing in phx on 2026-03-15."),
        ("consistency-bloom:sea>phx", 0.75, "25 % of the keys that sea has are missing in phx on 2026-03-15."),
        ("freshness", 12 * 3600.0, "2026-03-15 is not complete 12 h after its end."),
        ("freshness", 3 * 3600.0 + 1200, "2026-03-15 is not complete 3 h 20 min after its end."),
        ("freshness", 50 * 3600.0, "2026-03-15 is not complete 2 days after its end."),
        ("freshness@phx", 600.0, "2026-03-15 is not complete in sea 10 min after its end."),
    ],
)
def test_a_standard_test_says_what_its_value_means_for_the_data(test: str, value: float, said: str) -> None:
    assert headline(worst(test, value), others=0, is_over=False) == said


def test_what_is_over_is_told_in_the_past() -> None:
    assert headline(worst("completeness:raw.trips", 0.8), others=2, is_over=True) == (
        "20 % of the rows were missing on 2026-03-15. 2 more windows were bad."
    )
    assert headline(worst("freshness", 7200.0), others=1, is_over=True) == (
        "2026-03-15 was not complete 2 h after its end. 1 more window was bad."
    )


def test_of_the_whole_table_no_partition_is_named() -> None:
    assert (
        headline(worst("duplicates:whole", 0.1, keys=""), others=0, is_over=False) == "10 % of the rows are duplicates."
    )


@pytest.mark.parametrize("test", ["fares", "duplicates"])  # a user's, though it is named like a standard one
def test_of_any_other_test_the_test_and_the_partition_are_named_without_its_code(test: str) -> None:
    own = worst(test, 0.2, is_standard=False)
    assert headline(own, others=0, is_over=False) == f"The test {test} fails for 2026-03-15."
    assert headline(own, others=1, is_over=True) == f"The test {test} failed for 2026-03-15. 1 more window was bad."
    whole = worst(test, 0.2, is_standard=False, keys="")
    assert headline(whole, others=0, is_over=False) == f"The test {test} fails for the whole table."


def test_of_novelty_the_columns_are_named_that_moved() -> None:
    novel = worst("novelty", 7.5, columns=("city", "fare"))
    assert headline(novel, others=0, is_over=False) == "2026-03-15 is unlike the windows before it: city, fare."
    assert headline(worst("novelty", 7.5), others=0, is_over=True) == "2026-03-15 was unlike the windows before it."


def test_a_value_that_must_not_be_told_is_not_told() -> None:
    assert headline(worst("duplicates", None), others=0, is_over=False) == "The test duplicates fails for 2026-03-15."


@given(st.floats(min_value=0.0, max_value=1.0, allow_nan=False))
def test_a_share_is_never_rounded_to_nothing_or_to_all(value: float) -> None:
    said = share(value)
    assert (said == "all") is (value == 1.0)
    assert not said.startswith("0 ")
    assert "100 %" not in said
