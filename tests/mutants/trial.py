"""Which tests run a line, and whether any of them notices a mutant of it."""

import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from coverage import CoverageData

from tests.mutants.mutation import Mutant
from tests.mutants.nursery import passes
from tests.mutants.targets import ROOT, Target

PYTEST = ("-q", "-p", "no:cacheprovider", "--no-header", "--deselect=tests/unit/test_house.py")
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
NEVER = ("--ignore-glob=*spark*", "--ignore-glob=*races*", "--ignore-glob=*broker_lost*", "--ignore-glob=*at_size*")
TEST_PATIENCE, PATIENCE = (
    60,
    900,
)  # seconds for a test, and for all of them: a mutant that loops for ever is noticed too

Covering = Mapping[int, frozenset[str]]


class Fate(StrEnum):
    """What became of a mutant."""

    NOTICED = "noticed"
    SURVIVED = "survived"
    UNREACHED = "run by no test of its package"
    EQUIVALENT = "changes nothing that can be seen"


def record(folders: Iterable[str], packages: Iterable[str], data: Path) -> None:
    """Run tests, and keep which test runs which line; raises CalledProcessError where they do not pass."""
    sources = [f"--cov={package}" for package in packages]
    told = (*PYTEST, *NEVER, *sources, "--cov-context=test", "--cov-report=", *folders)
    command = (sys.executable, "-m", "pytest", *told)
    subprocess.run(command, cwd=ROOT, env=_environment(COVERAGE_FILE=str(data)), check=True)


def migrate(home: Path) -> None:
    """Make the database that trials of services begin with, in a home of its own."""
    command = (str(Path(sys.executable).with_name("assay")), "migrate", "--verbosity=0")
    subprocess.run(command, cwd=ROOT, env=_environment(ASSAY_HOME=str(home)), check=True)


def covering(target: Target, data: Path) -> Covering:
    """The tests that run each line of a module, by line; those of a module's own lines run when it is imported."""
    known = CoverageData(basename=str(data))
    known.read()
    found: dict[int, frozenset[str]] = defaultdict(frozenset)
    for line, contexts in known.contexts_by_lineno(str(target.path)).items():
        tests = {context.partition("|")[0] for context in contexts if context}
        found[line] = frozenset(test for test in tests if test.startswith(target.tests))
    return found


def is_equivalent(target: Target, mutant: Mutant) -> bool:
    """Whether somebody has looked at it and found that it changes nothing that can be seen."""
    listed = (line.partition(" | ") for line in EQUIVALENT.read_text().splitlines() if not line.startswith("#"))
    return (target.name, mutant.change) in {(module, rest.rpartition(" | ")[0]) for module, _, rest in listed}


def judge(target: Target, mutant: Mutant, lines: Covering, migrated: Path | None = None) -> Fate:
    """What its package's tests make of a mutant: those that run its line.

    A line that runs when the module is imported is no test's: all that run any of the module are asked, and those in a
    file that is named for it or in the folder of its room, as nothing tells who reads a default or a constant.
    """
    if is_equivalent(target, mutant):
        return Fate.EQUIVALENT
    tests = lines.get(mutant.line) or _named_for(target).union(*lines.values())
    if not tests:
        return Fate.UNREACHED
    own = _own_file(target, tests, lines)
    first, rest = (sorted(test for test in tests if test.startswith(own) is is_own) for is_own in (True, False))
    with tempfile.NamedTemporaryFile("w", suffix=".py") as source:
        source.write(mutant.source)
        source.flush()
        given = _environment(ASSAY_MUTANT=f"{target.name}={target.path}", ASSAY_MUTANT_SOURCE=source.name)
        given |= {"ASSAY_MIGRATED": str(migrated)} if migrated else {}
        told = (*PYTEST, "-x", "-p", "tests.mutants.swap", f"--timeout={TEST_PATIENCE}")
        survives = all(passes((*told, *some), given, PATIENCE) for some in (first, rest) if some)
    return Fate.SURVIVED if survives else Fate.NOTICED


def _named_for(target: Target) -> frozenset[str]:
    """The files of tests that are named for a module, or stand in the folder of its room."""
    _, _, room = target.name.partition(".")
    names = (f"test_{target.path.stem}.py", f"{room.partition('.')[0]}/**/test_*.py")
    found = (path for folder in target.tests for name in names for path in (ROOT / folder).rglob(name))
    return frozenset(str(path.relative_to(ROOT)) for path in found)


def _own_file(target: Target, tests: Iterable[str], lines: Covering) -> str:
    """The file of tests that most likely notices: one named for the module, or the one that runs most of its lines."""
    known = Counter(file for some in lines.values() for file in {_file(test) for test in some})
    stem = target.name.rpartition(".")[2]
    return max({_file(test) for test in tests}, key=lambda file: (f"/test_{stem}.py" in file, known[file], file))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", **more}
