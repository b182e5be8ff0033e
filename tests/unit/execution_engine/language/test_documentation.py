"""The page on the language names what there is, and its examples can be read."""

import re
from pathlib import Path

import pytest

from execution_engine.language.parse import parse
from execution_engine.language.tree import Function, HistoryFunction
from execution_engine.metrics.registry import METRICS

PAGE = (Path(__file__).parents[4] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLES = [line for line in re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE) if re.search("[<>=] |between", line)]


@pytest.mark.parametrize("name", Function)
def test_every_function_is_named(name: str) -> None:
    assert re.search(rf"\b{name}\(", PAGE)


def test_the_page_leads_to_every_metric_and_names_none_that_is_not_there() -> None:
    listed = PAGE.partition("- **Metrics** ([all of them](metrics.md#every-metric)")[2].partition("\n- A column")[0]
    assert set(re.findall(r"\b([a-z_]+)\(", listed)) <= set(METRICS)
    assert "row_count(" in listed


@pytest.mark.parametrize("name", HistoryFunction)
def test_every_function_over_past_windows_is_named(name: str) -> None:
    assert re.search(rf"`[^`]*\b{name}\b", PAGE.partition("- **History**")[2])


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_can_be_read(example: str) -> None:
    assert len(EXAMPLES) > 10
    assert parse(example)
