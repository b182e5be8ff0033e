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
from execution_engine.profiles.gather import column_profile, gathered_profile
from execution_engine.profiles.profile import ColumnProfile
from test_generator.suggestions.rules import candidates, pattern_of
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


def profile_of(values: list[Any]) -> ColumnProfile:
    return column_profile(pa.array(values, None if values else pa.null()))


INTS = [[*range(5, 25)], [*range(3, 25)], [*range(4, 26)]]
EIGHTHS = [[at / 8 for at in range(low, high)] for low, high in ((-20, 20), (-21, 30), (-22, 25))]
COMMON = [["a"] * 1900 + ["b"] * 90 + [f"{new}{at}" for at in range(10)] for new in "cd"]
HOURS = [100 * hour + minute for hour in range(24) for minute in (0, 30, 59)]
COMPLETE = ("CompleteIfComplete", "completeness(x) = 1", "no value was missing")
UNIQUE = ("UniqueIfApproximatelyUnique", "uniqueness(x) = 1", "every row had a value of its own")
POSITIVE = ("NonNegativeNumbers", "non_negative(x) = 1", "no number was below 0")


def lengths(low: int, high: int, least: int, most: int) -> list[tuple[str, str, str]]:
    return [
        ("HasMinLength", f"min_length(x) >= {low}", f"texts had {least} characters at least"),
        ("HasMaxLength", f"max_length(x) <= {high}", f"texts had {most} characters at most"),
    ]


@pytest.mark.parametrize(
    ("past", "offers", "broken"),
    [
        (
            INTS,
            [
                *(COMPLETE, POSITIVE, UNIQUE),
                ("HasMin", "min(x) >= 1", "the lowest number was 3"),
                ("HasMax", "max(x) <= 26", "the highest number was 25"),
                ("HasMean", "mean(x) between 11.4 and 16.9", "it was 13.5 to 14.5"),
                ("HasStandardDeviation", "stddev(x) between 4.6 and 7.7", "it was 5.76628 to 6.34429"),
            ],
            [
                ([0, 30, 30, None], "CompleteIf Unique HasMin HasMax HasMean HasStandard"),
                ([*range(1, 27)], ""),
                ([], ""),
            ],
        ),
        (
            EIGHTHS,
            [
                *(COMPLETE, UNIQUE),
                ("HasMin", "min(x) >= -3", "the lowest number was -2.75"),
                ("HasMax", "max(x) <= 4.9", "the highest number was 3.625"),
                ("HasMean", "mean(x) between -1.2 and 1.6", "it was -0.0625 to 0.5"),
                ("HasStandardDeviation", "stddev(x) between 0.73 and 2.59", "it was 1.44292 to 1.83995"),
            ],
            [([-4.0, 6.0], "HasMin HasMax HasStandard"), ([0.0], "HasStandard")],
        ),
        (
            [["ab12"] * 10 + ["cde"] * 10 + [None] * 2, ["ab12"] * 10 + ["xy'z"] * 10 + [None]],
            [
                ("RetainCompleteness", "completeness(x) >= 0.78", "90.9% of the values were there at least"),
                *lengths(2, 4, 3, 4),
                (
                    "OneShape",
                    """pattern_match(x, "^([a-z]{2}'[a-z]|[a-z]{2}\\d{2}|[a-z]{3})$") = 1""",
                    "all texts were written like aa'a, aa99, aaa",
                ),
            ],
            [(["a", "abcde", None], "RetainC HasMinL HasMaxL OneShape"), (["ab12"] * 78 + [None] * 22, "")],
        ),
        (
            [[f"{at}" for at in range(20)]],
            [
                COMPLETE,
                ("RetainType", r"pattern_match(x, '^[-+]?\d+$') = 1", "all texts were whole numbers"),
                *(UNIQUE, *lengths(1, 2, 1, 2)),
                ("OneShape", r"pattern_match(x, '^(\d|\d{2})$') = 1", "all texts were written like 9, 99"),
            ],
            [(["-1", "+22"], "HasMaxL OneShape"), (["1.5", "1"], "RetainT HasMaxL OneShape"), ([], "")],
        ),
        (
            [[f"{at}.5" for at in range(20)]],
            [
                COMPLETE,
                ("RetainType", r"pattern_match(x, '^[-+]?\d+\.\d+$') = 1", "all texts were numbers"),
                *(UNIQUE, *lengths(3, 4, 3, 4)),
                ("OneShape", r"pattern_match(x, '^(\d\.\d|\d{2}\.\d)$') = 1", "all texts were written like 9.9, 99.9"),
            ],
            [(["-1.5"], "OneShape"), (["15"], "RetainT HasMinL OneShape")],
        ),
        (
            [[7] * 20],
            [
                COMPLETE,
                ("CategoricalRange", "compliance('x is null or x in (7)') = 1", "1 value occurred"),
                POSITIVE,
                ("HasMin", "min(x) >= 7", "the lowest number was 7"),
                ("HasMax", "max(x) <= 7", "the highest number was 7"),
            ],
            [([7, 7], ""), ([8, 6], "Categor HasMin HasMax"), ([-1], "Categor NonNegative HasMin")],
        ),
        (
            [["a", "b'"] * 10] * 2,
            [
                COMPLETE,
                ("CategoricalRange", """compliance("x is null or x in ('a', 'b''')") = 1""", "2 values occurred"),
                *lengths(1, 2, 1, 2),
                ("OneShape", """pattern_match(x, "^([a-z]|[a-z]')$") = 1""", "all texts were written like a, a'"),
            ],
            [(["a"], ""), (["c"], "Categor")],
        ),
        (
            COMMON,
            [
                COMPLETE,
                (
                    "FractionalCategoricalRange",
                    """compliance("x is null or x in ('a')") >= 0.95""",
                    "1 value had 95.0% of the rows at least",
                ),
                *lengths(1, 2, 1, 2),
                ("OneShape", r"pattern_match(x, '^([a-z]|[a-z]\d)$') = 1", "all texts were written like a, a9"),
            ],
            [(["a"] * 94 + ["b"] * 6, "Fractional"), (["a"] * 95 + ["b"] * 5, ""), ([None], "CompleteIf")],
        ),
        (
            [HOURS],
            [
                *(COMPLETE, POSITIVE, UNIQUE),
                ("HasMin", "min(x) >= 0", "the lowest number was 0"),
                ("HasMax", "max(x) <= 2359", "the highest number was 2359"),
                (
                    "Clock",
                    "compliance('x is null or (x between 0 and 2400 and x % 100 < 60)') = 1",
                    "all numbers read as a clock of four digits",
                ),
            ],
            [
                *[([0, 2400], "HasMax"), ([60, 61], "Clock"), ([0.5], "Clock"), ([None], "CompleteIf")],
                ([2401, -1], "NonNegative HasMin HasMax Clock"),
            ],
        ),
    ],
)
def test_rules_offer_what_windows_have_in_common_and_the_next_window_meets_it_or_not(
    past: list[list[Any]], offers: list[tuple[str, str, str]], broken: list[tuple[list[Any], str]]
) -> None:
    found = list(candidates("x", [profile_of(values) for values in past]))
    assert [(each.rule, each.assertion, each.why) for each in found] == offers
    for values, rules in broken:
        failed = [each.rule for each in found if not each.holds(profile_of(values))]
        assert len(failed) == len(rules.split()), (values, failed)
        assert all(map(str.startswith, failed, rules.split())), (values, failed)


NUMBERED = [f"{letter}{at}" for at in range(10) for letter in "abcdefghij"]


@pytest.mark.parametrize(
    ("rule", "without", "offered"),
    [
        ("CompleteIf", [["a"] * 19], [["a"] * 20]),
        ("HasMin", [[at, 50] * 20 for at in (1, 2, 3, 4)], [[at, 50] * 20 for at in (1, 2, 2, 3)]),
        ("HasMean", [[-1, 1] * 20, [-2, 3] * 20], [[-1, 1] * 20, [-2, 3] * 20, [-1, 2] * 20]),
        ("RetainCompleteness", [["a"] * 199 + [None] * 801], [["a"] * 230 + [None] * 770]),
        ("CategoricalRange", [[*NUMBERED, "k"] * 20], [NUMBERED * 20]),
        ("CategoricalRange", [[*range(26)] * 20], [[*range(25)] * 20]),
        ("CategoricalRange", [["a", "b", "c"] * 9], [["a", "b", "c"] * 10]),
        ("OneShape", [["A", "1", "A1", "1A"] * 5], [["A", "1", "A1"] * 7]),
        ("OneShape", [["A-" * 12 + "A"] * 20], [["A-" * 12] * 20]),
        ("OneShape", [["-"] * 20], [["-a"] * 20]),
        ("Clock", [[at for at in HOURS if at < 1000] + [959] * 60], [[at for at in HOURS if at < 2000]]),
        ("Clock", [[at for at in HOURS if at < 1930]], [[at for at in HOURS if at < 2000]]),
    ],
)
def test_a_rule_has_its_limits(rule: str, without: list[list[Any]], offered: list[list[Any]]) -> None:
    for past, is_offered in ((without, False), (offered, True)):
        names = [each.rule for each in candidates("x", [profile_of(values) for values in past])]
        assert any(name.startswith(rule) for name in names) is is_offered, names


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
