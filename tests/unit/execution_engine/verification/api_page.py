"""docs/verification-api.md from the code. ``make docs`` writes it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from execution_engine import verification
from execution_engine.verification.constraints import Bound
from tests.unit.execution_engine.verification import documented as read
from tests.unit.execution_engine.verification.api_examples import EXAMPLES
from tests.unit.execution_engine.verification.api_rows import COLUMNS, EARLIER_SIZES, RIDES
from tests.unit.execution_engine.verification.documented import Documented

ROOT = Path(__file__).parents[4]
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
        *("ResultKey", "StoredMetrics", "MetricsRepository", "InMemoryRepository", "FileRepository"),
        *("DeltaStates", "FolderOfStates"),
    ),
    "Micro-batches": ("verify_batch", "BatchStates", "BatchResult"),
    "Exceptions": ("UnableToAssert", "UnableToProfile", "UnableToReadRepository"),
}
KINDS: Mapping[str, tuple[str, str]] = {  # with the first method of each, in the order of the class
    "has_size": ("Rows and missing values", "How many rows there are, and which of them have values."),
    "is_unique": (
        "Keys",
        """How often keys occur. A key is the values of one row in the columns, one name or several.

`nulls="skip"` leaves out each row with a null in its key, as SQL does. `nulls="keep"` leaves out only the rows in which
every column of the key is null, as Deequ does.""",
    ),
    "has_min": (
        "Numbers and distributions",
        """Statistics of one column or of two; nulls are left out.

Where there is no value at all, a statistic is an `error` and not a success. `q` is the share of the values that lie
below a quantile: a number from 0 to 1.""",
    ),
    "has_pattern": (
        "Texts",
        "What texts are like; nulls are left out. Patterns and lengths want a column of texts, types one of any type.",
    ),
    "satisfies": (
        "Conditions on rows",
        """Conditions on single rows. `expected` bounds the share of the rows that meet one, by default 1: all rows.

A null breaks none of them but `satisfies`; `is_complete` asks for values. Where there is no row to judge, the
status is `success`.""",
    ),
    "has_no_anomalies": ("Against the past", "The past comes from the repository that the suite uses."),
    "adding": ("Any metric, and constraints of your own", "What constraints of every kind are added by."),
}
SHARED = {
    "column`, `columns`, `a`, `b": 'names of columns. A dot leads into a struct: `"item.one"` is `one` of `item`.',
    "expected": "the bound on the value: a number (exactly this one), a bound such as `at_least(0.99)`, or your own "
    "function, which takes the value and returns whether it is good; TypeError or ValueError for anything else.",
    "where": "a condition of Spark SQL. Only the rows that meet it and the `where` of the check are looked at.",
    "hint": "a text for whoever reads the result. The result holds it unless the constraint succeeds.",
    "name": "what results call the constraint; without it, the call as it is written.",
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
    value = Bound if name == "Bound" else getattr(verification, name)
    if isinstance(value, type):
        return [read.of_class(value), *read.members(value)]
    if callable(value):
        return [read.of_function(name, value)]
    return [
        Documented(name=name, signature=f"{name}: {type(value).__name__}", text="The metric of the number of rows.")
    ]


def everything() -> list[Documented]:
    """All names with their members, in the order of the page."""
    return [each for names in GROUPS.values() for name in names for each in of(name)]


def _of_checks() -> Iterator[str]:
    itself, *methods = of("Check")
    yield _entry(itself)
    yield "### What many methods share\n\n| parameter | |\n|---|---|"
    yield "\n".join(f"| `{name}` | {text} |" for name, text in SHARED.items()) + "\n"
    names = [each.name.removeprefix("Check.") for each in methods]
    first = names.index("has_size")  # what adds any metric, which the class begins with, comes last
    for each in (*methods[first:], *methods[:first]):
        if kind := KINDS.get(each.name.removeprefix("Check.")):
            yield f"### {kind[0]}\n\n{kind[1]}\n"
        yield _entry(each)


def _entry(each: Documented) -> str:
    level = "####" if "." in each.name else "###"
    text = re.sub(r"``(.+?)``", r"`\1`", each.text)
    if each.is_called:
        parts = [f"{level} `{each.name}`", f"```python\n{each.signature}\n```", text]
    else:
        parts = [f"{level} `{each.name}`", f"`{each.signature}`", text]
    if example := EXAMPLES.get(each.name):
        parts.append(f"```python\n{example.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def _rows() -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join("null" if value is None else str(value) for value in row) + " |" for row in RIDES]
    return "\n".join(lines)


def _listed(values: Sequence[object]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}"


if __name__ == "__main__":
    PATH.write_text(page())
