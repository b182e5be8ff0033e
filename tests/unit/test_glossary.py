"""Every place that the glossary names is there, so the page cannot say what is not so."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| `(?P<type>[\w.]+)` \| `(?P<module>[\w.]+)` \|$", re.M)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE.read_text())]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["word"])
def test_a_word_of_the_glossary_has_its_place_in_the_code(row: dict[str, str]) -> None:
    assert reduce(getattr, row["type"].split("."), import_module(row["module"])) is not None


def test_every_row_of_the_glossary_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| word ")]
    assert len(lines) == len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["word"])
def test_a_meaning_is_one_sentence(row: dict[str, str]) -> None:
    assert re.findall(r"[.!?](?= |$)", row["meaning"]) == ["."]
