"""The rooms of the product, folders and modules, two levels deep, each with the first line of its docstring.

``python -m tests.house.rooms`` writes them into docs/architecture.md between two marks. A test compares both.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.figures import PACKAGES, ROOT

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- /rooms -->"
NOT_OURS = {"migrations", "management", "__pycache__", "__init__.py", "apps.py", "wsgi.py"}  # Django's own


def rooms(depth: int = 2) -> Iterator[tuple[Path, str]]:
    """Every folder and module with the first line of its docstring, parents first."""
    for package in PACKAGES:
        yield from _below(ROOT / package, depth)


def _below(room: Path, depth: int) -> Iterator[tuple[Path, str]]:
    yield room.relative_to(ROOT), (said(room) or [""])[0]
    if depth > 1 and room.is_dir():
        for child in sorted([*room.glob("*.py"), *(path.parent for path in room.glob("*/__init__.py"))]):
            if child.name not in NOT_OURS:
                yield from _below(child, depth - 1)


def said(room: Path) -> list[str]:
    """The paragraphs of the docstring of a folder or a module."""
    module = room / "__init__.py" if room.is_dir() else room
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def page(text: str) -> str:
    """The page with the folders as they are now."""
    lines = [f"{'    ' * (len(path.parts) - _depth(path))}- `{path.name}`: {line}" for path, line in rooms()]
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1]


def _depth(path: Path) -> int:
    return 2 if path.parts[0] == "platform" else 1


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
