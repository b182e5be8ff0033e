"""What a user's word makes silent, and when it ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerting.state import WaiverKind
from alerting.waivers.rules import BrokenResult, WaivedWindows, WaiverScope, covering, covers, waiver_end, wrong_end
from assay.time.windows import Window

NOW = datetime(2024, 3, 5, 6, tzinfo=UTC)
DAY = timedelta(days=1)


def day(number: int) -> Window:
    start = NOW.replace(hour=0) + number * DAY
    return Window(start=start, end=start + DAY)


FORCED = WaivedWindows(id=1, kind=WaiverKind.FORCED, test_id=5, revision=2, made_at=NOW, excesses={day(0): 0.1})
WRONG_TEST = replace(FORCED, id=2, scope=WaiverScope.TEST, ends_at=NOW + 14 * DAY)
ACCEPTED = replace(FORCED, id=3, kind=WaiverKind.ACCEPTED)
BROKEN = BrokenResult(test_id=5, revision=2, window=day(0), measured_at=NOW + DAY, excess=0.1)
WORSE, LATER = replace(BROKEN, excess=0.2), replace(BROKEN, window=day(3))
HELD_SINCE = replace(BROKEN, held_at=NOW + timedelta(hours=1))
HELD_BEFORE = replace(BROKEN, held_at=NOW - DAY)


@pytest.mark.parametrize(
    ("waiver", "result", "covered"),
    [
        (FORCED, BROKEN, True),
        (FORCED, WORSE, True),
        (FORCED, HELD_BEFORE, True),
        (FORCED, HELD_SINCE, False),
        (FORCED, replace(BROKEN, revision=3), False),
        (FORCED, replace(BROKEN, test_id=6), False),
        (FORCED, LATER, False),
        (WRONG_TEST, LATER, True),
        (WRONG_TEST, replace(LATER, held_at=NOW + DAY), True),
        (WRONG_TEST, replace(LATER, excess=0.2), False),
        (WRONG_TEST, replace(LATER, excess=None), False),
        (WRONG_TEST, replace(LATER, revision=3), False),
        (WRONG_TEST, replace(LATER, measured_at=NOW + 14 * DAY), False),
        (WRONG_TEST, replace(BROKEN, measured_at=NOW + 14 * DAY), True),
        (WRONG_TEST, replace(BROKEN, window=day(-1)), False),
        (ACCEPTED, BROKEN, True),
        (ACCEPTED, WORSE, False),
        (ACCEPTED, HELD_SINCE, False),
        (ACCEPTED, replace(BROKEN, revision=3), False),
        (ACCEPTED, LATER, False),
    ],
)
def test_a_waiver_covers_what_the_user_spoke_of(waiver: WaivedWindows, result: BrokenResult, covered: bool) -> None:
    assert covers(waiver, result) is covered


def test_values_without_a_distance_to_their_bound_are_alike() -> None:
    waiver = replace(ACCEPTED, excesses={day(0): None})
    assert covers(waiver, replace(BROKEN, excess=None))
    assert not covers(waiver, BROKEN)


def test_the_first_waiver_that_covers_a_result_is_named() -> None:
    assert covering([ACCEPTED, WRONG_TEST], LATER) == WRONG_TEST
    assert covering([FORCED, ACCEPTED], LATER) is None


@pytest.mark.parametrize(
    ("scope", "tier", "days"),
    [
        (WaiverScope.TEST, 0, 3),
        (WaiverScope.TEST, 1, 3),
        (WaiverScope.TEST, 2, 14),
        (WaiverScope.TEST, 5, 14),
        (WaiverScope.WINDOW, 0, None),
    ],
)
def test_a_waiver_of_later_windows_ends_sooner_for_critical_tables(
    scope: WaiverScope, tier: int, days: int | None
) -> None:
    assert waiver_end(scope, made_at=NOW, tier=tier) == (None if days is None else NOW + days * DAY)


def test_a_user_may_say_until_when_later_windows_are_ignored() -> None:
    until = NOW + 40 * DAY
    assert wrong_end(WaiverScope.TEST, made_at=NOW, tier=2, until=until) is None
    assert waiver_end(WaiverScope.TEST, made_at=NOW, tier=2, until=until) == until


@pytest.mark.parametrize(
    ("scope", "tier", "days", "says"),
    [
        (WaiverScope.WINDOW, 2, 1, "scope test"),
        (WaiverScope.TEST, 2, 0, "has passed"),
        (WaiverScope.TEST, 2, 93, "at most 92 days"),
        (WaiverScope.TEST, 1, 4, "tier 1 are ignored for at most 3 days"),
    ],
)
def test_an_end_that_cannot_be_is_refused_with_how_to_mend_it(
    scope: WaiverScope, tier: int, days: int, says: str
) -> None:
    assert says in str(wrong_end(scope, made_at=NOW, tier=tier, until=NOW + days * DAY))
