"""The sustain fold: what a test's standing is after any results, at any time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.state import State
from alerting.verdicts.sustain import SeenRun, Verdict, fold, in_order, unknown_after
from execution_engine.outcome import Outcome, Reason

DUE = datetime(2024, 3, 5, 6, tzinfo=UTC)
SUSTAIN = timedelta(hours=4)
HELD, BROKEN, ERROR = Outcome.HELD, Outcome.BROKEN, Outcome.ERROR


def minutes(after_due: float) -> datetime:
    return DUE + timedelta(minutes=after_due)


def saw(outcome: Outcome, at: float, *, run: int | None = None, reason: Reason | None = None) -> SeenRun:
    if outcome is ERROR:
        reason = reason or Reason.TIMEOUT
    return SeenRun(
        run_id=run or int(at * 10) + 10**6, measured_at=minutes(at), outcome=outcome, reason=reason, value=at
    )


def stands(*seen: SeenRun, now: float, **terms: Any) -> Verdict:
    terms = {"due_at": DUE, "sustain": SUSTAIN, "unknown_after": SUSTAIN, **terms}
    return fold(seen, now=minutes(now), **terms)


WARMING = saw(ERROR, 1, reason=Reason.WARMING_UP)
CHANGED = replace(saw(ERROR, 60, reason=Reason.UNREADABLE), of_change=True)
UNREAD_AGAIN = replace(CHANGED, run_id=5, measured_at=minutes(90))
SLOW, ANEW = (replace(CHANGED, reason=reason) for reason in (Reason.TIMEOUT, Reason.WARMING_UP))

CASES: list[tuple[str, list[SeenRun], float, State, float | None]] = [
    ("nothing is known before it is due", [], -1, State.PENDING, None),
    ("a due run gets its time", [], 239, State.PENDING, None),
    ("a due run that gives nothing is unknown", [], 240, State.UNKNOWN, 240),
    ("a due run with errors only is unknown", [saw(ERROR, 1), saw(ERROR, 200)], 240, State.UNKNOWN, 240),
    ("an error alone is no verdict", [saw(ERROR, 1)], 2, State.PENDING, None),
    ("warming up is learning, however long", [WARMING], 9999, State.LEARNING, 1),
    ("a later crash ends learning", [WARMING, saw(ERROR, 2)], 300, State.UNKNOWN, 240),
    ("a held result passes", [saw(HELD, 1)], 2, State.PASS, 1),
    ("held since the first of them", [saw(HELD, 1), saw(HELD, 9)], 10, State.PASS, 1),
    ("an early held result satisfies the due run", [saw(HELD, -60)], 9999, State.PASS, -60),
    ("the first broken result warns", [saw(BROKEN, 1)], 2, State.WARN, 1),
    ("broken within the sustain period warns", [saw(BROKEN, 1), saw(BROKEN, 240)], 240, State.WARN, 1),
    ("broken at the end of the sustain period fails", [saw(BROKEN, 1), saw(BROKEN, 241)], 241, State.FAIL, 241),
    ("held in between starts it anew", [saw(BROKEN, 1), saw(HELD, 5), saw(BROKEN, 241)], 241, State.WARN, 241),
    ("a held result ends a failure", [saw(BROKEN, 1), saw(BROKEN, 241), saw(HELD, 300)], 301, State.PASS, 300),
    ("an error does not end a failure", [saw(BROKEN, 1), saw(BROKEN, 241), saw(ERROR, 300)], 9999, State.FAIL, 241),
    ("an error does not end a pass", [saw(HELD, 1), saw(ERROR, 5)], 9999, State.PASS, 1),
    ("warming up does not end a pass", [saw(HELD, 0), WARMING], 9999, State.PASS, 0),
    ("changed data that cannot be read ends a pass", [saw(HELD, 1), CHANGED], 60, State.UNKNOWN, 60),
    ("changed data that timed out has its time", [saw(HELD, 1), SLOW], 299, State.PASS, 1),
    ("changed data that only timed out ends a pass", [saw(HELD, 1), SLOW], 300, State.UNKNOWN, 300),
    ("changed data that holds after all passes", [saw(HELD, 1), CHANGED, saw(HELD, 70)], 80, State.PASS, 70),
    ("changed data that breaks warns", [saw(HELD, 1), CHANGED, saw(BROKEN, 70)], 80, State.WARN, 70),
    ("changed data whose test learns anew still passes", [saw(HELD, 1), ANEW], 9999, State.PASS, 1),
    ("doubt lasts from the first of two errors", [saw(HELD, 1), CHANGED, UNREAD_AGAIN], 99, State.UNKNOWN, 60),
    ("an error that no change asked for casts no doubt", [saw(HELD, 1), saw(ERROR, 60)], 9999, State.PASS, 1),
    ("a timeout after a doubt has the change's time", [saw(HELD, 1), CHANGED, saw(ERROR, 70)], 299, State.PASS, 1),
    ("and no more than that", [saw(HELD, 1), CHANGED, saw(ERROR, 70)], 300, State.UNKNOWN, 300),
    ("an error does not end a warning", [saw(BROKEN, 1), saw(ERROR, 5)], 240, State.WARN, 1),
    ("a warning past its sustain with errors is unknown", [saw(BROKEN, 1), saw(ERROR, 5)], 241, State.UNKNOWN, 241),
    ("an error past the sustain makes it unknown", [saw(BROKEN, 1), saw(ERROR, 250)], 251, State.UNKNOWN, 250),
    ("a silent warning waits for its check", [saw(BROKEN, 1)], 480, State.WARN, 1),
    ("a warning whose check never comes is unknown", [saw(BROKEN, 1)], 481, State.UNKNOWN, 481),
    ("a late error does not shorten the silence", [saw(BROKEN, 1), saw(ERROR, 500)], 501, State.UNKNOWN, 481),
    ("broken again after errors fails", [saw(BROKEN, 1), saw(ERROR, 241), saw(BROKEN, 250)], 251, State.FAIL, 250),
    ("not due is no result at all", [saw(ERROR, -5, reason=Reason.NOT_DUE)], 1, State.PENDING, None),
    ("broken at the due instant is not early", [saw(BROKEN, 0)], 479, State.WARN, 0),
    ("broken early warns once it is due", [saw(BROKEN, -30)], 0, State.WARN, 0),
    ("broken early sustains from due", [saw(BROKEN, -30), saw(BROKEN, 239)], 239, State.WARN, 0),
    ("broken early fails a sustain after due", [saw(BROKEN, -30), saw(BROKEN, 240)], 240, State.FAIL, 240),
    ("broken early, then nothing, is unknown", [saw(BROKEN, -30)], 240, State.UNKNOWN, 240),
    ("broken early, then held, passes", [saw(BROKEN, -30), saw(HELD, -10)], 0, State.PASS, -10),
]


@pytest.mark.parametrize(("sentence", "seen", "now", "state", "since"), CASES, ids=[case[0] for case in CASES])
def test_standing(sentence: str, seen: list[SeenRun], now: float, state: State, since: float | None) -> None:
    verdict = stands(*seen, now=now)
    assert (verdict.state, verdict.since) == (state, None if since is None else minutes(since)), sentence


@pytest.mark.parametrize("later", [[], [saw(BROKEN, 9)]])
def test_without_a_sustain_period_the_first_broken_result_fails_and_dates_the_failure(later: list[SeenRun]) -> None:
    verdict = stands(saw(BROKEN, 1), *later, now=1 if not later else 10, sustain=timedelta(0))
    assert verdict.state is State.FAIL
    assert verdict.t0 == verdict.failed_at == verdict.since == minutes(1)


def test_an_early_broken_result_alone_never_fails() -> None:
    verdict = stands(saw(BROKEN, -1), now=14, sustain=timedelta(0), unknown_after=timedelta(minutes=15))
    assert (verdict.state, verdict.t0) == (State.WARN, DUE)


def test_settled_freshness_ignores_what_comes_later() -> None:
    seen = [saw(BROKEN, 1), saw(HELD, 5), saw(BROKEN, 10), saw(BROKEN, 900)]
    assert stands(*seen, now=901, settles=True).state is State.PASS
    assert stands(*seen, now=901).state is State.FAIL


def test_a_late_held_result_takes_the_failure_back() -> None:
    failing = [saw(BROKEN, 1), saw(BROKEN, 241)]
    assert stands(*failing, now=242).ever_failed
    verdict = stands(*failing, saw(HELD, 100), now=242)
    assert (verdict.state, verdict.ever_failed, verdict.ever_broken) == (State.WARN, False, True)


@pytest.mark.parametrize(
    ("seen", "now", "change"),
    [
        ([], -10, 240),
        ([], 240, None),
        ([saw(BROKEN, -30)], -10, 0),
        ([saw(BROKEN, -30)], 5, 240),
        ([saw(BROKEN, 1)], 5, 481),
        ([saw(BROKEN, 1), saw(ERROR, 5)], 6, 241),
        ([saw(BROKEN, 1), saw(BROKEN, 241)], 300, None),
        ([saw(HELD, 1)], 5, None),
        ([WARMING], 5, None),
    ],
)
def test_time_alone_changes_a_standing_only_at_the_instant_it_names(
    seen: list[SeenRun], now: float, change: float | None
) -> None:
    verdict = stands(*seen, now=now)
    assert verdict.next_change_at == (None if change is None else minutes(change))
    if change is not None:
        assert stands(*seen, now=change - 0.01).state is verdict.state
        assert stands(*seen, now=change).state is not verdict.state


def test_a_whole_table_test_is_asked_again_each_week() -> None:
    week = 7 * 24 * 60
    terms = {"last_due_at": minutes(week), "unknown_after": timedelta(hours=1)}
    assert stands(saw(HELD, 5), now=week + 59, **terms).state is State.PASS
    assert stands(saw(HELD, 5), saw(ERROR, week + 5), now=week + 60, **terms).state is State.UNKNOWN
    assert stands(saw(HELD, 5), saw(HELD, week + 5), now=week + 60, **terms).state is State.PASS


@pytest.mark.parametrize(("held", "state"), [(-0.01, State.UNKNOWN), (0, State.PASS), (0.01, State.PASS)])
def test_a_result_of_the_very_instant_of_the_last_due_time_answers_for_it(held: float, state: State) -> None:
    week = 7 * 24 * 60
    terms = {"last_due_at": minutes(week), "unknown_after": timedelta(hours=1)}
    assert stands(saw(HELD, week + held), now=week + 60, **terms).state is state


@pytest.mark.parametrize(
    ("period", "sustain", "expected"), [(24 * 60, 240, 240), (60, 240, 60), (5, 240, 15), (1440, 0, 15)]
)
def test_unknown_begins_after_a_period_or_a_sustain_but_not_within_a_quarter_of_an_hour(
    period: int, sustain: int, expected: int
) -> None:
    waits = unknown_after(period=timedelta(minutes=period), sustain=timedelta(minutes=sustain))
    assert waits == timedelta(minutes=expected)


results = st.lists(
    st.builds(
        lambda outcome, at, learning: saw(
            outcome, at, reason=Reason.WARMING_UP if learning and outcome is ERROR else None
        ),
        st.sampled_from(Outcome),
        st.integers(-120, 1000),
        st.booleans(),
    ),
    max_size=12,
    unique_by=lambda seen: seen.run_id,
)
instants = st.integers(-120, 1500)


@given(results, instants, st.randoms(use_true_random=False))
def test_late_repeated_and_disordered_results_give_the_same_standing(
    seen: list[SeenRun], now: int, random: Any
) -> None:
    shuffled = seen + random.choices(seen, k=len(seen)) if seen else []
    random.shuffle(shuffled)
    assert stands(*shuffled, now=now) == stands(*seen, now=now)


@given(results, instants)
def test_a_held_result_always_passes(seen: list[SeenRun], now: int) -> None:
    assert stands(*seen, saw(HELD, 1001), now=now).state is State.PASS


@given(results, instants, st.sampled_from([0, 5, 60, 240]))
def test_nothing_fails_before_its_sustain_is_over(seen: list[SeenRun], now: int, sustain: int) -> None:
    verdict = stands(*seen, now=now, sustain=timedelta(minutes=sustain))
    if verdict.state is State.FAIL:
        assert verdict.t0 is not None
        assert verdict.failed_at is not None
        assert verdict.t0 >= DUE
        assert verdict.failed_at - verdict.t0 >= timedelta(minutes=sustain)


@given(results, instants)
def test_errors_change_nothing_but_what_is_not_known(seen: list[SeenRun], now: int) -> None:
    without = stands(*(s for s in seen if s.outcome is not ERROR), now=now)
    if without.state in (State.PASS, State.FAIL):
        assert stands(*seen, now=now).state is without.state


EXCEEDS = replace(saw(BROKEN, 5, run=7), excess=0.5)
FAILED = replace(saw(BROKEN, 245, run=8), excess=0.7)
LATE = saw(ERROR, 250, run=9, reason=Reason.CRASHED)
LAST_HELD = saw(HELD, 260, run=10)


def of(run: SeenRun, state: State, **more: Any) -> Verdict:
    """A verdict with all that it takes over from its latest result."""
    more |= {"outcome": run.outcome, "value": run.value, "excess": run.excess}
    return Verdict(state=state, run_id=run.run_id, measured_at=run.measured_at, **more)


VERDICTS: list[tuple[list[SeenRun], float, Verdict]] = [
    ([], -1, Verdict(state=State.PENDING, next_change_at=minutes(240))),
    ([], 240, Verdict(state=State.UNKNOWN, since=minutes(240))),
    (
        [saw(ERROR, 1, run=7, reason=Reason.CRASHED)],
        2,
        Verdict(
            state=State.PENDING, run_id=7, measured_at=minutes(1), reason=Reason.CRASHED, next_change_at=minutes(240)
        ),
    ),
    ([saw(HELD, 1, run=7), saw(HELD, 2, run=8)], 3, of(saw(HELD, 2, run=8), State.PASS, since=minutes(1))),
    (
        [EXCEEDS],
        6,
        of(EXCEEDS, State.WARN, since=minutes(5), t0=minutes(5), ever_broken=True, next_change_at=minutes(485)),
    ),
    (
        [EXCEEDS, FAILED, LATE],
        300,
        of(
            FAILED,
            State.FAIL,
            since=minutes(245),
            t0=minutes(5),
            failed_at=minutes(245),
            reason=Reason.CRASHED,
            ever_broken=True,
            ever_failed=True,
        ),
    ),
    (
        [EXCEEDS, FAILED, LATE, LAST_HELD],
        300,
        of(LAST_HELD, State.PASS, since=minutes(260), ever_broken=True, ever_failed=True),
    ),
    (
        [EXCEEDS, FAILED, LAST_HELD, saw(BROKEN, 270, run=11)],
        300,
        of(
            saw(BROKEN, 270, run=11),
            State.WARN,
            since=minutes(270),
            t0=minutes(270),
            ever_broken=True,
            ever_failed=True,
            next_change_at=minutes(750),
        ),
    ),
    (
        [saw(BROKEN, -30, run=7)],
        -20,
        of(saw(BROKEN, -30, run=7), State.PENDING, early_broken=True, ever_broken=True, next_change_at=minutes(0)),
    ),
]


@pytest.mark.parametrize(("seen", "now", "verdict"), VERDICTS)
def test_a_verdict_says_all_of_this(seen: list[SeenRun], now: float, verdict: Verdict) -> None:
    assert stands(*seen, now=now) == verdict


def test_results_are_in_the_order_of_their_time_then_of_their_runs_each_run_once() -> None:
    late, early, twin = saw(HELD, 9, run=1), saw(HELD, 1, run=3), saw(BROKEN, 1, run=2)
    not_due = saw(ERROR, -5, run=4, reason=Reason.NOT_DUE)
    assert in_order([late, early, not_due, twin, late]) == [twin, early, late]


def test_the_names_of_states_are_these() -> None:
    assert [state.value for state in State] == [*("PENDING", "PASS", "WARN", "FAIL", "UNKNOWN", "LEARNING", "UNTESTED")]


def test_a_doubted_pass_of_a_whole_table_is_unknown_from_the_first_of_both_ends() -> None:
    terms = {"last_due_at": minutes(100), "unknown_after": timedelta(hours=1)}
    assert stands(saw(HELD, 5), SLOW, now=119, **terms).next_change_at == minutes(120)
    assert stands(saw(HELD, 5), SLOW, now=120, **terms).since == minutes(120)
    assert stands(saw(HELD, 5), now=159, **terms).next_change_at == minutes(160)
    assert stands(saw(HELD, 5), now=160, **terms).since == minutes(160)


def test_a_pass_that_is_missed_while_a_test_learns_anew_is_learning() -> None:
    terms = {"last_due_at": minutes(100), "unknown_after": timedelta(hours=1)}
    learns = saw(ERROR, 110, reason=Reason.WARMING_UP)
    assert stands(saw(HELD, 5), learns, now=160, **terms).state is State.LEARNING
    assert stands(saw(HELD, 5), saw(ERROR, 110), now=160, **terms).state is State.UNKNOWN
    assert stands(saw(BROKEN, 5), replace(learns, measured_at=minutes(250)), now=9999).state is State.UNKNOWN


def test_what_is_not_said_of_a_result_and_of_a_verdict_is_not_so() -> None:
    seen = SeenRun(run_id=1, measured_at=DUE, outcome=HELD)
    assert (seen.reason, seen.value, seen.excess, seen.of_change) == (None, None, None, False)
    verdict = Verdict(state=State.PASS)
    assert (verdict.early_broken, verdict.ever_broken, verdict.ever_failed) == (False, False, False)
