"""The states that a test can be in for a window, and the kinds of waivers."""

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
