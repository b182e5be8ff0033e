"""What came out, in docs/reliability.md between its markers."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.report import between_markers
from tests.faults.guards.trial import Answer, Fate
from tests.faults.report import DOCS, inside, line

HEADING = ("", "what was taken out", "what happens then", "with it", "without it")
KNOWN = re.compile(r"^\| (\d+) \| ([^|]*) \|.*$", re.MULTILINE)


def write_docs(answers: Sequence[Answer], path: Path = DOCS) -> None:
    """Put the rows of these guards in place of their earlier ones."""
    text = path.read_text()
    rows = {(int(row[1]), row[2]): row[0] for row in KNOWN.finditer(inside(text, "guards"))}
    for answer in answers:
        rows[answer.guard.experiment, answer.guard.name] = line(_cells(answer))
    lines = [line(HEADING), line(["---"] * len(HEADING)), *[rows[key] for key in sorted(rows)]]
    path.write_text(between_markers(text, "guards", "\n".join(lines)))


def _cells(answer: Answer) -> list[str]:
    guard = answer.guard
    held = {True: "holds", False: "VIOLATED", None: "not asked"}[answer.held]
    violated = ", ".join(f"{name} ({count})" for name, count, _ in answer.told)
    fate = answer.fate.value if answer.fate is Fate.FAILED else answer.fate.value.upper()
    return [str(guard.experiment), guard.name, guard.without, held, f"{fate}: {violated}" if violated else fate]
