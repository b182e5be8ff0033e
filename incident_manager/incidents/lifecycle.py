"""Decisions on incidents: what a FAIL opens, what heals a spoilt window, and how an incident ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.state import State
from alerting.verdicts.sustain import Verdict


class How(StrEnum):
    """How a spoilt window was healed, and how an incident ended."""

    FORCED = "forced"
    ACCEPTED = "accepted"
    AUTO = "auto"
    REDEFINED = "redefined"
    WITHDRAWN = "withdrawn"


# What became of an incident or a report, by its resolution: "" while it is open.
ENDED = {"": None, "fixed": How.AUTO, "rejected": How.FORCED} | {how.value: how for how in How}
REAL = frozenset({None, How.AUTO, How.ACCEPTED})  # None: still open
FALSE = frozenset({How.FORCED, How.REDEFINED})

# An incident ends as the first of these that any of its windows did: a user's word counts before what tests saw,
# and one window that was repaired makes the incident a real one.
PRECEDENCE = (How.FORCED, How.ACCEPTED, How.AUTO, How.REDEFINED, How.WITHDRAWN)


def reopens(how: How | None, *, ended_at: datetime, failed_at: datetime, period: timedelta) -> bool:
    """Whether a FAIL comes so soon after an auto-resolve that it is the same incident."""
    return how is How.AUTO and failed_at - ended_at <= period


def healing(verdict: Verdict, *, new_revision: bool, repaired: bool = False) -> How | None:
    """How a spoilt window is healed by its test's standing; None while it is not.

    ``new_revision``: the standing is folded over a newer revision than the one that spoilt the window; ``repaired``:
    what that was measured from would hold by the older one too.
    """
    if new_revision:
        if verdict.state is not State.PASS:
            return None
        return How.AUTO if verdict.ever_broken or repaired else How.REDEFINED
    if verdict.state is State.FAIL:
        return None
    return How.AUTO if verdict.ever_failed else How.WITHDRAWN


def resolution(hows: Sequence[How | None]) -> How | None:
    """How an incident with these spoilt windows ended; None while one of them is not healed."""
    if not hows or None in hows:
        return None
    return next(how for how in PRECEDENCE if how in hows)
