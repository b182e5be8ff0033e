"""What came out, in docs/reliability.md between its markers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.engine.report import between_markers
from tests.faults.guards.trial import Answer, Fate
from tests.faults.report import DOCS, inside, line

HEADING = ("", "what was taken out", "what happens then", "with it", "without it")
WITH_IT = HEADING.index("with it")
HELD = {True: "holds", False: "VIOLATED", None: "not asked"}
KNOWN = re.compile(r"^\| (\d+) \| ([^|]*) \|.*$", re.MULTILINE)


def write_docs(answers: Sequence[Answer], path: Path = DOCS) -> None:
    """Put the rows of these guards in place of their earlier ones."""
    rows = _rows(path)
    for answer in answers:
        rows[answer.guard.experiment, answer.guard.name] = line(_cells(answer))
    _write(rows, path)


def write_held(held: Mapping[int, bool], path: Path = DOCS) -> None:
    """Put into the rows of these experiments whether they hold with their guards; the rest stays as it was found."""
    rows = _rows(path)
    for (number, name), row in rows.items():
        if number in held:
            cells = row.strip("| ").split(" | ")
            rows[number, name] = line([*cells[:WITH_IT], HELD[held[number]], *cells[WITH_IT + 1 :]])
    _write(rows, path)


def _rows(path: Path) -> dict[tuple[int, str], str]:
    return {(int(row[1]), row[2]): row[0] for row in KNOWN.finditer(inside(path.read_text(), "guards"))}


def _write(rows: Mapping[tuple[int, str], str], path: Path) -> None:
    lines = [line(HEADING), line(["---"] * len(HEADING)), *[rows[key] for key in sorted(rows)]]
    path.write_text(between_markers(path.read_text(), "guards", "\n".join(lines)))


def _cells(answer: Answer) -> list[str]:
    guard = answer.guard
    violated = ", ".join(f"{name} ({count})" for name, count, _ in answer.told)
    fate = answer.fate.value if answer.fate is Fate.FAILED else answer.fate.value.upper()
    return [
        str(guard.experiment),
        guard.name,
        guard.without,
        HELD[answer.held],
        f"{fate}: {violated}" if violated else fate,
    ]
