"""The states that a test can be in for a window; the kinds of waivers, how far they reach, and until when."""

from datetime import datetime, timedelta
from enum import StrEnum

LOG = "log"  # the channel that takes every notice and reaches nobody


class State(StrEnum):
    """A test's state for a window; ``PENDING`` is not judged yet, ``UNTESTED`` never will be."""

    PENDING = "PENDING"
    PASS = "PASS"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    LEARNING = "LEARNING"
    UNTESTED = "UNTESTED"


BROKEN = (State.FAIL, State.WARN)
TROUBLED = (*BROKEN, State.UNKNOWN)  # the worst first


class WaiverKind(StrEnum):
    """What a user said of an incident, so that its broken results open nothing."""

    FORCED = "forced"  # a false positive
    ACCEPTED = "accepted"  # real, and will not be repaired


class Delivery(StrEnum):
    """What became of a notice."""

    SENT = "sent"
    LOGGED = "logged"  # it reached nobody
    SUPPRESSED = "suppressed"
    GIVEN_UP = "given up"
    DUE = "due"


# Waivers: how far a user's word reaches that what is broken opens nothing, and until when.

LASTS = timedelta(days=14)
LONGEST = timedelta(days=92)  # as whoever forces it may say
LASTS_CRITICAL = timedelta(days=3)
CRITICAL_TIERS = frozenset({0, 1})


class WaiverScope(StrEnum):
    """How far a forced one reaches: the incident's windows, or the test's later ones too."""

    WINDOW = "window"
    TEST = "test"


def wrong_end(scope: WaiverScope, *, made_at: datetime, tier: int, until: datetime) -> str | None:
    """What is wrong with the end that a user wants of a waiver of later windows; None: nothing."""
    if scope is WaiverScope.WINDOW:
        return "An end is of later windows: take the scope test, or leave the end out."
    if until <= made_at:
        return f"The end has passed: it is {made_at:%Y-%m-%d %H:%M} UTC. Name a later one."
    longest = LASTS_CRITICAL if tier in CRITICAL_TIERS else LONGEST
    if until - made_at > longest:
        latest = f"{made_at + longest:%Y-%m-%d %H:%M} UTC"
        return f"Later windows of tier {tier} are ignored for at most {longest.days} days: end it by {latest}."
    return None


def waiver_end(scope: WaiverScope, *, made_at: datetime, tier: int, until: datetime | None = None) -> datetime | None:
    """When a waiver of later windows ends, ``until`` if the user said so; None for one that only waives its own."""
    if scope is WaiverScope.WINDOW:
        return None
    if until is not None:
        return until
    return made_at + (LASTS_CRITICAL if tier in CRITICAL_TIERS else LASTS)
