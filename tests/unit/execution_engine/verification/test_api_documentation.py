"""docs/verification-api.md is the code written out: it tells all of every public name, and its examples run."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from execution_engine import verification
from execution_engine.verification import SIZE, Check
from tests.unit.execution_engine.verification.api_examples import EXAMPLES
from tests.unit.execution_engine.verification.api_page import GROUPS, PATH, everything, page
from tests.unit.execution_engine.verification.documented import Documented
from tests.unit.execution_engine.verification.run_examples import READ_DATA, failed_examples, of_checks

ARGUMENTS: dict[str, Any] = (
    dict.fromkeys(("column", "columns", "a", "b", "inputs", "dataset"), "c")
    | dict.fromkeys(("condition", "premise", "conclusion"), "c > 0")
    | {"q": 0.5, "value": "x", "values": ["x"], "allowed": ["x"], "pattern": "x", "type_": "text"}
    | {"text": "rows", "spec": SIZE}
)


def test_the_page_is_what_the_code_says() -> None:
    assert PATH.read_text() == page(), "make docs writes it anew"


def test_every_public_name_is_on_the_page_once() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(verification.__all__) == set(named) - {"Bound"}  # nobody imports it, but all bounds are one


@pytest.mark.parametrize("each", everything(), ids=lambda each: each.name)
def test_every_name_has_a_text_and_every_call_an_example(each: Documented) -> None:
    assert each.text
    assert not each.is_called or each.name in EXAMPLES


def test_no_example_is_of_a_name_that_is_gone() -> None:
    assert set(EXAMPLES) <= {each.name for each in everything()}


def test_a_check_has_no_method_that_the_page_leaves_out() -> None:
    public = {name for name in dir(Check) if not name.startswith("_") and callable(getattr(Check, name))}
    assert {f"Check.{name}" for name in public} <= {each.name for each in everything()}
    written = page()
    assert all(f"#### `Check.{name}`\n" in written for name in public)


def test_examples_that_read_no_data_are_right(tmp_path: Path) -> None:
    names = [name for names in GROUPS.values() for name in names if name not in READ_DATA]
    assert failed_examples(names, {"folder": tmp_path}) == ""


def test_each_example_of_a_method_of_a_check_calls_that_method() -> None:
    examples = of_checks()
    assert {each.method for each in examples} == {each.name for each in everything() if each.name.startswith("Check.")}
    assert [each.text for each in examples if f".{each.method.removeprefix('Check.')}(" not in each.text] == []


@pytest.mark.parametrize("method", [each.name.split(".")[-1] for each in everything() if "expected" in each.parameters])
@pytest.mark.parametrize(("expected", "error"), [(None, TypeError), ("many", ValueError)])
def test_every_method_refuses_an_expected_that_is_no_number(method: str, expected: Any, error: type[Exception]) -> None:
    """As the page says of all at once."""
    parameters = inspect.signature(getattr(Check, method)).parameters
    given = {name: value for name, value in ARGUMENTS.items() if name in parameters}
    getattr(Check(), method)(**given, expected=1)
    with pytest.raises(error):
        getattr(Check(), method)(**given, expected=expected)


def test_an_example_that_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXAMPLES, "at_least", ">>> at_least(1)(0)\nTrue\n")
    assert "Expected:\n    True\nGot:\n    False" in failed_examples(["at_least"], {"folder": tmp_path})
