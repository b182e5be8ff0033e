"""The states that a test can be in for a window."""

from enum import StrEnum


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
