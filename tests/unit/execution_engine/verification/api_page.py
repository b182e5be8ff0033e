"""docs/verification-api.md from the code. ``make docs`` writes it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from execution_engine import verification
from execution_engine.verification.checks import check
from execution_engine.verification.checks.constrained import Constrained
from execution_engine.verification.checks.of_keys import OfKeys
from execution_engine.verification.checks.of_numbers import OfNumbers
from execution_engine.verification.checks.of_rows import OfCompleteness, OfRows
from execution_engine.verification.checks.of_texts import OfTexts
from execution_engine.verification.constraints.constraints import Bound
from tests.unit.execution_engine.verification import documented as read
from tests.unit.execution_engine.verification.api_rows import COLUMNS, EARLIER_SIZES, RIDES
from tests.unit.execution_engine.verification.documented import Documented

ROOT = Path(__file__).parents[4]
MANY = 3  # methods that say the same of a parameter or an error: it is said once, before all of them
PATH = ROOT / "docs/verification-api.md"
GROUPS: Mapping[str, Sequence[str]] = {
    "Suites": ("VerificationSuite", "Verification"),
    "Checks": ("Check",),
    "Bounds": ("equal_to", "at_least", "at_most", "above", "below", "between", "Bound"),
    "Metrics": ("metric", "SIZE", "Histogram"),
    "Profiles": ("Profile",),
    "Strategies": (
        *("SimpleThreshold", "AbsoluteChange", "RelativeRateOfChange", "BatchNormal", "OnlineNormal"),
        *("Adaptive", "Predictive", "HoltWinters", "SeasonalTrend"),
    ),
    "Results": ("VerificationResult", "CheckResult", "ConstraintResult", "Status", "ConstraintStatus", "Level"),
    "Repositories": (
        *("ResultKey", "StoredMetrics", "MetricsRepository", "InMemoryRepository", "FileRepository", "FolderOfStates"),
    ),
    "Exceptions": ("UnableToAssert", "UnableToProfile", "UnableToReadRepository"),
}
KINDS: Mapping[type, str] = {
    OfCompleteness: "Rows and missing values",
    OfKeys: "Keys",
    OfNumbers: "Numbers and distributions",
    OfTexts: "Texts",
    OfRows: "Conditions on rows",
    check.OverTime: "Against the past",
    Constrained: "Any metric, and constraints of your own",
}
OPENING = """# The API of verification

Written from the code; `make docs` writes it anew. What checks are
for, and how they work together, is told in [unit tests for data](verification.md).

All names come from one place: `from execution_engine.verification import Check, VerificationSuite, at_least`.

- `Expected` is a number, a bound such as `at_least(0.99)`, or your own function of the value. `Number` is an int, a
  float or a Decimal. `Scalar` is a text, a boolean, a `Number`, a date or a datetime.
- Shares are numbers from 0 to 1. Names of columns are texts, and a parameter `*columns` takes one or more.
- Every example runs in the tests. What stands behind an example of a check is the status of its constraint.

The examples are about these rides of 10 March 2026, a Spark DataFrame `rides`; another, `riders`, has the `rider_id`
1, 2 and 3. On the days before, a repository was told of {sizes} rides. `folder` is an empty folder; `date`,
`datetime` and `UTC` are those of Python's `datetime`.

{rows}
"""


def page() -> str:
    """The page."""
    lines = [OPENING.format(sizes=_listed(EARLIER_SIZES), rows=_rows())]
    for title, names in GROUPS.items():
        lines.append(f"## {title}\n")
        for name in names:
            lines += _of_checks() if name == "Check" else [_entry(each) for each in of(name)]
    return "\n".join(lines).rstrip() + "\n"


def of(name: str) -> Sequence[Documented]:
    """A public name, and behind it the methods and properties of a class."""
    found = Bound if name == "Bound" else getattr(verification, name)
    if isinstance(found, type):
        return [read.of_class(found), *read.members(found)]
    return [read.of_function(name, found) if callable(found) else read.of_constant(name, found, check)]


def everything() -> list[Documented]:
    """All names with their members, in the order of the page."""
    return [each for names in GROUPS.values() for name in names for each in of(name)]


def _of_checks() -> Iterator[str]:
    itself, *methods = of("Check")
    yield _entry(itself)
    parameters, errors = _said_by_many(methods)
    yield "### What many methods share\n\nThis holds for each method below, unless the method says something else.\n"
    yield f"| parameter | |\n|---|---|\n{_table(parameters)}\n\n**Errors.** {_errors(errors)}\n"
    methods = [
        replace(
            each,
            parameters={name: text for name, text in each.parameters.items() if parameters.get(name) != text},
            errors=tuple(error for error in each.errors if error not in errors) or ("none",),
        )
        for each in methods
    ]
    for kind, title in KINDS.items():
        yield f"### {title}\n\n{_markdown(read.sections(kind.__doc__)[''])}\n"
        own = [name for name in vars(kind) if not name.startswith("_")]
        yield from (_entry(each) for each in methods if each.name.removeprefix("Check.") in own)


def _said_by_many(methods: Sequence[Documented]) -> tuple[dict[str, str], list[str]]:
    """The parameters with what most methods say of them, and the errors, that many methods have."""
    told = Counter((name, text) for each in methods for name, text in each.parameters.items())
    raised = Counter(error for each in methods for error in each.errors if not error.startswith("none"))
    parameters = {name: text for (name, text), count in reversed(told.most_common()) if count >= MANY}
    return dict(reversed(parameters.items())), [error for error, count in raised.most_common() if count >= MANY]


def _entry(each: Documented) -> str:
    level = "####" if "." in each.name else "###"
    if not each.is_called:
        example = f"\n\n```python\n{each.example}\n```" if each.example else ""
        return f"{level} `{each.name}`\n\n`{each.signature.split('.')[-1]}`\n\n{_markdown(each.text)}{example}\n"
    parts = [f"{level} `{each.name}`", f"```python\n{each.signature}\n```", _markdown(each.text)]
    if each.parameters:
        parts.append(f"| {_head(each)} | |\n|---|---|\n{_table(each.parameters)}")
    if tuple(each.errors) != ("none",):
        parts.append(f"**Errors.** {_errors(each.errors)}")
    if each.example:
        parts.append(f"```python\n{each.example}\n```")
    return "\n\n".join(parts) + "\n"


def _table(parameters: Mapping[str, str]) -> str:
    return "\n".join(f"| `{name}` | {_markdown(text)} |" for name, text in parameters.items())


def _head(each: Documented) -> str:
    if not each.signature.startswith("class "):
        return "field" if each.name.endswith("Result") or each.name == "Histogram" else "parameter"
    return "value"


def _errors(errors: Sequence[str]) -> str:
    """Each as a sentence; ``none`` begins one too."""
    return " ".join(_markdown(error if error.startswith("`") else error[0].upper() + error[1:]) for error in errors)


def _markdown(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _rows() -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join("null" if value is None else str(value) for value in row) + " |" for row in RIDES]
    return "\n".join(lines)


def _listed(values: Sequence[object]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}"


if __name__ == "__main__":
    PATH.write_text(page())
