"""What a user's word makes silent, and when it ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.models import Waiver
from alerting.standings.refold import covers
from alerting.state import WaiverKind, WaiverScope, waiver_end, wrong_end
from assay.time.windows import Window

NOW = datetime(2024, 3, 5, 6, tzinfo=UTC)
DAY = timedelta(days=1)


def day(number: int) -> Window:
    start = NOW.replace(hour=0) + number * DAY
    return Window(start=start, end=start + DAY)


def waiver(kind: WaiverKind = WaiverKind.FORCED, **more: Any) -> Waiver:
    """Of today's window, which was a tenth beyond its bound when the user spoke."""
    given = {"starts_at": NOW, "window_start": day(0).start, "window_end": day(0).end, "excess": 0.1, **more}
    return Waiver(kind=kind, **given)


FORCED, ACCEPTED = waiver(), waiver(WaiverKind.ACCEPTED)
WRONG_TEST = waiver(ends_at=NOW + 14 * DAY)


@pytest.mark.parametrize(
    ("waiver", "result", "covered"),
    [
        (FORCED, {}, True),
        (FORCED, {"excess": 0.2}, True),
        (FORCED, {"held_at": NOW - DAY}, True),
        (FORCED, {"held_at": NOW + timedelta(hours=1)}, False),
        (FORCED, {"window": day(3)}, False),
        (WRONG_TEST, {"window": day(3)}, True),
        (WRONG_TEST, {"window": day(3), "held_at": NOW + DAY}, True),
        (WRONG_TEST, {"window": day(3), "excess": 0.2}, False),
        (WRONG_TEST, {"window": day(3), "excess": None}, False),
        (WRONG_TEST, {"window": day(3), "measured_at": NOW + 14 * DAY}, False),
        (WRONG_TEST, {"measured_at": NOW + 14 * DAY}, True),
        (WRONG_TEST, {"window": day(-1)}, False),
        (ACCEPTED, {}, True),
        (ACCEPTED, {"excess": 0.2}, False),
        (ACCEPTED, {"excess": 0.2, "is_late": True}, True),
        (ACCEPTED, {"held_at": NOW + timedelta(hours=1)}, False),
        (ACCEPTED, {"window": day(3)}, False),
        (waiver(WaiverKind.ACCEPTED, excess=None), {"excess": None}, True),
        (waiver(WaiverKind.ACCEPTED, excess=None), {}, False),
    ],
)
def test_a_waiver_covers_what_the_user_spoke_of(waiver: Waiver, result: dict[str, Any], covered: bool) -> None:
    assert covers(waiver, **{"window": day(0), "measured_at": NOW + DAY, "excess": 0.1, **result}) is covered


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
