import re
from pathlib import Path

import pytest

from execution_engine.metrics.definitions.patterns import CHECKED, MAX_CHARACTERS, NAMED
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec

LINES = [
    tuple(part.strip() for part in line.split("|"))
    for line in Path(__file__).with_name("patterns.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("name", "sign", "text"), LINES)
def test_a_named_pattern_knows_good_from_bad(name: str, sign: str, text: str) -> None:
    """By Python's expressions, which are Java's in all that these patterns use; Spark's are tried beside real files."""
    found = [match.group() for match in re.finditer(NAMED[name], text, re.ASCII)]
    assert any(name not in CHECKED or luhn(each) for each in found) == (sign == "+")


def luhn(number: str) -> bool:
    """By the rule as people do it with a pencil, apart from the SQL that Spark is given."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def test_a_line_break_behind_a_value_does_not_fit() -> None:
    good = [(name, text) for name, sign, text in LINES if sign == "+" and not name.startswith("contains_")]
    assert [name for name, text in good if re.search(NAMED[name], f"{text}\n", re.ASCII)] == []


def test_every_named_pattern_has_both_examples() -> None:
    assert {(name, sign) for name, sign, _ in LINES} == {(name, sign) for name in NAMED for sign in "+-"}


@pytest.mark.parametrize("pattern", ["a\0b", "a" * (MAX_CHARACTERS + 1)])
def test_a_pattern_that_is_too_much_is_refused(pattern: str) -> None:
    problem = METRICS["pattern_match"].problem
    assert problem is not None
    assert "at most" in (problem(MetricSpec(name="pattern_match", columns=("a",), arguments=(pattern,))) or "")


@pytest.mark.parametrize(
    ("counts", "inferred", "share"),
    [
        ((4, 0, 0), "integral", 1.0),
        ((3, 1, 0), "fractional", 0.75),
        ((0, 0, 4), "boolean", 1.0),
        ((3, 0, 1), "text", 0.75),
        ((2, 0, 0), "text", 0.5),
        ((0, 0, 0), "text", 1.0),
    ],
)
def test_the_narrowest_type_that_holds_all_values_is_inferred(
    counts: tuple[int, int, int], inferred: str, share: float
) -> None:
    definition, spec = METRICS["consistent_type"], MetricSpec(name="consistent_type", columns=("a",))
    values = dict(zip(("integral", "fractional", "boolean"), counts, strict=True)) | {"values": 4}
    assert definition.detail is not None
    assert definition.value is not None
    types = {name: values[name] for name in ("integral", "fractional", "boolean")} | {"text": 4 - sum(counts)}
    assert definition.detail(spec, values) == {"inferred": inferred, "types": types}
    assert definition.value(spec, values) == share
    assert definition.detail(spec, dict.fromkeys(values, 0))["inferred"] == "unknown"
