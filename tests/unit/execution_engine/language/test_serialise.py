"""Trees as JSON."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from execution_engine.language.parse import parse
from execution_engine.language.serialise import UnableToReadTree, from_json, to_json
from execution_engine.language.tree import Assertion
from tests.unit.execution_engine.language.golden import pairs
from tests.unit.execution_engine.language.trees import assertions

LESS = {"node": "comparison", "parameters": {"comparator": "<"}}
ONE = {"node": "number", "parameters": {"value": 1.0}, "children": []}
BY_CITY = {"node": "by", "parameters": {"columns": ["city"], "percent": None}}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])  # a tree may be too large
@given(assertions)
def test_a_tree_reads_back_equal_from_its_json(tree: Assertion) -> None:
    assert from_json(json.loads(json.dumps(to_json(tree), allow_nan=False))) == tree


@pytest.mark.parametrize("text", [text for text, _ in pairs("assertions.txt")])
def test_an_assertion_reads_back_equal_from_its_json(text: str) -> None:
    assert from_json(json.loads(json.dumps(to_json(parse(text))))) == parse(text)


def test_the_json_shows_nodes_parameters_and_children() -> None:
    assert to_json(parse("1 < 1")) == {**LESS, "children": [ONE, ONE]}


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        ONE,
        {**LESS, "children": [ONE]},
        {**LESS, "children": [ONE, ONE, ONE]},
        {**LESS, "children": [ONE] * 2000},
        {**LESS, "children": [ONE, {**ONE, "node": "import"}]},
        {**LESS, "children": [ONE, {**ONE, "parameters": {"value": "x"}}]},
        {**LESS, "parameters": {"comparator": "<>"}, "children": [ONE, ONE]},
        {**BY_CITY, "children": []},
        {**BY_CITY, "children": [ONE]},
        {**BY_CITY, "children": [{**BY_CITY, "children": [{**LESS, "children": [ONE, ONE]}]}]},
        {"node": "not", "parameters": {}, "children": [{**BY_CITY, "children": [{**LESS, "children": [ONE, ONE]}]}]},
        {**BY_CITY, "parameters": {"columns": None, "percent": None}, "children": [{**LESS, "children": [ONE, ONE]}]},
    ],
)
def test_json_that_is_no_assertion_is_refused(data: Any) -> None:
    with pytest.raises(UnableToReadTree):
        from_json(data)


def test_a_history_that_was_stored_before_there_were_steps_is_read() -> None:
    data = to_json(parse("mean(row_count(), last=7) > 0"))
    assert "every" not in data["children"][0]["parameters"]
    assert from_json(data) == parse("mean(row_count(), last=7) > 0")


SPEC = {"name": "quantile", "columns": ["fare"], "arguments": [0.5], "options": {"n": 3}, "where": "x > 1"}
PLAIN: dict[str, Any] = {"name": "row_count", "columns": [], "arguments": [], "options": {}, "where": None}
HERE: dict[str, Any] = {"dataset": None, "datacenter": None, "ago": None}
PAST = {"function": "mean", "last": 7, "min": None, "metric": {"spec": PLAIN, **HERE}}


@pytest.mark.parametrize(
    ("text", "node", "parameters", "children"),
    [
        ("1.5", "number", {"value": 1.5}, 0),
        ("9007199254740993", "number", {"value": "9007199254740993"}, 0),
        ("'a b'", "text", {"value": "a b"}, 0),
        ("5 %", "percentage", {"percent": 5.0}, 0),
        ("90m", "duration", {"seconds": 5400.0}, 0),
        ("2 * 3", "arithmetic", {"operator": "*"}, 2),
        ("-(2)", "negative", {}, 1),
        ("least(1, 2, 3)", "call", {"function": "least"}, 3),
        (
            "quantile(fare, 0.5, n=3, where='x > 1', dataset='a', datacenter='b', ago=1mo)",
            "metric",
            {"spec": SPEC, "dataset": "a", "datacenter": "b", "ago": "1mo"},
            0,
        ),
        ("mean(row_count(), last=7)", "history", PAST, 0),
        ("mean(row_count(), last=7, every=1mo, min=2)", "history", {**PAST, "every": "1mo", "min": 2}, 0),
    ],
)
def test_an_expression_is_written_in_full(text: str, node: str, parameters: dict[str, Any], children: int) -> None:
    written = to_json(parse(f"{text} < 1"))["children"][0]
    assert (written["node"], written["parameters"], len(written["children"])) == (node, parameters, children)


@pytest.mark.parametrize(
    ("text", "node", "parameters", "children"),
    [
        ("1 != 2", "comparison", {"comparator": "!="}, 2),
        ("1 between 2 and 3", "between", {"negated": False}, 3),
        ("1 not between 2 and 3", "between", {"negated": True}, 3),
        ("not 1 < 2", "not", {}, 1),
        ("1 < 2 and 1 < 3 and 1 < 4", "and", {}, 3),
        ("1 < 2 or 1 < 3", "or", {}, 2),
        ("1 < 2 by a, `b c`", "by", {"columns": ["a", "`b c`"], "percent": None}, 1),
        ("1 < 2 by a for 95 % of groups", "by", {"columns": ["a"], "percent": 95.0}, 1),
    ],
)
def test_a_condition_is_written_in_full(text: str, node: str, parameters: dict[str, Any], children: int) -> None:
    written = to_json(parse(text))
    assert (written["node"], written["parameters"], len(written["children"])) == (node, parameters, children)


def test_numbers_of_json_are_floats_whatever_they_were() -> None:
    whole = {**LESS, "children": [{**ONE, "parameters": {"value": 1}}, {**ONE, "parameters": {"value": "1"}}]}
    assert repr(from_json(whole)) == repr(from_json({**LESS, "children": [ONE, ONE]}))
    by = {**BY_CITY, "parameters": {"columns": ["city"], "percent": 95}, "children": [whole]}
    assert "percent=95.0" in repr(from_json(by))


def wide(terms: int) -> dict[str, Any]:
    """An ``or`` of so many comparisons: three nodes each, and itself."""
    return {"node": "or", "parameters": {}, "children": [{**LESS, "children": [ONE, ONE]}] * terms}


def test_json_of_more_nodes_than_a_thousand_is_refused() -> None:
    assert from_json(wide(333))
    with pytest.raises(UnableToReadTree) as refused:
        from_json(wide(334))
    assert str(refused.value) == (
        "this JSON is no assertion (ValueError('more than 1000 nodes')): parse the test's text again"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (ONE, "TypeError('Number is no condition')"),
        ({**BY_CITY, "children": [ONE]}, "TypeError('By is no condition')"),
        ({}, "KeyError('children')"),
        (
            {
                **BY_CITY,
                "children": [{"node": "not", "parameters": {}, "children": [{**BY_CITY, "children": [wide(2)]}]}],
            },
            "TypeError('groups stand at the root only')",
        ),
    ],
)
def test_what_is_wrong_with_json_is_told(data: Any, why: str) -> None:
    with pytest.raises(UnableToReadTree) as refused:
        from_json(data)
    assert str(refused.value) == f"this JSON is no assertion ({why}): parse the test's text again"
