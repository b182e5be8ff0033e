"""How long a dataset usually takes after its upstreams."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from alerting.inhibition.rules import usual_delay

HOUR = 3600.0


@pytest.mark.parametrize(
    ("own", "upstreams", "hours"),
    [
        ([3 * HOUR] * 3, [[HOUR] * 3], 2),
        ([3 * HOUR, 3 * HOUR, 30 * HOUR], [[HOUR] * 5], 2),  # one late window is not usual
        ([3 * HOUR] * 3, [[HOUR] * 3, [2 * HOUR] * 3], 1),  # it waits for the slowest
        ([HOUR] * 3, [[2 * HOUR] * 3], 0),  # a negative delay is none
        ([12 * HOUR], [[HOUR] * 3], 0),  # the one known window may be the late one
        ([3 * HOUR] * 3, [[HOUR]], 0),
        ([3 * HOUR] * 3, [], 0),
        ([], [], 0),
    ],
)
def test_the_usual_delay_is_the_median_behind_the_slowest_upstream(
    own: Sequence[float], upstreams: Sequence[Sequence[float]], hours: int
) -> None:
    assert usual_delay(own, upstreams) == timedelta(hours=hours)
