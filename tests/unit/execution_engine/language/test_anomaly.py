"""``anomaly(row_count(), last=60) <= 1``: a value now by the values before."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.evaluate import AssertionVerdict, evaluate
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.past import EXPECTED, WithPast
from execution_engine.language.serialise import from_json, to_json, to_text
from execution_engine.language.tree import operands
from execution_engine.metrics.registry import GROUPABLE, SIGNATURES
from execution_engine.outcome import Failure, Outcome, Reason

SUNDAY = datetime(2026, 3, 1)
STEADY = [100.0, 102, 98, 101, 99, 100, 103, 97, 100, 100]
TEXTS = [
    "anomaly(row_count(), last=60) <= 1",
    "anomaly(mean(fare, where='city = 1'), last=90, every=7d, min=20, side='low', strategy='batch_normal') <= 1.5",
    "anomaly(row_count(), last=30, max_rate=2, min_rate=0.5, strategy='relative_rate_of_change') < 1 by city",
]


def judged(text: str, now: object, past: Sequence[object]) -> AssertionVerdict:
    tree = parse(text)
    (operand,) = operands(tree)
    when = [SUNDAY + timedelta(days=at) for at in range(len(past))]
    given = WithPast(now=now, past=past, when=when, at=SUNDAY + timedelta(days=len(past)))
    return evaluate(tree, {operand.text: given})  # type: ignore[dict-item]


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_written_and_stored_as_it_was_read(text: str) -> None:
    tree = parse(text)
    assert to_text(tree) == text
    assert from_json(to_json(tree)) == tree


def test_what_was_stored_before_there_were_options_is_what_it_was() -> None:
    history = to_json(parse("mean(row_count(), last=7) > 0"))["children"][0]
    assert set(history["parameters"]) == {"function", "last", "min", "metric"}


def test_a_value_like_those_before_holds() -> None:
    found = judged(TEXTS[0], 101, STEADY)
    assert found.outcome is Outcome.HELD
    assert found.value is not None
    assert found.value < 0.5


def test_a_value_unlike_those_before_says_what_was_expected() -> None:
    found = judged("anomaly(row_count(), last=10, strategy='batch_normal', std_devs=3) <= 1", 120, STEADY)
    assert found.outcome is Outcome.BROKEN
    assert found.sentence.endswith("row_count() = 120, expected 94.7085 to 105.292 after 10 windows (batch_normal)")
    (finding,) = found.findings[EXPECTED]
    assert (finding["value"], finding["windows"]) == (120, 10)
    assert (finding["low"], finding["high"]) == pytest.approx((94.7085, 105.2915), abs=1e-3)


def test_an_open_end_is_said_and_stored_as_none() -> None:
    text = "anomaly(row_count(), last=10, strategy='batch_normal', std_devs=3, side='{}') <= 1"
    low, high = judged(text.format("low"), 20, STEADY), judged(text.format("high"), 1200, STEADY)
    assert low.sentence.endswith("row_count() = 20, expected 94.7085 or more after 10 windows (batch_normal)")
    assert high.sentence.endswith("row_count() = 1200, expected 105.292 or less after 10 windows (batch_normal)")
    assert [found.findings[EXPECTED][0][end] for found, end in ((low, "high"), (high, "low"))] == [None, None]


def test_too_few_values_are_warming_up() -> None:
    found = judged(TEXTS[0], 100, [None, *STEADY[:7], None])
    assert found.failure == Failure(
        reason=Reason.WARMING_UP,
        detail="anomaly(row_count(), last=60) has 7 of the 8 past windows it needs; wait for more",
    )


def test_min_waits_for_more_than_the_strategy_needs() -> None:
    text = "anomaly(row_count(), last=60, min=11) <= 1"
    assert judged(text, 100, STEADY).outcome is Outcome.ERROR
    assert judged(text, 100, [*STEADY, 100.0]).outcome is Outcome.HELD


def test_null_now_is_null() -> None:
    assert judged("coalesce(anomaly(mean(fare), last=10), 0) <= 1", None, STEADY).outcome is Outcome.HELD
    assert judged("anomaly(mean(fare), last=10) <= 1", None, STEADY).outcome is Outcome.ERROR


@pytest.mark.parametrize("past", [[1e308, -1e308] * 5, [1e308] * 10])
def test_a_past_that_is_too_large_is_an_error_and_no_crash(past: list[float]) -> None:
    found = judged(TEXTS[0], 5, past)
    assert found.outcome in {Outcome.ERROR, Outcome.BROKEN}


def test_each_group_is_judged_by_its_own_past() -> None:
    past = [{("Oslo",): value, ("Rome",): 10 * value} for value in STEADY]
    found = judged("anomaly(row_count(), last=10) <= 1 by city", {("Oslo",): 100.0, ("Rome",): 100.0}, past)
    assert (found.outcome, found.value) == (Outcome.BROKEN, 0.5)
    assert "city = 'Rome'" in found.sentence


def test_a_group_that_vanished_has_no_rows() -> None:
    past = [{("Oslo",): value, ("Rome",): value} for value in STEADY]
    found = judged("anomaly(row_count(), last=10) <= 1 by city", {("Oslo",): 100.0}, past)
    assert "city = 'Rome'" in found.sentence


def problems(text: str) -> str:
    home = DatasetSchema(name="raw.rides", columns={"fare": None}, partitioned=True)  # type: ignore[dict-item]
    try:
        check(parse(text), home=home, schema_of=lambda _: None, signatures=SIGNATURES, source=text, groupable=GROUPABLE)
    except (UnableToCheck, UnableToParse) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("anomaly(row_count(), last=60) <= 1", ""),
        ("anomaly(row_count(), last=60, strategy='magic') <= 1", "there is no strategy 'magic'"),
        ("anomaly(row_count(), last=60, std_devs=3) <= 1", "adaptive has no option std_devs="),
        ("anomaly(row_count(), last=5) <= 1", "the strategy needs 8 past windows: write last=8 or more"),
        ("anomaly(row_count(), last=60, strategy='holt_winters', period=40) <= 1", "needs 80 past windows"),
        ("mean(row_count(), last=60, std_devs=3) > 1", "std_devs= is no option over past windows"),
        ("anomaly(row_count()) <= 1", "say how many, such as last=7"),
        ("anomaly(row_count(), last=60, where='x') <= 1", "where= is no option over past windows"),
        ("anomaly(row_count(), last=60)", "compare"),
    ],
)
def test_what_is_wrong_with_it_is_said_before_it_runs(text: str, why: str) -> None:
    found = problems(text)
    assert why in found
    assert bool(found) == bool(why)
