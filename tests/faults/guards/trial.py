"""An experiment of the short scale in a copy of the tree, as it is and without its guard."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmarks.cache import ROOT
from tests.faults.experiment import STAGED
from tests.faults.guards.guard import Edit, Guard

LEFT_OUT = (".*", "__pycache__", "artifacts", "dist", "*.egg-info", "spark-warehouse", "metastore_db")
LIMIT = 1800.0  # seconds
SHOWN = 160  # characters of a violation


class UnableToTry(Exception):
    """The experiments gave no results."""


class Fate(StrEnum):
    """What an experiment makes of the code without its guard."""

    FAILED = "fails"
    OTHERWISE = "fails by another invariant"
    UNSTAGED = "could not be staged"
    PASSED = "passes"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of one experiment without its guard; ``held``: whether it holds with it, None where nobody asked."""

    guard: Guard
    held: bool | None
    violations: Mapping[str, list[str]]
    seconds: float

    @property
    def fate(self) -> Fate:
        """Whether it failed, and as it should."""
        violated = {name for name, each in self.violations.items() if each}
        if self.guard.breaks & violated:
            return Fate.FAILED
        if violated - {STAGED}:
            return Fate.OTHERWISE
        return Fate.UNSTAGED if violated else Fate.PASSED

    @property
    def is_guarded(self) -> bool:
        """Whether the experiment tells code with its guard from code without."""
        return self.fate is Fate.FAILED and self.held is not False

    @property
    def told(self) -> list[tuple[str, int, str]]:
        """Each name that was violated, how often, and the first of it."""
        every = self.violations.items()
        return [(name, len(each), " ".join(each[0].split())[-SHOWN:]) for name, each in every if each]


def held_as_it_is(numbers: Iterable[int]) -> dict[int, bool]:
    """Whether each of these experiments holds on the tree as it is, one after the other."""
    with copied() as place:
        return {number: not any(each["violations"].values()) for number, each in _staged(place, numbers).items()}


def without(guard: Guard, *, held: bool | None = None) -> Answer:
    """Take a guard out and stage its experiment; raises UnableToTakeOut and UnableToTry."""
    with copied(guard.edits) as place:
        found = _staged(place, [guard.experiment])[guard.experiment]
    return Answer(guard=guard, held=held, violations=found["violations"], seconds=found["seconds"])


@contextmanager
def copied(edits: Iterable[Edit] = ()) -> Iterator[Path]:
    """A copy of the tree, with these edits made, until the context ends."""
    with tempfile.TemporaryDirectory(prefix="guards-") as folder:
        place = Path(folder) / "tree"
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for edit in edits:
            file = place / edit.path
            file.write_text(edit.made(file.read_text()))
        yield place


def _staged(place: Path, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    told = place.parent / "results.json"
    only = ",".join(map(str, numbers))
    command = [sys.executable, "-m", "tests.faults", "--quick", "--only", only, "--json", str(told)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place / "platform"), str(place)])}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=LIMIT)
    if not told.exists():
        raise UnableToTry(f"experiments {only} gave no results:\n{done.stderr[-3000:]}")
    return {result["number"]: result for result in json.loads(told.read_text())}
