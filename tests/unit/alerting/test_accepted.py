"""What is left of a whole table without the windows that somebody accepted or forced."""

import pytest

from alerting.verdicts.sustain import Counts, holds_without
from execution_engine.language.parse import parse
from execution_engine.language.tree import operands
from execution_engine.outcome import Outcome

RATIO = "row_count() / row_count(dataset='raw.events') between 0.995 and 1.005"
OWN, THEIRS = "row_count()", "row_count(dataset='raw.events')"
UNIQUE = "1 - distinct_count(id) / row_count() <= 0.001"


def counted(own: float | None, theirs: float | None) -> Counts:
    return {OWN: own, THEIRS: theirs}


@pytest.mark.parametrize(
    ("case", "whole", "waived", "holds"),
    [
        ("a fifth of a day was lost and accepted", counted(680, 700), [counted(80, 100)], True),
        ("so were two days", counted(640, 700), [counted(80, 100), counted(60, 100)], True),
        ("as much again is lost elsewhere", counted(660, 700), [counted(80, 100)], False),
        ("more of the accepted day is lost since", counted(670, 700), [counted(80, 100)], False),
        ("nothing is accepted", counted(680, 700), [], False),
        ("nothing but accepted days is there", counted(80, 100), [counted(80, 100)], True),
        ("rows without any that they should come from are left", counted(90, 100), [counted(80, 100)], False),
        ("the accepted day has more rows than the whole", counted(70, 700), [counted(80, 100)], False),
        ("nobody knows what an accepted day holds", counted(680, 700), [counted(80, 100), {OWN: 1}], False),
        ("a count of it was null", counted(680, 700), [counted(None, 100)], False),
        ("a count of the whole is not known", {OWN: 680}, [counted(80, 100)], False),
    ],
)
def test_what_is_left_of_a_ratio_of_rows_is_held_to_the_same_bounds(
    case: str, whole: Counts, waived: list[Counts], holds: bool
) -> None:
    verdict = holds_without(parse(RATIO), whole, waived)
    assert (verdict is not None) is holds, case
    assert verdict is None or verdict.outcome is Outcome.HELD


@pytest.mark.parametrize(("keys", "holds"), [(680, True), (670, False)])
def test_accepted_duplicates_leave_those_of_other_days(keys: int, holds: bool) -> None:
    waived: Counts = {_key(): 80, OWN: 100}
    assert (holds_without(parse(UNIQUE), {_key(): keys, OWN: 700}, [waived]) is not None) is holds


@pytest.mark.parametrize(
    "assertion",
    ["mean(fare) >= 3", "row_count(ago=7d) >= 3", "mean(row_count(), last=7) >= 3", "row_count() > 1 by city"],
)
def test_values_that_are_no_sums_of_days_explain_nothing(assertion: str) -> None:
    names = ("mean(fare)", "row_count(ago=7d)", "mean(row_count(), last=7)", "row_count()")
    assert holds_without(parse(assertion), dict.fromkeys(names, 9.0), [dict.fromkeys(names, 1.0)]) is None


def _key() -> str:
    return next(each.text for each in operands(parse(UNIQUE)) if each.text != OWN)
