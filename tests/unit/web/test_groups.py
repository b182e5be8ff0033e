"""The groups of one result as rows of a table."""

from typing import Any

from execution_engine.language.evaluate import ZeroDivision, judge_groups
from execution_engine.language.parse import parse
from execution_engine.language.tree import By
from web.rendering.findings import GroupSummary, groups_of


def summary_of(assertion: str, values: dict[str, float | None], *calls: str) -> GroupSummary:
    """As an assertion by city judges these values."""
    tree = parse(assertion)
    assert isinstance(tree, By)
    groups = {(city,): value for city, value in values.items()}
    found = groups_of(judge_groups(tree, dict.fromkeys(calls, groups), ZeroDivision.NULL).findings)
    assert found is not None
    return found


def test_a_group_has_its_figure_with_a_bar_and_does_not_repeat_its_key() -> None:
    found = summary_of(
        "completeness(fare) >= 0.8 by city", {"Oslo: x": 0.4, "Bonn": 1.0, "Rome": None}, "completeness(fare) by city"
    )
    assert [(row.key, row.status, row.value, row.bound) for row in found.rows] == [
        (["Oslo: x"], "broken", 0.4, 0.8),
        (["Rome"], "unknown", None, None),
        (["Bonn"], "held", 1.0, 0.8),
    ]
    assert [row.bar and (row.bar.length, row.bar.bound) for row in found.rows] == [(40.0, 80.0), None, (100.0, 80.0)]
    assert found.rows[0].said == "completeness(fare) = 0.4, wanted >= 0.8"
    assert found.has_values


def test_figures_below_zero_have_no_bar() -> None:
    found = summary_of("min(fare) >= 0 by city", {"Oslo": -3.0, "Bonn": 1.0}, "min(fare) by city")
    assert [(row.value, row.bar) for row in found.rows] == [(-3.0, None), (1.0, None)]


def test_all_zeros_have_no_bar_and_a_number_with_many_digits_is_one() -> None:
    counts = {"held": 1, "broken": 0, "not_judged": 0}
    one: dict[str, Any] = {"group": {"city": None}, "value": 0.0, "bound": None, "said": "x"}
    found = groups_of({"groups": counts, "groups_that_hold": [one]})
    assert found is not None
    assert (found.rows[0].key, found.rows[0].bar) == (["null"], None)
    found = groups_of({"groups": counts, "groups_that_hold": [one | {"value": "9223372036854775807"}]})
    assert found is not None
    assert found.rows[0].value == float(2**63)


def test_an_assertion_of_several_figures_tells_them_in_words_alone() -> None:
    found = summary_of("row_count() > 1 and row_count() < 9 by city", {"Oslo": 20.0}, "row_count() by city")
    assert (found.rows[0].value, found.rows[0].bar, found.has_values) == (None, None, False)
    assert "row_count() < 9 is false (20)" in found.rows[0].said
