"""The sustain fold: what a test's standing is after any results, at any time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.standing import Seen, State, Verdict, fold, unknown_after
from execution_engine.outcome import Outcome, Reason

DUE = datetime(2024, 3, 5, 6, tzinfo=UTC)
SUSTAIN = timedelta(hours=4)
HELD, BROKEN, ERROR = Outcome.HELD, Outcome.BROKEN, Outcome.ERROR


def minutes(after_due: float) -> datetime:
    return DUE + timedelta(minutes=after_due)


def saw(outcome: Outcome, at: float, *, run: int | None = None, reason: Reason | None = None) -> Seen:
    if outcome is ERROR:
        reason = reason or Reason.TIMEOUT
    return Seen(run_id=run or int(at * 10) + 10**6, measured_at=minutes(at), outcome=outcome, reason=reason, value=at)


def stands(*seen: Seen, now: float, **terms: Any) -> Verdict:
    terms = {"due_at": DUE, "sustain": SUSTAIN, "unknown_after": SUSTAIN, **terms}
    return fold(seen, now=minutes(now), **terms)


WARMING = saw(ERROR, 1, reason=Reason.WARMING_UP)
CHANGED = replace(saw(ERROR, 60, reason=Reason.UNREADABLE), of_change=True)
SLOW, ANEW = (replace(CHANGED, reason=reason) for reason in (Reason.TIMEOUT, Reason.WARMING_UP))

CASES: list[tuple[str, list[Seen], float, State, float | None]] = [
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
    ("an error does not end a warning", [saw(BROKEN, 1), saw(ERROR, 5)], 240, State.WARN, 1),
    (
        "a warning past its sustain with errors only is unknown",
        [saw(BROKEN, 1), saw(ERROR, 5)],
        241,
        State.UNKNOWN,
        241,
    ),
    ("an error past the sustain makes it unknown", [saw(BROKEN, 1), saw(ERROR, 250)], 251, State.UNKNOWN, 250),
    ("a silent warning waits for its check", [saw(BROKEN, 1)], 480, State.WARN, 1),
    ("a warning whose check never comes is unknown", [saw(BROKEN, 1)], 481, State.UNKNOWN, 481),
    ("a late error does not shorten the silence", [saw(BROKEN, 1), saw(ERROR, 500)], 501, State.UNKNOWN, 481),
    ("broken again after errors fails", [saw(BROKEN, 1), saw(ERROR, 241), saw(BROKEN, 250)], 251, State.FAIL, 250),
    ("not due is no result at all", [saw(ERROR, -5, reason=Reason.NOT_DUE)], 1, State.PENDING, None),
    ("broken early warns once it is due", [saw(BROKEN, -30)], 0, State.WARN, 0),
    ("broken early sustains from due", [saw(BROKEN, -30), saw(BROKEN, 239)], 239, State.WARN, 0),
    ("broken early fails a sustain after due", [saw(BROKEN, -30), saw(BROKEN, 240)], 240, State.FAIL, 240),
    ("broken early, then nothing, is unknown", [saw(BROKEN, -30)], 240, State.UNKNOWN, 240),
    ("broken early, then held, passes", [saw(BROKEN, -30), saw(HELD, -10)], 0, State.PASS, -10),
]


@pytest.mark.parametrize(("sentence", "seen", "now", "state", "since"), CASES, ids=[case[0] for case in CASES])
def test_standing(sentence: str, seen: list[Seen], now: float, state: State, since: float | None) -> None:
    verdict = stands(*seen, now=now)
    assert (verdict.state, verdict.since) == (state, None if since is None else minutes(since)), sentence


def test_without_a_sustain_period_the_first_broken_result_fails() -> None:
    verdict = stands(saw(BROKEN, 1), now=1, sustain=timedelta(0))
    assert (verdict.state, verdict.t0, verdict.failed_at) == (State.FAIL, minutes(1), minutes(1))


def test_an_early_broken_result_is_shown_to_the_gate_while_pending() -> None:
    verdict = stands(saw(BROKEN, -30), now=-20)
    assert (verdict.state, verdict.early_broken, verdict.outcome, verdict.t0) == (State.PENDING, True, BROKEN, None)


def test_an_early_broken_result_alone_never_fails() -> None:
    verdict = stands(saw(BROKEN, -1), now=14, sustain=timedelta(0), unknown_after=timedelta(minutes=15))
    assert (verdict.state, verdict.t0) == (State.WARN, DUE)


def test_settled_freshness_ignores_what_comes_later() -> None:
    seen = [saw(BROKEN, 1), saw(HELD, 5), saw(BROKEN, 10), saw(BROKEN, 900)]
    assert stands(*seen, now=901, settles=True).state is State.PASS
    assert stands(*seen, now=901).state is State.FAIL


def test_a_verdict_carries_the_latest_result_that_held_or_broke() -> None:
    verdict = stands(saw(BROKEN, 1, run=7), saw(ERROR, 3, run=8, reason=Reason.LEASE_LOST), now=4)
    assert (verdict.run_id, verdict.measured_at, verdict.value) == (7, minutes(1), 1)
    assert verdict.reason is Reason.LEASE_LOST


def test_a_late_held_result_takes_the_failure_back() -> None:
    failing = [saw(BROKEN, 1), saw(BROKEN, 241)]
    assert stands(*failing, now=242).ever_failed
    verdict = stands(*failing, saw(HELD, 100), now=242)
    assert (verdict.state, verdict.ever_failed, verdict.ever_broken) == (State.WARN, False, True)


def test_a_healed_failure_is_remembered() -> None:
    assert stands(saw(BROKEN, 0), saw(BROKEN, 240), saw(HELD, 250), now=251).ever_failed


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
    seen: list[Seen], now: float, change: float | None
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
def test_late_repeated_and_disordered_results_give_the_same_standing(seen: list[Seen], now: int, random: Any) -> None:
    shuffled = seen + random.choices(seen, k=len(seen)) if seen else []
    random.shuffle(shuffled)
    assert stands(*shuffled, now=now) == stands(*seen, now=now)


@given(results, instants)
def test_a_held_result_always_passes(seen: list[Seen], now: int) -> None:
    assert stands(*seen, saw(HELD, 1001), now=now).state is State.PASS


@given(results, instants, st.sampled_from([0, 5, 60, 240]))
def test_nothing_fails_before_its_sustain_is_over(seen: list[Seen], now: int, sustain: int) -> None:
    verdict = stands(*seen, now=now, sustain=timedelta(minutes=sustain))
    if verdict.state is State.FAIL:
        assert verdict.t0 is not None
        assert verdict.failed_at is not None
        assert verdict.t0 >= DUE
        assert verdict.failed_at - verdict.t0 >= timedelta(minutes=sustain)


@given(results, instants)
def test_errors_change_nothing_but_what_is_not_known(seen: list[Seen], now: int) -> None:
    without = stands(*(s for s in seen if s.outcome is not ERROR), now=now)
    if without.state in (State.PASS, State.FAIL):
        assert stands(*seen, now=now).state is without.state
