"""A past thaws: what is novel and stays so joins it, unless somebody says that it is wrong."""

import numpy as np
import pyarrow as pa
import pytest

from execution_engine.novelty.days import FURTHER_WINDOWS
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import MOST_DOUBLINGS, Past, ThawingPast, WindowAnswer, from_bytes, to_bytes
from tests.unit.execution_engine.novelty.batches import past, profile, trips, with_column

BEFORE = 20


def in_cents(table: pa.Table) -> pa.Table:
    return with_column(table, "fare", np.array(table["fare"].fill_null(0)) * 100)


def alarms(days: int, answer: WindowAnswer = WindowAnswer.NONE) -> list[bool]:
    """Whether days are novel from that day on which the fares are in cents; ``answer``: what is said of such."""
    thawing, found = ThawingPast(past=past(BEFORE)), []
    for day in range(BEFORE, BEFORE + days):
        today = profile(in_cents(trips(day)), day)
        found.append(judge(today, thawing.past).is_novel)
        thawing = thawing.with_window(day, today, answer if found[-1] else WindowAnswer.ACCEPTED)
    return found


def test_a_change_that_nobody_calls_wrong_is_no_news_after_three_further_windows() -> None:
    assert alarms(8) == [True] * (1 + FURTHER_WINDOWS) + [False] * (7 - FURTHER_WINDOWS)


def test_what_somebody_calls_wrong_stays_news_and_what_is_right_is_none_at_once() -> None:
    assert alarms(6, WindowAnswer.WRONG) == [True] * 6
    assert alarms(3, WindowAnswer.RELEASED) == [True, False, False]


def test_one_window_that_joined_late_stands_where_it_came() -> None:
    thawing = ThawingPast(past=past(BEFORE))
    rows = [trips(BEFORE).slice(0, 77), *(trips(day) for day in range(BEFORE + 1, BEFORE + 5))]
    for day, table in enumerate(rows, BEFORE):
        answer = WindowAnswer.NONE if day == BEFORE else WindowAnswer.ACCEPTED
        thawing = thawing.with_window(day, profile(table, day), answer)
    joined = [float(batch.arrays["shown"][0, 0]) for batch in thawing.past.batches[BEFORE:]]
    assert (joined, thawing.unanswered) == ([77, 500, 500, 500, 500], ())


def test_another_error_is_still_news_where_a_window_has_thawed() -> None:
    thawing = ThawingPast(past=past(BEFORE))
    for day in range(BEFORE, BEFORE + 5):
        table = in_cents(trips(day)) if day == BEFORE else trips(day)
        thawing = thawing.with_window(
            day, profile(table, day), WindowAnswer.NONE if day == BEFORE else WindowAnswer.ACCEPTED
        )
    without_city = with_column(trips(BEFORE + 5), "city", pa.nulls(500, pa.string()))
    assert not judge(profile(trips(BEFORE + 5), BEFORE + 5), thawing.past).is_novel
    assert judge(profile(without_city, BEFORE + 5), thawing.past).is_novel


def after(answers: list[WindowAnswer]) -> Past:
    """Twenty days, and as many more of which this is said; nothing waits any more."""
    thawing = ThawingPast(past=past(BEFORE))
    for day, answer in enumerate([*answers, *[WindowAnswer.ACCEPTED] * FURTHER_WINDOWS], BEFORE):
        thawing = thawing.with_window(day, profile(trips(day), day), answer)
    return thawing.past


def test_each_alarm_that_nobody_answers_doubles_the_threshold_and_twenty_quiet_windows_halve_it() -> None:
    unanswered = after([WindowAnswer.NONE])
    assert unanswered.patience == from_bytes(to_bytes(unanswered)).patience == pytest.approx(2 ** (0.95 - 3 / 20))
    assert after([WindowAnswer.NONE, *[WindowAnswer.ACCEPTED] * 20]).patience == 1
    assert after([WindowAnswer.RELEASED] * 3).patience == after([WindowAnswer.WRONG] * 3).patience == 1


def test_a_loud_error_is_still_news_after_many_alarms_that_nobody_answered() -> None:
    often = after([WindowAnswer.NONE] * 12)
    assert often.patience == 2**MOST_DOUBLINGS
    today = BEFORE + 15
    assert not judge(profile(trips(today).slice(0, 495), today), often).is_novel
    assert judge(profile(trips(today).slice(0, 100), today), often).is_novel
    assert judge(profile(trips(today).drop_columns(["city"]), today), often).is_novel
