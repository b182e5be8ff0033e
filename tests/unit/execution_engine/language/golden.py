"""Golden pairs in text files: blocks between empty lines, ``#`` before comments, the input on a block's first line."""

from pathlib import Path


def pairs(name: str) -> list[tuple[str, str]]:
    """Each block's first line, and the lines below it."""
    blocks = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n\n")
    return [_pair(block) for block in blocks if _lines(block)]


def _lines(block: str) -> list[str]:
    return [line for line in block.strip("\n").split("\n") if line and not line.startswith("#")]


def _pair(block: str) -> tuple[str, str]:
    first, *rest = _lines(block)
    return first, "\n".join(rest)
