"""What the past of a column suggests, and that each suggestion is tried on windows it was not fitted on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.language.checking import DatasetSchema, check
from execution_engine.language.parse import parse
from execution_engine.metrics.registry import GROUPABLE, SIGNATURES
from execution_engine.profiles.gather import gathered_profile
from test_generator.suggestions.rules import pattern_of
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

DRAWN: Any = np.random.default_rng(5)


def windows(make: Callable[[int], Any], count: int = 10, rows: int = 200) -> list[SuggestedWindow]:
    """So many windows of a column ``x``."""
    tables = [pa.table({"x": make(rows)}) for _ in range(count)]
    return [SuggestedWindow(key=str(at), profile=gathered_profile([each]), rows=each) for at, each in enumerate(tables)]


def suggested(make: Callable[[int], Any], **more: int) -> dict[str, str]:
    """The assertions by the names of their rules, without that on the number of rows."""
    found = suggestions(windows(make, **more))
    assert all(one.held == one.tried for one in found if one.rule in ("CompleteIfComplete", "Clock", "OneShape"))
    return {one.rule: one.assertion for one in found if one.columns}


def choice(values: Sequence[Any], shares: Sequence[float] | None = None) -> Callable[[int], Any]:
    """Values drawn with these shares."""
    return lambda rows: DRAWN.choice(np.array(values, object), rows, p=shares).tolist()


@pytest.mark.parametrize(
    ("make", "rule", "assertion"),
    [
        (
            choice(["EWR", "JFK", "LGA"]),
            "CategoricalRange",
            """compliance("x is null or x in ('EWR', 'JFK', 'LGA')") = 1""",
        ),
        (choice(["O'Hare", "b"]), "CategoricalRange", """compliance("x is null or x in ('O''Hare', 'b')") = 1"""),
        (choice([1, 2]), "CategoricalRange", "compliance('x is null or x in (1, 2)') = 1"),
        (choice(["a"]), "CompleteIfComplete", "completeness(x) = 1"),
        (choice(["a", None], [0.8, 0.2]), "RetainCompleteness", "completeness(x) >= 0."),
        (
            lambda rows: [str(each) for each in DRAWN.integers(1, 10**6, rows)],
            "RetainType",
            r"pattern_match(x, '^[-+]?\d+$') = 1",
        ),
        (lambda rows: DRAWN.permutation(rows).tolist(), "UniqueIfApproximatelyUnique", "uniqueness(x) = 1"),
        (lambda rows: DRAWN.exponential(5, rows).tolist(), "NonNegativeNumbers", "non_negative(x) = 1"),
        (lambda rows: [5, *DRAWN.integers(5, 900, rows - 1).tolist()], "HasMin", "min(x) >= 5"),
        (lambda rows: [900, *DRAWN.integers(5, 900, rows - 1).tolist()], "HasMax", "max(x) <= 900"),
        (lambda rows: DRAWN.normal(100, 5, rows).tolist(), "HasMean", "mean(x) between 9"),
        (lambda rows: DRAWN.normal(100, 5, rows).tolist(), "HasStandardDeviation", "stddev(x) between "),
        (
            lambda rows: [f"N{each}" for each in DRAWN.integers(100, 999, rows)],
            "OneShape",
            r"pattern_match(x, '^[A-Z]\d{3}$') = 1",
        ),
        (lambda rows: ["abc", *["abcdef"] * (rows - 1)], "HasMinLength", "min_length(x) >= 3"),
        (lambda rows: ["abc", *["abcdef"] * (rows - 1)], "HasMaxLength", "max_length(x) <= 6"),
        (
            lambda rows: [int(each // 60 * 100 + each % 60) for each in DRAWN.integers(0, 1440, rows)],
            "Clock",
            "compliance('x is null or (x between 0 and 2400 and x % 100 < 60)') = 1",
        ),
        (
            choice([*"abcde", *(f"rare {at}" for at in range(150))], [0.19] * 5 + [0.05 / 150] * 150),
            "FractionalCategoricalRange",
            """compliance("x is null or x in ('a', 'b', 'c', 'd', 'e')") >= 0.""",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) and "(" not in given else "",
)
def test_each_rule_says_what_the_windows_have_in_common(make: Callable[[int], Any], rule: str, assertion: str) -> None:
    assert suggested(make, rows=1000)[rule].startswith(assertion)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda rows: DRAWN.integers(0, 10**6, rows).tolist(), "CategoricalRange"),
        (lambda rows: DRAWN.integers(0, 10**6, rows).tolist(), "Clock"),
        (lambda rows: DRAWN.normal(0, 1, rows).tolist(), "NonNegativeNumbers"),
        (choice([1, 1, 2]), "UniqueIfApproximatelyUnique"),
        (choice(["a1", "bb", "???"]), "RetainType"),
        (choice(["a", None], [0.1, 0.9]), "RetainCompleteness"),  # missing values are usual there
        (lambda rows: ["".join(DRAWN.choice(list("aA9-"), 6)) for _ in range(rows)], "OneShape"),
    ],
)
def test_a_rule_says_nothing_of_what_it_is_not_about(make: Callable[[int], Any], rule: str) -> None:
    assert rule not in suggested(make)


@pytest.mark.parametrize("values", [[None] * 200, [], [[1]] * 200, [float("nan")] * 200, ["x" * 100_000] * 30])
def test_columns_that_say_little_break_nothing(values: list[Any]) -> None:
    found = suggestions(windows(lambda _: pa.array(values, None if values else pa.string())))
    assert {one.rule for one in found} <= {
        "CompleteIfComplete",
        "CategoricalRange",
        "HasMinLength",
        "HasMaxLength",
        "UsualRowCount",
    }


def test_values_are_no_range_where_one_was_in_one_window_alone() -> None:
    many = ["a", "b"] * 50
    settled, growing = iter([many, [*many, "c"]] * 5), iter([*[many] * 5, [*many, "c"], *[many] * 4])
    assert "CategoricalRange" in suggested(lambda _: next(settled))
    assert "CategoricalRange" not in suggested(lambda _: next(growing))


def test_values_of_one_window_are_no_range_where_one_was_in_one_row_alone() -> None:
    assert "CategoricalRange" in suggested(lambda _: ["a", "b"] * 50, count=1)
    assert "CategoricalRange" not in suggested(lambda _: [*["a", "b"] * 50, "c"], count=1)


def test_values_that_look_like_secrets_are_in_no_suggestion() -> None:
    found = suggestions(windows(choice(["AKIAABCDEFGH12345678", "AKIAABCDEFGH12345679"])))
    assert {one.rule for one in found if one.columns} == {"CompleteIfComplete"}
    assert not any("AKIA" in one.assertion for one in found)


def test_the_last_fifth_of_the_windows_tries_what_the_others_say() -> None:
    calm, wild = windows(choice(["a", "b"]), 8), windows(choice(["a", "z"]), 2)
    (one,) = [each for each in suggestions([*calm, *wild]) if each.rule == "CategoricalRange"]
    assert (one.fitted, one.held, one.tried, one.held_share) == (8, 0, 2, 0)


def test_one_window_tries_nothing_and_two_try_one() -> None:
    assert {one.tried for one in suggestions(windows(choice(["a"]), 1))} == {0}
    assert {one.held_share for one in suggestions(windows(choice(["a"]), 1))} == {None}
    assert {(one.fitted, one.tried) for one in suggestions(windows(choice(["a"]), 2))} == {(1, 1)}
    assert suggestions([]) == []


def test_rows_are_watched_once_there_is_a_past() -> None:
    sizes = [100, 102, 98, 101, 99, 100, 103, 97, 100, 100, 101, 99, 100, 5]
    some = [windows(choice(["a"]), 1, rows)[0] for rows in sizes]
    (one,) = [each for each in suggestions(some) if each.rule == "UsualRowCount"]
    assert (one.assertion, one.held, one.tried) == ("anomaly(row_count(), last=60) <= 1", 1, 2)


def test_rows_have_bounds_where_nobody_keeps_their_past() -> None:
    some = [windows(choice(["a"]), 1, rows)[0] for rows in (100, 102, 98, 101, 99, 100, 103, 97, 100, 100, 101, 99, 5)]
    (one,) = [each for each in suggestions(some, has_past=False) if each.rule == "UsualRowCount"]
    assert (one.assertion, one.held, one.tried) == ("row_count() between 92 and 108", 1, 2)


@pytest.mark.parametrize(
    "numbers",
    [
        lambda at: range(100 * at, 100 * at + 100),
        lambda at: range(100 * at + 100),
        lambda at: range(-100 * at, 100 - 100 * at),
    ],
    ids=["a key that grows", "a table that keeps all rows", "a number that falls"],
)
def test_numbers_that_only_go_one_way_have_no_bound_that_they_would_break(numbers: Callable[[int], range]) -> None:
    tables = [pa.table({"x": list(numbers(at))}) for at in range(10)]
    some = [SuggestedWindow(key=str(at), profile=gathered_profile([rows])) for at, rows in enumerate(tables)]
    bounded = [one.assertion for one in suggestions(some) if one.rule in ("HasMin", "HasMax", "HasMean")]
    assert bounded == (["min(x) >= 0"] if min(numbers(9)) == 0 else [])


def test_what_a_window_breaks_that_it_was_fitted_on_is_no_suggestion() -> None:
    means = [*[1234567.0 + at % 2 for at in range(23)], 1234667.0, 1234567.0, 1234568.0]
    tables = [pa.table({"x": [mean - 1, mean + 1, mean] * 10}) for mean in means]
    some = [SuggestedWindow(key=str(at), profile=gathered_profile([rows])) for at, rows in enumerate(tables * 2)]
    (assertion,) = [one.assertion for one in suggestions(some) if one.rule == "HasMean"]
    low, high = map(float, assertion.removeprefix("mean(x) between ").split(" and "))
    assert low <= min(means) <= max(means) <= high


def test_a_column_is_unique_only_where_no_row_of_any_window_says_otherwise() -> None:
    some = windows(lambda rows: [f"{at:05d}" for at in range(rows)], 4)
    assert "UniqueIfApproximatelyUnique" in {one.rule for one in suggestions(some)}
    told = [replace(window, unique=frozenset()) for window in some]
    assert "UniqueIfApproximatelyUnique" not in {one.rule for one in suggestions(told)}


def _all(found: list[Suggestion], name: str) -> None:
    home = DatasetSchema(name="t", columns=None, partitioned=True)
    for one in found:
        tree = parse(one.assertion)
        check(tree, home=home, schema_of=lambda _: None, signatures=SIGNATURES, source=name, groupable=GROUPABLE)


@given(
    values=st.lists(st.one_of(st.none(), st.integers(-(10**9), 10**9)) | st.none(), min_size=20, max_size=60),
    name=st.sampled_from(["x", "order id", "a.b", "it`s", "select", "Ä"]),
)
def test_every_suggestion_is_an_assertion_of_the_language(values: list[int | None], name: str) -> None:
    table = pa.table({name: pa.array(values, pa.int64())})
    some = [SuggestedWindow(key=str(at), profile=gathered_profile([table]), rows=table) for at in range(12)]
    found = suggestions(some)
    _all(found, name)
    assert all(one.held == one.tried for one in found)


@given(values=st.lists(st.text(max_size=12) | st.none(), min_size=20, max_size=60))
def test_every_suggestion_on_texts_is_one_too(values: list[str | None]) -> None:
    table = pa.table({"x": pa.array(values, pa.string())})
    some = [SuggestedWindow(key=str(at), profile=gathered_profile([table])) for at in range(12)]
    _all(suggestions(some), "x")


@pytest.mark.parametrize(
    ("shape", "pattern"),
    [
        ("A99999", r"[A-Z]\d{5}"),
        ("aa@a.aa", r"[a-z]{2}@[a-z]\.[a-z]{2}"),
        ("9999-99", r"\d{4}\-\d{2}"),
        ("(9)", r"\(\d\)"),
    ],
)
def test_a_shape_is_a_pattern(shape: str, pattern: str) -> None:
    assert pattern_of(shape) == pattern
