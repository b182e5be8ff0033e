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


@settings(suppress_health_check=[HealthCheck.too_slow])
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
