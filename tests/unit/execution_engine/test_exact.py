"""Numbers that no float holds."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from execution_engine import exact
from execution_engine.engines.gathering import measured_number
from execution_engine.exact import Number
from execution_engine.language.evaluate import evaluate
from execution_engine.language.parse import parse
from execution_engine.language.serialise import from_json, to_json, to_text
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupKey, GroupValues
from execution_engine.metrics.states.states import MetricState, from_bytes, merged
from execution_engine.metrics.states.statistics import Gather, Statistic
from execution_engine.verification import at_least, at_most, below, between, equal_to

BIG = 2**63 - 1
LONG = Decimal("12345678901234567890.1234567891")
SPEC = MetricSpec(name="sum", columns=("a",))

NUMBERS: list[tuple[Number | np.int64, Number, object]] = [
    (7, 7.0, 7.0),
    (Decimal("0.10"), 0.1, 0.1),
    (2**53 + 1, 2**53 + 1, "9007199254740993"),
    (10**20, 1e20, 1e20),
    (BIG, BIG, "9223372036854775807"),
    (np.int64(BIG), BIG, "9223372036854775807"),
    (-BIG - 1, -BIG - 1, "-9223372036854775808"),
    (LONG, LONG, "12345678901234567890.1234567891"),
]


@pytest.mark.parametrize(("given", "number", "json"), NUMBERS)
def test_a_number_is_a_float_wherever_a_float_says_it(given: Number, number: Number, json: object) -> None:
    found = exact.number_of(given)
    assert (found, type(found)) == (number, type(number))
    assert exact.to_json(given) == json
    assert exact.from_json(exact.to_json(given)) == number


@pytest.mark.parametrize("number", [BIG, LONG, Decimal("1e-30") + 1])
def test_what_a_state_keeps_is_added_with_every_digit(number: Number) -> None:
    states = [from_bytes(SPEC, MetricState(statistics={"sum": value}).to_bytes(SPEC)) for value in (number, 1, 0.5)]
    whole = {"sum": Statistic(gather=Gather.SUM, of=("a",))}
    found = merged(whole, states[:2]).statistics
    assert found is not None
    assert Fraction(found["sum"]) - 1 == Fraction(number)


def test_the_values_of_groups_keep_every_digit() -> None:
    groups: dict[GroupKey, Number | None] = {("a",): BIG, ("b",): LONG, (None,): 0.5, ("c",): None}
    kept = GroupValues.from_bytes(GroupValues(columns=("city",), groups=groups).to_bytes())
    assert kept.groups == groups


@pytest.mark.parametrize(
    ("assertion", "value", "outcome"),
    [
        ("max(a) = 9223372036854775806", BIG, "broken"),
        ("max(a) = 9223372036854775807", BIG, "held"),
        ("max(a) < 9223372036854775807", BIG - 1, "held"),
        ("max(a) - 1 = 9223372036854775806", BIG, "held"),
        ("sum(a) = 12345678901234567890.1234567891", LONG, "held"),
        ("sum(a) = 12345678901234567890.1234567892", LONG, "broken"),
        ("max(a) between 9223372036854775806 and 9223372036854775806", BIG, "broken"),
        ("max(max(a), last=2) = 9223372036854775807", [1, BIG], "held"),
        ("lag(max(a), 1) = 9223372036854775806", [BIG], "broken"),
    ],
)
def test_a_verdict_is_on_every_digit(assertion: str, value: Number, outcome: str) -> None:
    tree = parse(assertion)
    operand = assertion.split(" - ")[0].split(" <")[0].split(" =")[0].split(" between")[0]
    assert evaluate(tree, {operand: value}).outcome == outcome
    assert from_json(to_json(tree)) == tree == parse(to_text(tree))


def test_a_sentence_shows_every_digit_of_value_and_bound() -> None:
    verdict = evaluate(parse("max(a) = 9223372036854775806"), {"max(a)": BIG})
    assert verdict.sentence == "max(a) = 9223372036854775807, wanted = 9223372036854775806"
    assert (verdict.value, verdict.bound) == (BIG, BIG - 1)
    assert evaluate(parse("sum(a) > 1"), {"sum(a)": LONG}).sentence == f"sum(a) = {LONG}, wanted > 1"


def test_a_quotient_has_the_digits_of_a_float() -> None:
    verdict = evaluate(parse("max(a) / row_count() > 1"), {"max(a)": float(2**20 + 1), "row_count()": float(2**20)})
    assert verdict.value == (2**20 + 1) / 2**20
    assert isinstance(verdict.value, float)


@pytest.mark.parametrize(
    ("bound", "met", "missed"),
    [
        (equal_to(BIG), BIG, BIG - 1),
        (equal_to(2**53 - 1), float(2**53 - 1), float(2**53 - 2)),
        (equal_to(0.3), 0.1 + 0.2, 0.31),
        (equal_to(LONG), LONG, LONG + Decimal("1e-10")),
        (at_least(BIG), BIG, BIG - 1),
        (at_most(BIG - 1), BIG - 1, BIG),
        (below(BIG), BIG - 1, BIG),
        (between(BIG - 2, BIG - 1), BIG - 1, BIG),
    ],
    ids=lambda given: getattr(given, "text", None),
)
def test_a_bound_of_a_check_is_on_every_digit(bound: object, met: Number, missed: Number) -> None:
    assert callable(bound)
    assert (bound(met), bound(missed)) == (True, False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("nan"), Decimal("-inf")])
def test_what_is_not_finite_is_no_measured_number(value: Number) -> None:
    assert measured_number(value, "max(a)").failure is not None
