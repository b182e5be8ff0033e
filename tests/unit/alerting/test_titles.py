"""What an incident leads with: plain words and the worst value."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.titles import WorstResult, headline, share
from execution_engine.language.parse import parse
from execution_engine.metrics.definition import MetricDefinition
from execution_engine.metrics.registry import METRICS

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
        ("completeness:raw.trips", 4012.4, "There are 4,012 times as many rows as in raw.trips on 2026-03-15."),
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


def title(assertion: str, *, is_over: bool = False, keys: str = DAY, **of: Any) -> str:
    """Of a user's test named ``fares``; ``of`` may have its value, operands and findings."""
    shape = {"value": None, **of}
    own = WorstResult(test="fares", category="custom", is_standard=False, keys=keys, tree=parse(assertion), **shape)
    return headline(own, others=0, is_over=is_over)


@pytest.mark.parametrize(
    ("assertion", "value", "text"),
    [
        ("completeness(city) >= 0.99", 0.977, "2.3 % of city are empty on 2026-03-15 (at most 1 % may be)."),
        ("completeness(city) > 99 %", 0.9896, "1.04 % of city are empty on 2026-03-15 (less than 1 % may be)."),
        ("completeness(`home city`) = 1", 0.0, "All of home city are empty on 2026-03-15 (none may be)."),
        ("not completeness(city) < 0.99", 0.5, "50 % of city are empty on 2026-03-15 (at most 1 % may be)."),
        (
            "completeness(city) <= 50 %",
            0.977,
            "The share of rows with city is 97.7 % on 2026-03-15, wanted at most 50 %.",
        ),
        (
            """completeness(city, where="country = 'US'") = 1""",
            0.5,
            "50 % of city are empty (of the rows that fares selects) on 2026-03-15 (none may be).",
        ),
        ("in_range(rate, 0, 5) = 1", 0.5, "50 % of rate are not between 0 and 5 on 2026-03-15 (none may be)."),
        ("compliance('fare > 0') = 1", 0.5, "50 % of the rows are not as fares says on 2026-03-15 (none may be)."),
        ("referential_integrity(id, 'raw.a') = 1", 0.5, "50 % of id are missing in raw.a on 2026-03-15 (none may be)."),
        ("row_count() between 1000 and 2000", 640, "The number of rows is 640 on 2026-03-15, wanted 1,000 to 2,000."),
        ("mean(fare) < 12.5", 20, "The mean of fare is 20 on 2026-03-15, wanted less than 12.5."),
        (
            "age(at, 'now()') <= 4h",
            18720,
            "The age of the newest at is 5 h 12 min on 2026-03-15, wanted at most 4 h.",
        ),
        (
            "age(at, 'now()') / 3600 <= 4",
            5.2,
            "fares does not hold on 2026-03-15: 5.2, wanted at most 4.",
        ),
        ("freshness() < 4h", 18720, "2026-03-15 is not complete 5 h 12 min after its end, wanted less than 4 h."),
        (
            "row_count() / row_count(dataset='raw.a') >= 85 %",
            0.8,
            "20 % of the rows are missing on 2026-03-15 (at most 15 % may be).",
        ),
        ("sum(a) / sum(b) >= 0.99", 0.91, "fares does not hold on 2026-03-15: 0.91, wanted at least 0.99."),
    ],
)
def test_a_users_test_says_what_its_assertion_measured_and_what_was_wanted(
    assertion: str, value: float, text: str
) -> None:
    assert title(assertion, value=value) == text


def test_a_bound_that_was_measured_too_is_told_as_what_it_was() -> None:
    assertion = "row_count() >= 0.85 * mean(row_count(), last=7)"
    measured = {"row_count()": 640.0, "mean(row_count(), last=7)": 1000.0}
    assert title(assertion, operands=measured) == "The number of rows is 640 on 2026-03-15, wanted at least 850."
    assert title(assertion, value=640) == "The number of rows is 640 on 2026-03-15."
    ratio = "row_count() / mean(row_count(), last=7) >= 85 %"
    assert title(ratio, operands=measured) == (
        "The number of rows is 64 % of the mean of the 7 windows before on 2026-03-15, wanted at least 85 %."
    )


def test_a_length_divided_by_those_before_is_a_share_of_them() -> None:
    measured = {"age(at, 'now()')": 9000.0, "mean(age(at, 'now()'), last=7)": 3600.0}
    text = title("age(at, 'now()') / mean(age(at, 'now()'), last=7) <= 2", operands=measured)
    assert text == (
        "The age of the newest at is 250 % of the mean of the 7 windows before on 2026-03-15, wanted at most 200 %."
    )


def test_of_several_comparisons_the_first_that_does_not_hold_is_told() -> None:
    measured = {"mean(fare)": 5.0, "completeness(city)": 0.5}
    text = title("mean(fare) > 3 and completeness(city) = 1", operands=measured, is_over=True)
    assert text == "50 % of city were empty on 2026-03-15 (none may be)."


def test_an_anomaly_is_told_with_what_was_expected() -> None:
    found = {"expected": [{"metric": "row_count()", "value": 640, "low": 900, "high": None}]}
    text = title("anomaly(row_count(), last=28) <= 1", value=3.0, findings=found)
    assert text == "The number of rows is 640 on 2026-03-15, expected at least 900."


def test_of_groups_it_counts_those_that_do_not_hold_and_names_the_worst() -> None:
    worst_group = {"group": {"city": "Oslo"}, "value": 0.88, "bound": 0.99, "said": ""}
    found = {"groups": {"held": 117, "broken": 3, "not_judged": 1}, "worst_groups": [worst_group]}
    assert title("completeness(email) >= 0.99 by city", value=0.975, findings=found) == (
        "3 of 120 groups by city do not hold on 2026-03-15; Oslo: 12 % of email are empty (at most 1 % may be)."
    )


def test_each_metric_has_a_phrase() -> None:
    own = {metric.phrase for metric in METRICS.values()}
    assert MetricDefinition.phrase not in own
    parts = dict.fromkeys(("share", "columns", "test", "first", "second", "literal", "low", "high"), "x")
    for phrase in own:
        assert all(text % parts for text in (phrase.noun, *(phrase.fault or ())))


@pytest.mark.parametrize("test", ["fares", "duplicates"])  # a user's, though it is named like a standard one
def test_of_a_test_whose_values_must_not_be_told_the_test_and_the_partition_are_named(test: str) -> None:
    own = worst(test, None, is_standard=False)
    assert headline(own, others=0, is_over=False) == f"The test {test} fails for 2026-03-15."
    assert headline(own, others=1, is_over=True) == f"The test {test} failed for 2026-03-15. 1 more window was bad."
    whole = worst(test, None, is_standard=False, keys="")
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
