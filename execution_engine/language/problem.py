"""Where in an assertion something is wrong, and the drawing that shows it."""

from dataclasses import dataclass
from unicodedata import combining, east_asian_width

WIDTH = 100  # characters of a line that are shown around the place


@dataclass(frozen=True, kw_only=True)
class Span:
    """Characters ``[start, end)`` of the assertion's text."""

    start: int
    end: int


NOWHERE = Span(start=0, end=0)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong with an assertion: what, where, and how to mend it."""

    message: str
    place: Span | None = None  # None: the text as a whole

    def explain(self, source: str) -> str:
        """The message above the line it is about, with a caret under the place."""
        return self.message if self.place is None else f"{self.message}\n{draw(source, self.place)}"


def draw(source: str, place: Span) -> str:
    """The line that holds ``place``, indented by two, and carets under it (up to the end of that line)."""
    first = source.rfind("\n", 0, place.start) + 1
    last = source.find("\n", place.start)
    line = source[first:] if last < 0 else source[first:last]
    start = place.start - first
    end = max(start + 1, min(place.end - first, len(line)))
    line, start, end = _crop(line, start, end)
    blank = " " * _columns(line[:start])
    return f"  {_plain(line)}\n  {blank}{'^' * max(1, _columns(line[start:end]))}"


def _crop(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a long line around the place, marked with ``…`` where it was cut."""
    if len(line) <= WIDTH:
        return line, start, end
    left = max(0, min(start - WIDTH // 2, len(line) - WIDTH))
    right = left + WIDTH
    before, after = "…" if left else "", "…" if right < len(line) else ""
    shift = len(before) - left
    return before + line[left:right] + after, start + shift, min(end, right) + shift


def _plain(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)


def _columns(text: str) -> int:
    """How many terminal columns ``text`` takes; East Asian wide characters take two."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


class ParseRefusal(Exception):
    """A problem met while the tree is built; ``parse`` turns it into UnableToParse with the text drawn."""

    def __init__(self, message: str, place: Span | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(message=message, place=place)
