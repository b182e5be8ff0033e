"""Figures for people: on the terminal, and in docs/benchmarks.md between its markers."""

import json
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.cache import ROOT, home

from .figures import HEADINGS, Part, rows
from .race import as_json

DOCS = ROOT / "docs" / "benchmarks.md"
MOST_CHARACTERS = 300  # of what went wrong


def show(console: Console, part: Part) -> None:
    """One race as a table."""
    table = Table(title=f"{part.heading} ({part.race.environment})", title_justify="left")
    for at, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if heading in ("", "PySpark") else "right", no_wrap=at == 0)
    for row in rows(part.race):
        table.add_row(*(cell[:MOST_CHARACTERS] for cell in row))
    console.print(table)


def write_json(machine: str, parts: Sequence[Part]) -> Path:
    """All samples of this run, in the cache folder."""
    path = home() / "results.json"
    found = [{"part": part.name, "heading": part.heading, **as_json(part.race)} for part in parts]
    path.write_text(json.dumps({"machine": machine, "races": found}, indent=1) + "\n")
    return path


def write_docs(machine: str, parts: Sequence[Part]) -> Path:
    """The tables of the parts that were run, each between the markers of its name."""
    text = DOCS.read_text()
    for name, group in groupby(parts, key=lambda part: part.name):
        text = between_markers(text, name, f"Measured on {machine}.\n\n{markdown(list(group))}")
    DOCS.write_text(text)
    return DOCS


def markdown(parts: Sequence[Part]) -> str:
    """A heading and a table for all races of the same heading."""
    tables = [_table(heading, list(group)) for heading, group in groupby(parts, key=lambda part: part.heading)]
    return "\n\n".join(tables)


def between_markers(text: str, name: str, inner: str) -> str:
    """The text with ``inner`` between ``<!-- name -->`` and ``<!-- /name -->``; ValueError where they are missing."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{DOCS.name} has no {start} … {end}; write them where the table belongs")
    return pattern.sub(lambda _: f"{start}\n{inner}\n{end}", text)


def _table(heading: str, parts: Sequence[Part]) -> str:
    lines = [f"**{heading}**", "", f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    for part in parts:
        lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows(part.race)]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text[:MOST_CHARACTERS].replace("|", "\\|").replace("\n", " ")
