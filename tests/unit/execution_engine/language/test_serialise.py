"""Trees as JSON."""

import json
from typing import Any

import pytest
from hypothesis import given

from execution_engine.language.parse import parse
from execution_engine.language.serialise import UnableToReadTree, from_json, to_json
from execution_engine.language.tree import Condition
from tests.unit.execution_engine.language.golden import pairs
from tests.unit.execution_engine.language.trees import assertions

LESS = {"node": "comparison", "parameters": {"comparator": "<"}}
ONE = {"node": "number", "parameters": {"value": 1.0}, "children": []}


@given(assertions)
def test_a_tree_reads_back_equal_from_its_json(tree: Condition) -> None:
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
    ],
)
def test_json_that_is_no_assertion_is_refused(data: Any) -> None:
    with pytest.raises(UnableToReadTree):
        from_json(data)
