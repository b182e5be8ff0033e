"""What has had its time, and what must stay all the same."""

from datetime import timedelta

import pytest

from assay.time.windows import Window
from incident_manager.retention import Exemptions, HistoryReach, is_past, streak_reach, terms, without_needed
from tests.factories import DAY, HOUR, NOW, day


@pytest.mark.parametrize(
    ("instants", "past"),
    [([NOW - DAY], True), ([NOW], False), ([NOW - DAY, None], False), ([NOW - DAY, NOW + DAY], False)],
)
def test_a_row_is_past_when_all_its_instants_have_come_and_gone(instants: list[object], past: bool) -> None:
    assert is_past(instants, NOW) is past  # type: ignore[arg-type]


def test_what_is_near_a_window_in_trouble_stays() -> None:
    first, second = day("2026-03-01"), day("2026-03-02")
    kept = Exemptions(tests={1: [first]}, tables={2}, datasets={3: [first]})
    assert [kept.holds_test(1, first), kept.holds_test(2, day("2020-01-01"))] == [True, True]
    assert [kept.holds_test(1, second), kept.holds_test(3, first), Exemptions().holds_test(1, first)] == [False] * 3
    assert [kept.holds_dataset(3, first), kept.holds_dataset(3, second)] == [True, False]
    assert not Exemptions().holds_dataset(1, first)


@pytest.mark.parametrize(
    ("reach", "window", "needed"),
    [
        (HistoryReach(), day("2026-02-01"), False),
        (HistoryReach(history=28 * DAY), day("2026-02-20"), True),  # of a verdict of a week ago
        (HistoryReach(history=28 * DAY), day("2026-01-31"), False),
        (HistoryReach(usual=28 * DAY), day("2026-02-20"), True),  # of today's
        (HistoryReach(usual=28 * DAY), day("2026-02-08"), False),
        (HistoryReach(history=60 * DAY, usual=7 * DAY), day("2026-01-20"), True),  # whichever reaches further
        (HistoryReach(history=DAY, usual=60 * DAY), day("2026-01-20"), True),
    ],
)
def test_history_is_needed_as_far_as_a_verdict_that_may_come_looks_back(
    reach: HistoryReach, window: Window, needed: bool
) -> None:
    assert reach.needs(window, before=NOW - 7 * DAY, now=NOW) is needed


@pytest.mark.parametrize(
    ("candidates", "users", "gone"),
    [
        ({1, 2}, {}, {1, 2}),
        ({1, 2}, {1: [2]}, {1, 2}),  # both go
        ({1, 2}, {1: [3]}, {2}),
        ({1, 2, 3}, {1: [2], 2: [3], 3: [4]}, set()),  # what is needed needs its inputs
    ],
)
def test_an_input_goes_only_with_all_that_builds_on_it(
    candidates: set[int], users: dict[int, list[int]], gone: set[int]
) -> None:
    assert without_needed(candidates, users) == gone


@pytest.mark.parametrize(
    ("run_days", "state_days", "results", "states"),
    [
        (400, 35, 400, 35),
        (7, 35, 7, 7),  # states never outlive their results
        (1, 1, 1, 1),
        (0, 1, None, 1),  # no days mean for ever
        (1, 0, 1, 1),
        (0, 0, None, None),
    ],
)
def test_results_and_states_have_their_own_time(
    run_days: int, state_days: int, results: int | None, states: int | None
) -> None:
    limits = terms(NOW, run_days=run_days, state_days=state_days)
    assert limits.results == (None if results is None else NOW - results * DAY)
    assert limits.states == (None if states is None else NOW - states * DAY)


@pytest.mark.parametrize(
    ("sustain", "period", "reach"),
    [(4 * HOUR, HOUR, 10 * HOUR), (2 * HOUR, HOUR, 6 * HOUR), (HOUR, HOUR, 0 * HOUR), (HOUR, DAY, 0 * HOUR)],
)
def test_a_streak_reaches_twice_its_sustain_where_windows_come_faster(
    sustain: timedelta, period: timedelta, reach: timedelta
) -> None:
    assert streak_reach(sustain=sustain, period=period) == reach


@pytest.mark.parametrize(
    ("reach", "days_ago", "needed"),
    [
        (HistoryReach(), 7, False),  # it ended at the very instant
        (HistoryReach(), 6, True),
        (HistoryReach(history=DAY), 8, False),
        (HistoryReach(history=DAY), 7, True),
        (HistoryReach(usual=9 * DAY), 9, False),
        (HistoryReach(usual=9 * DAY), 8, True),
    ],
)
def test_history_ends_at_its_very_instant(reach: HistoryReach, days_ago: int, needed: bool) -> None:
    end = NOW - days_ago * DAY
    assert reach.needs(Window(start=end - DAY, end=end), before=NOW - 7 * DAY, now=NOW) is needed


def test_what_ends_a_moment_after_the_last_that_is_judged_is_needed() -> None:
    end = NOW - 7 * DAY + HOUR
    assert HistoryReach().needs(Window(start=end - DAY, end=end), before=NOW - 7 * DAY, now=NOW)
