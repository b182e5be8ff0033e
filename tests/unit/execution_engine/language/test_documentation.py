"""The page on the language names what there is, and its examples can be read."""

import re
from pathlib import Path

import pytest

from execution_engine.language.parsing.parse import parse
from execution_engine.language.tree import Function, HistoryFunction
from execution_engine.metrics.registry import METRICS

PAGE = (Path(__file__).parents[4] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLES = [line for line in re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE) if re.search("[<>=] |between", line)]


@pytest.mark.parametrize("name", [*METRICS, *Function])
def test_every_metric_and_function_is_named(name: str) -> None:
    assert re.search(rf"\b{name}\(", PAGE)


@pytest.mark.parametrize("name", HistoryFunction)
def test_every_function_over_past_windows_is_named(name: str) -> None:
    assert re.search(rf"`[^`]*\b{name}\b", PAGE.partition("- **History**")[2])


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_can_be_read(example: str) -> None:
    assert len(EXAMPLES) > 10
    assert parse(example)
