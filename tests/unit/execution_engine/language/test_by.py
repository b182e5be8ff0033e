"""Assertions by groups: each group is judged by itself, and enough of them must hold."""

from collections.abc import Mapping
from math import inf, nan

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.language.evaluate import AssertionVerdict, UnableToEvaluate, Value, ZeroDivision, evaluate, excess
from execution_engine.language.parse import parse
from execution_engine.language.tree import operands
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey
from execution_engine.outcome import Failure, Outcome, Reason

HELD, BROKEN, ERROR = Outcome
Cities = Mapping[str | None, float | None]
COMPLETE = "completeness(email) >= 0.99 by city"
STEADY = "row_count() >= 0.5 * mean(row_count(), last=4) by city"


def groups(values: Cities) -> dict[GroupKey, float | None]:
    """Values by one column."""
    return {(city,): value for city, value in values.items()}


def complete(values: Cities, text: str = COMPLETE) -> AssertionVerdict:
    """The verdict on the completeness of cities."""
    return evaluate(parse(text), {"completeness(email) by city": groups(values)})


def steady(today: Cities, *past: Cities | None) -> AssertionVerdict:
    """The verdict on cities that must keep half of their mean."""
    windows = [None if window is None else groups(window) for window in past]
    return evaluate(parse(STEADY), {"row_count() by city": groups(today), "mean(row_count(), last=4) by city": windows})


def test_every_operand_is_measured_by_the_columns() -> None:
    found = operands(parse("row_count() > mean(row_count(ago=1d), last=7) and min(fare) > 0 by city, status"))
    assert [operand.text for operand in found] == [
        "row_count() by city, status",
        "mean(row_count(ago=1d), last=7) by city, status",
        "min(fare) by city, status",
    ]


def test_an_assertion_holds_when_every_group_does() -> None:
    found = complete({"Oslo": 1.0, "Bergen": 0.99})
    assert (found.outcome, found.value, found.bound) == (HELD, 1.0, 1.0)
    assert found.operands == {"completeness(email) by city": 2.0}
    assert found.sentence == "2 of 2 groups hold (100 %, wanted all): completeness(email) >= 0.99"


def test_one_broken_group_breaks_it_and_the_worst_are_named_first() -> None:
    found = complete({"Oslo": 0.9, "Bergen": 1.0, "Voss": 0.5, None: 0.98})
    assert (found.outcome, found.value) == (BROKEN, 0.25)
    assert found.sentence == (
        "1 of 4 groups hold (25 %, wanted all): completeness(email) >= 0.99; "
        "city = 'Voss': completeness(email) = 0.5, wanted >= 0.99; "
        "city = 'Oslo': completeness(email) = 0.9, wanted >= 0.99; "
        "city is null: completeness(email) = 0.98, wanted >= 0.99"
    )
    assert found.findings["groups"] == {"held": 1, "broken": 3, "not_judged": 0}
    assert found.findings["worst_groups"][0] == {
        "group": {"city": "Voss"},
        "value": 0.5,
        "bound": 0.99,
        "said": "city = 'Voss': completeness(email) = 0.5, wanted >= 0.99",
    }


@pytest.mark.parametrize(("share", "outcome"), [("75 %", HELD), ("75.1 %", BROKEN), ("100 %", BROKEN), ("1 %", HELD)])
def test_a_share_of_the_groups_is_enough_where_it_is_given(share: str, outcome: Outcome) -> None:
    text = f"{COMPLETE} for {share} of groups"
    assert complete({"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}, text).outcome is outcome


def test_the_excess_is_the_share_of_groups_that_is_missing() -> None:
    tree = parse(f"{COMPLETE} for 90 % of groups")
    ten: list[dict[str | None, float | None]] = [{str(i): float(i >= broken) for i in range(10)} for broken in (5, 2)]
    found = [excess(tree, complete(values, f"{COMPLETE} for 90 % of groups")) for values in ten]
    assert found == [pytest.approx(0.4), pytest.approx(0.1)]
    assert excess(tree, complete({"a": 1.0})) == 0


def test_a_group_that_is_null_or_no_number_is_not_judged_and_told() -> None:
    found = complete({"Oslo": 1.0, "Bergen": None, "Voss": nan, "Moss": inf})
    assert (found.outcome, found.value) == (HELD, 1.0)
    assert found.sentence.endswith(
        "3 groups could not be judged, such as city = 'Bergen': result is null: completeness(email) is NULL"
    )
    assert found.findings["groups"] == {"held": 1, "broken": 0, "not_judged": 3}


def test_where_no_group_can_be_judged_the_whole_is_an_error() -> None:
    found = complete({"Oslo": None, "Bergen": None})
    assert found.failure is not None
    assert found.failure.reason is Reason.UNDEFINED
    assert found.failure.detail.startswith("none of 2 groups could be judged; city = 'Oslo': completeness(email)")


def test_an_empty_table_has_no_groups_to_judge() -> None:
    assert complete({}).failure == Failure(
        reason=Reason.NO_DATA, detail="there are no groups by city: no rows were found"
    )


def test_groups_keep_the_logic_of_nulls_each_for_itself() -> None:
    text = "completeness(email) >= 0.99 or coalesce(mean(fare), 0) > 5 by city"
    fares = groups({"Oslo": 6.0, "Voss": None, "Moss": 1.0})
    emails = groups({"Oslo": None, "Voss": None, "Moss": 0.0})
    found = evaluate(parse(text), {"completeness(email) by city": emails, "mean(fare) by city": fares})
    assert found.findings["groups"] == {"held": 1, "broken": 1, "not_judged": 1}
    assert found.findings["worst_groups"][0]["value"] is None


def test_a_group_that_has_vanished_has_no_rows() -> None:
    day: Cities = {"Oslo": 10.0, "Voss": 8.0}
    found = steady({"Oslo": 10.0}, day, day, day, day)
    assert found.outcome is BROKEN
    assert "city = 'Voss': row_count() = 0, wanted >= 0.5 * mean(row_count(), last=4) (4)" in found.sentence


def test_a_new_group_is_warming_up_and_the_others_are_judged() -> None:
    day: Cities = {"Oslo": 10.0}
    found = steady({"Oslo": 10.0, "Voss": 1.0}, day, day, day, day)
    assert found.outcome is HELD
    assert "city = 'Voss': warming up: mean(row_count(), last=4) by city has 0 of the 2" in found.sentence


def test_a_day_without_rows_counts_as_none_once_the_group_is_known() -> None:
    found = steady({"Voss": 2.0}, {}, {"Voss": 10.0}, {}, {"Voss": 2.0})
    assert found.outcome is HELD  # against half of (10 + 0 + 2) / 3
    assert steady({"Voss": 1.9}, {}, {"Voss": 10.0}, {}, {"Voss": 2.0}).outcome is BROKEN


def test_a_spoilt_window_is_missing_for_every_group() -> None:
    found = steady({"Oslo": 5.0}, {"Oslo": 1000.0}, None, None, None)
    assert found.failure is not None
    assert found.failure.reason is Reason.WARMING_UP


def test_a_failed_operand_is_told_before_any_group() -> None:
    lost = Failure(reason=Reason.ENGINE_UNREACHABLE)
    values: dict[str, Value] = {"row_count() by city": lost, "mean(row_count(), last=4) by city": []}
    assert evaluate(parse(STEADY), values).failure == lost


def test_a_group_divided_by_zero_follows_the_policy_of_the_test() -> None:
    text = "row_count() / distinct_count(id) = 1 by city"
    rows, keys = groups({"Oslo": 1.0, "Voss": 0.0, "Moss": 2.0}), groups({"Oslo": 1.0, "Voss": 0.0, "Moss": 0.0})
    values: dict[str, Value] = {"row_count() by city": rows, "distinct_count(id) by city": keys}
    tallies = {zero: evaluate(parse(text), values, zero=zero).findings["groups"] for zero in ZeroDivision}
    assert [tuple(tally.values()) for tally in tallies.values()] == [(1, 0, 2), (1, 1, 1), (2, 1, 0)]


def test_only_the_worst_twenty_are_found_and_three_said() -> None:
    found = complete({f"c{i:02}": i / 100 for i in range(50)})
    assert [len(found.findings["worst_groups"]), found.sentence.count("wanted >=")] == [20, 3]
    assert found.sentence.endswith("and 47 more")


def test_where_fewer_are_broken_those_that_hold_by_the_least_are_found_too() -> None:
    values: dict[str | None, float | None] = {f"c{i:02}": 0.97 + i / 1000 for i in range(28)}
    found = complete({**values, "d": 1.0})
    assert [each["group"]["city"] for each in found.findings["worst_groups"]] == [f"c{i:02}" for i in range(20)]
    assert "groups_that_hold" not in found.findings
    found = complete({"a": 0.5, "b": 1.0, "c": 0.99, "d": 0.995})
    assert [each["group"]["city"] for each in found.findings["groups_that_hold"]] == ["c", "d", "b"]
    assert found.sentence.endswith("; city = 'a': completeness(email) = 0.5, wanted >= 0.99")


numbers = st.none() | st.sampled_from([0.0, 0.5, 1.0, 2.0])
cities = st.dictionaries(st.sampled_from(["a", "b", "c", None]), numbers, min_size=1)


@given(left=cities, right=cities)
def test_shares_of_groups_agree_with_pandas(left: Cities, right: Cities) -> None:
    tree = parse("row_count() <= 2 * sum(fare) by city for 50 % of groups")
    found = evaluate(tree, {"row_count() by city": groups(left), "sum(fare) by city": groups(right)})
    frame = pd.DataFrame({"city": list({**left, **right})})
    frame["left"] = [left.get(city, 0.0) for city in frame.city]
    frame["right"] = [right.get(city) for city in frame.city]
    judged = frame.astype({"left": float, "right": float}).dropna(subset=["left", "right"])
    share = (judged.left <= 2 * judged.right).mean()
    expected = ERROR if judged.empty else HELD if share >= 0.5 else BROKEN
    assert (found.outcome, found.value) == (expected, None if judged.empty else share)


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 60 + "…")])
def test_a_key_is_shown_up_to_sixty_characters_and_is_whole_in_the_findings(length: int, shown: str) -> None:
    found = complete({"x" * length: 0.0})
    assert f"; city = '{shown}': completeness(email) = 0" in found.sentence
    assert found.findings["worst_groups"][0]["group"] == {"city": "x" * length}


@pytest.mark.parametrize(("broken", "more"), [(3, "wanted >= 0.99"), (4, "; and 1 more"), (5, "; and 2 more")])
def test_three_groups_are_said_and_the_others_counted(broken: int, more: str) -> None:
    found = complete({str(at): 0.1 * at for at in range(broken)})
    assert found.sentence.endswith(more)
    assert found.sentence.count("wanted >= 0.99") == 3


def test_equally_bad_groups_are_told_by_their_names() -> None:
    found = complete({"b": 0.5, "a": 0.5, None: 0.5, "c": 0.2})
    assert [each["group"]["city"] for each in found.findings["worst_groups"]] == ["c", "a", "b", None]


def test_of_several_comparisons_groups_are_told_by_their_names() -> None:
    text = "completeness(email) >= 0.9 and completeness(email) <= 2 by city"
    found = complete({"b": 0.1, "a": 0.5}, text)
    assert found.findings["worst_groups"] == [
        {
            "group": {"city": city},
            "value": None,
            "bound": None,
            "said": f"city = '{city}': completeness(email) >= 0.9 is false ({value}); "
            f"completeness(email) <= 2 is true ({value})",
        }
        for city, value in (("a", 0.5), ("b", 0.1))
    ]


@pytest.mark.parametrize(
    ("held", "broken", "percent"),
    [
        *[(1, 2, "33.33 %"), (2, 1, "66.66 %"), (9999, 1, "99.99 %"), (1, 3, "25 %"), (0, 1, "0 %")],
        pytest.param(99999, 1, "99.99 %", marks=pytest.mark.thorough),
    ],
)
def test_the_share_of_groups_is_cut_and_never_rounded_up(held: int, broken: int, percent: str) -> None:
    values: dict[str | None, float | None] = {str(at): float(at >= broken) for at in range(held + broken)}
    assert complete(values).sentence.startswith(f"{held} of {held + broken} groups hold ({percent}, wanted all): ")


@pytest.mark.parametrize(("share", "wanted"), [("90 %", "90 %"), ("99.5 %", "99.5 %")])
def test_the_wanted_share_is_said_as_it_was_written(share: str, wanted: str) -> None:
    assert f"wanted {wanted}): " in complete({"a": 1.0}, f"{COMPLETE} for {share} of groups").sentence


def test_a_negated_assertion_is_said_of_each_group() -> None:
    found = complete({"a": 0.5}, "not completeness(email) < 0.99 by city")
    assert found.sentence.endswith("; city = 'a': completeness(email) = 0.5, wanted not < 0.99")


def test_some_that_were_not_judged_are_found_with_the_reason() -> None:
    found = complete({None: None, "Oslo": 1.0})
    assert found.findings == {
        "groups": {"held": 1, "broken": 0, "not_judged": 1},
        "groups_that_hold": [
            {
                "group": {"city": "Oslo"},
                "value": 1.0,
                "bound": 0.99,
                "said": "city = 'Oslo': completeness(email) = 1, wanted >= 0.99",
            }
        ],
        "groups_not_judged": [
            {"group": {"city": None}, "said": "city is null: result is null: completeness(email) is NULL"}
        ],
    }
    assert found.sentence.endswith(
        "; 1 group could not be judged, such as city is null: result is null: completeness(email) is NULL"
    )
    unknown: dict[str | None, float | None] = {str(at): None for at in range(30)}
    many = complete({**unknown, "ok": 1.0})
    assert len(many.findings["groups_not_judged"]) == 20


def test_a_group_that_is_not_finite_says_its_value() -> None:
    found = complete({"a": inf, "b": 1.0})
    assert found.findings["groups_not_judged"][0]["said"] == (
        "city = 'a': result is not a finite number: completeness(email) is inf"
    )


def test_the_gravest_reason_is_told_where_no_group_could_be_judged() -> None:
    found = steady({"Voss": 1.0, "Oslo": nan}, {"Oslo": 2.0}, {"Oslo": 2.0})
    assert found.failure == Failure(
        reason=Reason.NOT_FINITE, detail="none of 2 groups could be judged; city = 'Oslo': row_count() is nan"
    )
    assert found.operands == {"row_count() by city": 2.0}


def test_there_are_no_groups_by_several_columns() -> None:
    found = evaluate(parse("row_count() > 0 by a, b"), {"row_count() by a, b": {}})
    assert found.failure is not None
    assert found.failure.detail == "there are no groups by a, b: no rows were found"
    assert found.operands == {"row_count() by a, b": 0.0}


@pytest.mark.thorough
def test_as_many_groups_as_the_limit_are_judged() -> None:
    at_most = complete({str(at): 1.0 for at in range(MAX_GROUPS)})
    assert (at_most.outcome, at_most.operands) == (HELD, {"completeness(email) by city": float(MAX_GROUPS)})
    beyond = complete({str(at): 1.0 for at in range(MAX_GROUPS + 1)})
    assert beyond.operands == {"completeness(email) by city": float(MAX_GROUPS + 1)}
    assert "by city makes 100,001 groups" in str(beyond.failure)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *[(None, "None"), (1.0, "1.0"), ([1.0], "[1.0]"), ("x" * 300, "'" + "x" * 99)],
        ([groups({"a": 1.0})], "[{('a',): 1.0}]"),
    ],
)
def test_a_value_that_is_not_of_groups_is_told_in_short(value: Value, shown: str) -> None:
    with pytest.raises(UnableToEvaluate) as refused:
        evaluate(parse(COMPLETE), {"completeness(email) by city": value})
    assert str(refused.value) == f"completeness(email) by city needs a value for each group, not {shown}"


def test_a_history_of_something_else_than_groups_is_refused() -> None:
    wrong: list[Value] = [[1.0], [None, 1.0], 3.0, {}]
    for past in wrong:
        with pytest.raises(UnableToEvaluate):
            evaluate(parse(STEADY), {"row_count() by city": {}, "mean(row_count(), last=4) by city": past})


def test_a_division_by_zero_in_a_group_is_the_worst_and_said() -> None:
    text = "row_count() / sum(id) = 1 by city"
    values: dict[str, Value] = {
        "row_count() by city": groups({"a": 9.0, "b": 2.0}),
        "sum(id) by city": groups({"a": 1.0, "b": 0.0}),
    }
    found = evaluate(parse(text), values, zero=ZeroDivision.STANDARD)
    assert found.findings["worst_groups"] == [
        {
            "group": {"city": "b"},
            "value": None,
            "bound": 1.0,
            "said": "city = 'b': row_count() / sum(id) = NULL, wanted = 1; row_count() / sum(id) divides 2 by zero",
        },
        {
            "group": {"city": "a"},
            "value": 9.0,
            "bound": 1.0,
            "said": "city = 'a': row_count() / sum(id) = 9, wanted = 1",
        },
    ]
