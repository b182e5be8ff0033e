"""From values to a verdict."""

from math import inf, nan

import pytest

from execution_engine.language.evaluate import AssertionVerdict, UnableToEvaluate, Value, ZeroDivision, evaluate, excess
from execution_engine.language.parse import parse
from execution_engine.outcome import Failure, Outcome, Reason

HELD, BROKEN, ERROR = Outcome
RATIO = "row_count() / row_count(dataset='raw.trips') between 0.99 and 1.01"


def verdict(text: str, zero: ZeroDivision = ZeroDivision.NULL, **values: Value) -> AssertionVerdict:
    """The verdict where ``row_count=5`` is the value of ``row_count()``, and so on for other names."""
    return evaluate(parse(text), {f"{name}()": value for name, value in values.items()}, zero=zero)


def ratio(here: Value, there: Value, zero: ZeroDivision = ZeroDivision.NULL) -> AssertionVerdict:
    """The verdict of a completeness test."""
    return evaluate(parse(RATIO), {"row_count()": here, "row_count(dataset='raw.trips')": there}, zero=zero)


def test_a_verdict_shows_value_bound_operands_and_a_sentence() -> None:
    assert ratio(9312, 10000) == AssertionVerdict(
        outcome=BROKEN,
        sentence="row_count() / row_count(dataset='raw.trips') = 0.9312, wanted between 0.99 and 1.01",
        value=0.9312,
        bound=0.99,
        operands={"row_count()": 9312.0, "row_count(dataset='raw.trips')": 10000.0},
    )


@pytest.mark.parametrize(
    ("text", "a", "outcome"),
    [
        *[("a() < 5", 4.9, HELD), ("a() < 5", 5, BROKEN), ("a() <= 5", 5, HELD), ("a() > 5", 5, BROKEN)],
        *[("a() >= 5", 5, HELD), ("a() = 5", 5, HELD), ("a() == 5", 6, BROKEN), ("a() != 5", 5, BROKEN)],
        ("a() between 1 and 5", 5, HELD),
        ("a() between 1 and 5", 0.99, BROKEN),
        ("a() between 5 and 1", 3, BROKEN),
        ("a() not between 1 and 5", 5.01, HELD),
        ("a() not between 1 and 5", 1, BROKEN),
        *[("not a() < 5", 4, BROKEN), ("a() < 50 %", 0.5, BROKEN), ("a() < 1.5h", 5399, HELD)],
        ("-a() + 2 * 3 - 4 / 8 = 5.5 - a()", 9, HELD),
        ("abs(a()) = 3 and least(a(), 1) = -3 and greatest(a(), 1, 2) = 2", -3, HELD),
    ],
)
def test_comparisons_and_arithmetic_mean_what_they_say(text: str, a: float, outcome: Outcome) -> None:
    assert verdict(text, a=a).outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        *[("a() < 1", ERROR), ("a() = a()", ERROR), ("not a() = a()", ERROR), ("a() < 1 and 1 < 2", ERROR)],
        *[("a() < 1 and 2 < 1", BROKEN), ("a() < 1 or 1 < 2", HELD), ("a() < 1 or 2 < 1", ERROR)],
        ("3 between a() and 2", BROKEN),
        ("3 between a() and 4", ERROR),
        ("3 not between a() and 2", HELD),
        ("a() + 1 > 0 or -a() > 0 or abs(a()) > 0", ERROR),
        ("coalesce(a(), 3) = 3", HELD),
        ("coalesce(a(), a()) = 3", ERROR),
        ("least(a(), 1) <= 1", ERROR),
        ("coalesce(1 / 0, 5) = 5", HELD),
    ],
)
def test_null_goes_through_an_assertion_as_in_sql_and_is_no_verdict(text: str, outcome: Outcome) -> None:
    found = verdict(text, a=None)
    assert found.outcome is outcome
    assert (found.failure.reason if found.failure else None) == (Reason.UNDEFINED if outcome is ERROR else None)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_an_error_whatever_else_holds(value: float) -> None:
    found = verdict("coalesce(a(), 1) < 2 or 1 < 2", a=value)
    assert found.failure == Failure(reason=Reason.NOT_FINITE, detail=f"a() is {value}")


@pytest.mark.parametrize(
    ("text", "node"), [("a() * 1e300 > 1", "a() * 1e+300"), ("1e300 * a() * 2 > 1", "1e+300 * a()")]
)
def test_a_result_too_large_to_be_held_is_an_error_at_its_first_node(text: str, node: str) -> None:
    failure = Failure(reason=Reason.NOT_FINITE, detail=f"{node} is too large to be held")
    assert verdict(text, a=1e300).failure == failure


STANDARD, ALLOW_EMPTY = ZeroDivision.STANDARD, ZeroDivision.STANDARD_ALLOW_EMPTY


@pytest.mark.parametrize(
    ("zero", "here", "outcome", "reason"),
    [
        (ZeroDivision.NULL, 0, ERROR, Reason.UNDEFINED),
        (ZeroDivision.NULL, 7, ERROR, Reason.UNDEFINED),
        (STANDARD, 0, ERROR, Reason.NO_DATA),
        (STANDARD, 7, BROKEN, None),
        (STANDARD, None, ERROR, Reason.UNDEFINED),
        (ALLOW_EMPTY, 0, HELD, None),
        (ALLOW_EMPTY, 7, BROKEN, None),
    ],
)
def test_an_empty_upstream_means_what_the_policy_says(
    zero: ZeroDivision, here: float | None, outcome: Outcome, reason: Reason | None
) -> None:
    found = ratio(here, 0, zero)
    assert (found.outcome, found.failure.reason if found.failure else None) == (outcome, reason)


def test_an_empty_table_has_no_duplicates_to_judge() -> None:
    text = "1 - distinct_count() / row_count() <= 0"
    assert verdict(text, STANDARD, distinct_count=0, row_count=0).outcome is ERROR
    assert verdict(text, ALLOW_EMPTY, distinct_count=0, row_count=0).outcome is HELD


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("1 - a() / b() <= 0.01", 99, 100),  # 0.010000000000000009 in binary
        ("a() / b() <= 2 - 0.999", 1001, 1000),  # 2 - 0.999 is 1.0009999999999999
        ("a() / b() * 3 = 1", 1, 3),
        ("a() + b() = 0.3", 0.1, 0.2),
        ("a() / b() >= 99.9 %", 999, 1000),
        ("a() = 99 %", 0.99, 1),
    ],
)
def test_a_value_on_its_bound_is_not_broken_by_binary_rounding(text: str, a: float, b: float) -> None:
    assert verdict(text + " and b() = b()", a=a, b=b).outcome is HELD


def test_counts_of_many_digits_are_told_apart() -> None:
    assert verdict("a() = b()", a=2**53 - 1, b=2**53).outcome is BROKEN


def test_a_failed_operand_is_the_failure_of_the_run_even_under_coalesce() -> None:
    failure = Failure(reason=Reason.QUERY_FAILED, detail="no such table")
    found = verdict("coalesce(a(), 1) > 0 or b() > 0", a=failure, b=1)
    assert (found.outcome, found.failure, found.operands) == (ERROR, failure, {"a()": None, "b()": 1.0})


def test_of_several_failures_the_one_that_must_be_mended_is_told() -> None:
    waiting, passing, lasting = (
        Failure(reason=reason) for reason in (Reason.NOT_DUE, Reason.TIMEOUT, Reason.UNKNOWN_COLUMN)
    )
    assert verdict("a() + b() + c() > 0", a=waiting, b=passing, c=lasting).failure == lasting
    assert verdict("a() + b() > 0", a=waiting, b=passing).failure == passing


def test_a_broken_division_by_zero_is_said_as_such() -> None:
    assert ratio(7, 0, STANDARD).sentence.endswith(
        "= NULL, wanted between 0.99 and 1.01; row_count() / row_count(dataset='raw.trips') divides 7 by zero"
    )


@pytest.mark.parametrize(
    ("text", "better", "worse"),
    [
        *[("a() < 5", 6, 7), ("a() >= 0.99", 0.98, 0.5), ("a() between 1 and 5", 0, 9)],
        ("a() not between 1 and 5", 1.5, 3),
        *[("not a() < 5", 4, 3), ("0.99 <= a()", 0.98, 0.5), ("a() = 3", 2, 5)],
    ],
)
def test_the_farther_beyond_its_bound_the_worse_a_value_is(text: str, better: float, worse: float) -> None:
    tree = parse(text)
    near, far = (excess(tree, verdict(text, a=value)) for value in (better, worse))
    assert near is not None
    assert far is not None
    assert 0 < near < far


@pytest.mark.parametrize(
    ("text", "a", "expected"),
    [
        *[("a() < 5", 1, 0.0), ("a() < 5", None, None), ("a() < 5 and a() < 6", 9, None), ("a() != 5", 5, 0.0)],
        ("a() <= 0.3", 0.9, 0.6),
    ],
)
def test_excess_is_nothing_when_held_and_unknown_without_a_single_value(
    text: str, a: float | None, expected: float | None
) -> None:
    assert excess(parse(text), verdict(text, a=a)) == expected


def test_nothing_is_worse_than_a_broken_division_by_zero() -> None:
    assert excess(parse(RATIO), ratio(7, 0, STANDARD)) == inf


@pytest.mark.parametrize(
    ("text", "a", "sentence"),
    [
        ("a() >= 0.99", 0.98999999, "a() = 0.98999999, wanted >= 0.99"),
        ("a() / 3 >= 0.99", 1, "a() / 3 = 0.333333, wanted >= 0.99"),
        ("not a() < 5 %", 0.01, "a() = 0.01, wanted not < 5 %"),
        ("a() < 4h", 18725.3, "a() = 5h 12m, wanted < 4h"),
        ("a() / 1h < 4", 18000, "a() / 1h = 5, wanted < 4"),
        ("a() <= 2 * a()", 12345678, "a() = 12345678, wanted <= 2 * a() (24691356)"),
        ("a() > 5 and a() < 9", 9, "a() > 5 is true (9); a() < 9 is false (9)"),
        ("a() > 1", None, "result is null: a() is NULL"),
        ("a() / (a() - 1) > 1", 1, "result is null: a() / (a() - 1) divides 1 by zero"),
        ("a() > 5 or a() > a() / 0", 1, "result is null: a() / 0 divides 1 by zero"),
        (
            "a() > 5 or a() / 0 > a() / -0",
            1.5,
            "result is null: a() / 0 divides 1.5 by zero; a() / -0 divides 1.5 by zero",
        ),
        ("a() < 5 or a() / 0 > 1", 1, "a() < 5 is true (1); a() / 0 > 1 is unknown (NULL); a() / 0 divides 1 by zero"),
        ("not not a() < 5", 1, "a() = 1, wanted < 5"),
        ("not (a() between 1 and 5)", 7, "a() = 7, wanted not between 1 and 5"),
        ("a() not between 1 and 5", 7, "a() = 7, wanted not between 1 and 5"),
        ("5 > a()", 1, "a() = 1, wanted < 5"),
        ("5 >= a()", 1, "a() = 1, wanted <= 5"),
        ("5 < a()", 6, "a() = 6, wanted > 5"),
        ("5 <= a()", 6, "a() = 6, wanted >= 5"),
        ("5 = a()", 5, "a() = 5, wanted = 5"),
        ("5 != a()", 6, "a() = 6, wanted != 5"),
        ("5 < 6 or a() > 1", 2, "5 < 6 is true (5); a() > 1 is true (2)"),
        ("5 < a() or a() > 1", 2, "5 < a() is false (2); a() > 1 is true (2)"),
        ("a() > 5 * 2", 11, "a() = 11, wanted > 5 * 2 (10)"),
        ("a() > -5", 11, "a() = 11, wanted > -5 (-5)"),
        ("a() between 4h and 2 * 4h", 3600 * 5, "a() = 5h, wanted between 4h and 2 * 4h (8h)"),
        ("abs(a()) < 4h", -61, "abs(a()) = 1m 1s, wanted < 4h"),
        ("-a() < 4h", 90061, "-a() = -1d 1h, wanted < 4h"),
        ("a() < 4h", 0.4, "a() = 0s, wanted < 4h"),
        ("a() < 4h", 59.6, "a() = 1m, wanted < 4h"),
        ("a() < 4h + 1h", 86400, "a() = 1d, wanted < 4h + 1h (5h)"),
        ("a() / 2 < 4h", 7200, "a() / 2 = 1h, wanted < 4h"),
        ("1h / 2 > a()", 1000, "a() = 16m 40s, wanted < 1h / 2 (30m)"),
        ("coalesce(a(), 1h) > 1", 3600, "coalesce(a(), 1h) = 1h, wanted > 1"),
        ("a() > 1", 123456.789, "a() = 123457, wanted > 1"),
        ("a() > 1", 1234567.891, "a() = 1234568, wanted > 1"),
        ("a() > 1", 1e-7 / 3, "a() = 3.33333e-8, wanted > 1"),
        ("a() > 1", 1e15, "a() = 1000000000000000, wanted > 1"),
        ("a() > 1", -999999999999999, "a() = -999999999999999, wanted > 1"),
        ("a() > 1", 10**20, "a() = 100000000000000000000, wanted > 1"),
        ("a() > 0.3333333", 1 / 3, "a() = 0.333333, wanted > 0.3333333"),
        ("a() / 3 > 0.333333", 1, "a() / 3 = 0.3333333333333333, wanted > 0.333333"),
    ],
)
def test_a_sentence_is_said_word_for_word(text: str, a: float | None, sentence: str) -> None:
    assert verdict(text, a=a).sentence == sentence


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "a() has no value: give one, None for NULL, or a Failure"),
        ({"a()": [1.0]}, "a() cannot have the value [1.0]"),
        ({"a()": "1"}, "a() cannot have the value '1'"),
    ],
)
def test_a_value_of_another_assertion_is_told(values: dict[str, Value], said: str) -> None:
    with pytest.raises(UnableToEvaluate) as refused:
        evaluate(parse("a() > 0"), values)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("text", "a", "value", "bound"),
    [
        ("a() between 1 and 5", 2, 2, 1),
        ("a() between 1 and 5", 4, 4, 5),
        ("a() between 1 and 5", 3, 3, 1),
        ("a() between 1 and 5", 9, 9, 5),
        ("3 between a() and 9", None, None, None),
        ("a() / 4 > 1", 8, 2, 1),
        ("a() / 4 > 1", 2, 0.5, 1),
        ("a() > 1 and a() < 5", 2, None, None),
        ("not a() > 1", 0, 0, 1),
    ],
)
def test_a_single_comparison_has_a_value_and_its_nearest_bound(
    text: str, a: float | None, value: float | None, bound: float | None
) -> None:
    found = verdict(text, a=a)
    assert (found.value, found.bound) == (value, bound)


def test_an_empty_ratio_says_what_it_is() -> None:
    found = ratio(0, 0, STANDARD)
    assert found.sentence == (
        "no data: row_count() / row_count(dataset='raw.trips') is 0 / 0: there is nothing to compare yet"
    )
    assert found.operands == {"row_count()": 0.0, "row_count(dataset='raw.trips')": 0.0}
