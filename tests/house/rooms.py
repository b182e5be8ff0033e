"""The folders of the product, two levels deep, each with its line: ``make docs`` writes them down.

They stand in docs/architecture.md between two marks; a test holds the page to the code.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.figures import PACKAGES, ROOT

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- /rooms -->"
NOT_OURS = {"migrations", "management", "__pycache__"}  # Django's own folders


def rooms(depth: int = 2) -> Iterator[tuple[Path, str]]:
    """Every folder of modules with the first line of its docstring, parents first."""
    for package in PACKAGES:
        yield from _below(ROOT / package, depth)


def _below(folder: Path, depth: int) -> Iterator[tuple[Path, str]]:
    yield folder.relative_to(ROOT), (said(folder) or [""])[0]
    if depth > 1:
        for child in sorted(path.parent for path in folder.glob("*/__init__.py")):
            if child.name not in NOT_OURS:
                yield from _below(child, depth - 1)


def said(folder: Path) -> list[str]:
    """The paragraphs of a folder's docstring."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
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
