"""Running the examples of docs/verification-api.md."""

import doctest
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from execution_engine import verification
from execution_engine.verification import Check, ConstraintStatus
from execution_engine.verification.constraints import Bound
from tests.unit.execution_engine.verification.api_examples import EXAMPLES
from tests.unit.execution_engine.verification.api_page import of

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
READ_DATA = (  # their examples need a DataFrame
    *("Verification", "VerificationResult", "DeltaStates", "FolderOfStates"),
    *("verify_batch", "BatchStates", "BatchResult"),
)
NAMES: Mapping[str, Any] = {name: getattr(verification, name) for name in verification.__all__} | {
    "Bound": Bound,
    "UTC": UTC,
    "date": date,
    "datetime": datetime,
}
_LINE = re.compile(r"(Check\(.*\))  # (\w+)")


@dataclass(frozen=True, kw_only=True)
class CheckExample:
    """One line behind a method: the check it writes, and the status that its constraints have."""

    method: str
    text: str
    check: Check
    status: ConstraintStatus


def of_checks() -> list[CheckExample]:
    """All lines of all methods; ValueError for one that says no status."""
    methods = [name for name in EXAMPLES if name.startswith("Check.")]
    return [_check_example(name, line) for name in methods for line in EXAMPLES[name].strip().splitlines()]


def _check_example(method: str, line: str) -> CheckExample:
    parts = _LINE.fullmatch(line)
    if parts is None:
        raise ValueError(f"{method}: {line!r} is no check with a status: write Check().…  # success")
    return CheckExample(method=method, text=line, check=eval(parts[1], dict(NAMES)), status=ConstraintStatus(parts[2]))


def failed_examples(names: Sequence[str], known: Mapping[str, object]) -> str:
    """What doctest says of the examples of these names, each after those before it; nothing where all are right."""
    failures: list[str] = []
    globs = {**NAMES, **known}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for name in names:
        examples = [EXAMPLES.get(each.name, "") for each in of(name) if not each.name.startswith("Check.")]
        test = doctest.DocTestParser().get_doctest("\n".join(examples) + "\n", globs, name, None, None)
        if not test.examples:
            failures.append(f"{name} has no example")
        runner.run(test, out=failures.append, clear_globs=False)
        globs = test.globs
    return "".join(failures)
