"""A wait of a command: how often it asks, when it ends, and what it says meanwhile."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.command_line.command import next_pause, wait_for

SECOND = timedelta(seconds=1)


def test_the_pauses_double_from_five_seconds_to_a_minute() -> None:
    pauses = [next_pause(asked, left=timedelta(hours=1)) / SECOND for asked in range(1, 8)]
    assert pauses == [5, 10, 20, 40, 60, 60, 60]


@given(st.integers(1, 10_000), st.integers(1, 4000), st.one_of(st.none(), st.integers(1, 500)))
def test_no_pause_is_longer_than_what_is_left(asked: int, left: int, poll: int | None) -> None:
    pause = next_pause(asked, left=left * SECOND, poll=None if poll is None else poll * SECOND)
    assert timedelta(0) < pause <= left * SECOND


def test_a_wait_ends_with_the_first_settled_answer_and_writes_a_line_for_each_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = iter(["bad", "bad", "worse", "good", "never asked"])
    found = wait_for(
        lambda: next(answers),
        is_settled=lambda answer: answer == "good",
        describe=lambda answer: f"it is {answer}",
        longest=60 * SECOND,
        poll=timedelta(milliseconds=1),
    )
    said = capsys.readouterr().err.splitlines()
    assert (found, next(answers)) == ("good", "never asked")
    assert [line.rpartition(": ")[2] for line in said] == ["it is bad", "it is worse"]


def test_a_wait_ends_in_time_with_the_last_answer() -> None:
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        return len(asked)

    lasts = timedelta(milliseconds=50)
    assert wait_for(ask, is_settled=lambda _: False, describe=str, longest=lasts, poll=timedelta(milliseconds=20)) >= 2
    assert wait_for(ask, is_settled=lambda _: False, describe=str, longest=timedelta(0)) == len(asked)
