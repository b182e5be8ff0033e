"""Who hears that a test could not be judged."""

import pytest

from alerting.notices.policy import Audience, audience_of_unknown
from execution_engine.outcome import Reason


@pytest.mark.parametrize(
    ("reason", "freshness_broken", "audience"),
    [
        (Reason.TIMEOUT, False, Audience.ON_CALL),
        (Reason.ENGINE_UNREACHABLE, True, Audience.ON_CALL),
        (None, False, Audience.ON_CALL),
        (Reason.INVALID, False, Audience.OWNER),
        (Reason.UNKNOWN_COLUMN, True, Audience.OWNER),
        (Reason.NO_DATA, False, Audience.ON_CALL),
        (Reason.NO_DATA, True, Audience.NOBODY),
        (Reason.WARMING_UP, False, Audience.NOBODY),
        (Reason.NOT_DUE, False, Audience.NOBODY),
    ],
)
def test_the_cause_of_an_unknown_says_who_is_told(
    reason: Reason | None, freshness_broken: bool, audience: Audience
) -> None:
    assert audience_of_unknown(reason, freshness_broken=freshness_broken) is audience
