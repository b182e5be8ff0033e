"""The streak: windows that all start broken, none of them for long enough by itself."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.state import State
from alerting.verdicts.sustain import FirstRun, SeenRun, Verdict, first_run, fold, streak_fails, with_streak
from assay.time.windows import Window
from execution_engine.outcome import Outcome, Reason

DAY = datetime(2024, 3, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
SUSTAIN = 4 * HOUR


def hour(number: float) -> datetime:
    return DAY + number * HOUR


def window(number: int) -> Window:
    return Window(start=hour(number - 1), end=hour(number))


def ran(number: int, mark: str, *, held_at: float | None = None) -> FirstRun:
    outcome = {"b": Outcome.BROKEN, "h": Outcome.HELD, "e": Outcome.ERROR}[mark]
    healed = None if held_at is None else hour(held_at)
    return FirstRun(
        window=window(number), due_at=hour(number), measured_at=hour(number), outcome=outcome, held_at=healed
    )


@pytest.mark.parametrize(
    ("first_outcomes", "failing"),
    [
        ("bbbb", []),
        ("bbbbb", [0, 1, 2, 3, 4]),
        ("hbbbbbb", [1, 2, 3, 4, 5, 6]),
        ("bbbbhbbb", []),
        ("bbbbbhb", [0, 1, 2, 3, 4]),
        ("beeeb", [0, 4]),
        ("", []),
    ],
)
def test_windows_fail_when_successive_first_runs_are_broken_for_the_sustain_period(
    first_outcomes: str, failing: list[int]
) -> None:
    runs = [ran(number, mark) for number, mark in enumerate(first_outcomes)]
    assert set(streak_fails(reversed(runs), sustain=SUSTAIN)) == {window(number) for number in failing}


def test_a_window_of_a_streak_fails_when_the_streak_is_long_enough_or_when_it_joins() -> None:
    failed = streak_fails([ran(number, "b") for number in range(6)], sustain=SUSTAIN)
    assert (failed[window(0)], failed[window(4)], failed[window(5)]) == (hour(4), hour(4), hour(5))


def test_a_window_that_held_before_the_streak_was_long_enough_does_not_fail() -> None:
    runs = [ran(0, "b", held_at=2), ran(1, "b", held_at=5), *(ran(number, "b") for number in (2, 3, 4))]
    assert set(streak_fails(runs, sustain=SUSTAIN)) == {window(1), window(2), window(3), window(4)}


def saw(run: int, at: float, outcome: Outcome) -> SeenRun:
    reason = Reason.TIMEOUT if outcome is Outcome.ERROR else None
    return SeenRun(run_id=run, measured_at=hour(at), outcome=outcome, reason=reason)


def test_the_first_run_is_the_first_that_judges_the_window_when_due() -> None:
    seen = [
        saw(1, 0.5, Outcome.BROKEN),  # early
        saw(2, 1.0, Outcome.ERROR),
        saw(3, 1.1, Outcome.BROKEN),
        saw(4, 1.2, Outcome.HELD),
    ]
    first = first_run(window(1), due_at=hour(1), seen=seen)
    assert first == FirstRun(
        window=window(1), due_at=hour(1), measured_at=hour(1.1), outcome=Outcome.BROKEN, held_at=hour(1.2)
    )


def test_a_window_with_errors_only_has_no_first_run() -> None:
    assert first_run(window(1), due_at=hour(1), seen=[saw(1, 1, Outcome.ERROR)]) is None


def folded(*seen: SeenRun, now: float) -> Verdict:
    return fold(seen, due_at=hour(1), sustain=SUSTAIN, now=hour(now), unknown_after=HOUR)


def test_a_streak_turns_a_warning_into_a_failure() -> None:
    verdict = with_streak(folded(saw(1, 1, Outcome.BROKEN), now=3), hour(2))
    assert (verdict.state, verdict.since, verdict.failed_at) == (State.FAIL, hour(2), hour(2))


def test_a_failure_by_streak_stays_over_errors_until_its_window_holds() -> None:
    broken, errors, held = saw(1, 1, Outcome.BROKEN), saw(2, 6, Outcome.ERROR), saw(3, 9, Outcome.HELD)
    assert with_streak(folded(broken, errors, now=7), hour(2)).state is State.FAIL
    healed = with_streak(folded(broken, errors, held, now=10), hour(2))
    assert (healed.state, healed.ever_failed) == (State.PASS, True)


def test_a_window_that_breaks_again_after_it_held_has_its_own_sustain_period() -> None:
    seen = [saw(1, 1, Outcome.BROKEN), saw(2, 3, Outcome.HELD), saw(3, 4, Outcome.BROKEN)]
    assert with_streak(folded(*seen, now=5), hour(2)).state is State.WARN


def test_no_streak_leaves_the_standing_as_it_is() -> None:
    verdict = folded(saw(1, 1, Outcome.BROKEN), now=2)
    assert with_streak(verdict, None) == verdict
