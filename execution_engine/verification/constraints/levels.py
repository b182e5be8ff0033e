"""How grave a check is, and what came of a constraint."""

from collections.abc import Iterable
from enum import StrEnum


class Level(StrEnum):
    """How serious it is that a check fails.

    Values:
        ERROR: the status of the check is ``error``.
        WARNING: the status of the check is ``warning``.

    Errors:
        ValueError: ``Level(…)`` of another text.

    Example:
        >>> Level("warning")
        <Level.WARNING: 'warning'>
    """

    ERROR = "error"
    WARNING = "warning"


class ConstraintStatus(StrEnum):
    """What came of one constraint.

    Values:
        SUCCESS: the data meets it.
        FAILURE: the data breaks it.
        ERROR: it could not be evaluated: an unknown column, no values, a function that raised.
        LEARNING: there are too few earlier values. The status of its check does not change by it.

    Errors:
        ValueError: ``ConstraintStatus(…)`` of another text.

    Example:
        >>> ConstraintStatus.LEARNING == "learning"
        True
    """

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    LEARNING = "learning"


class Status(StrEnum):
    """What came of a check or of all checks; from the least serious to the most.

    Values:
        SUCCESS: no constraint failed, and all could be evaluated or are learning.
        WARNING: a constraint of a check of level warning failed.
        UNABLE: a constraint could not be evaluated, and nothing worse is known.
        ERROR: a constraint of a check of level error failed.

    Errors:
        ValueError: ``Status(…)`` of another text.

    Example:
        >>> Status.UNABLE.value
        'unable'
    """

    SUCCESS = "success"
    WARNING = "warning"
    UNABLE = "unable"
    ERROR = "error"


STATUSES = (Status.SUCCESS, Status.WARNING, Status.UNABLE, Status.ERROR)


def status_of(level: Level, constraints: Iterable[ConstraintStatus]) -> Status:
    """The status of a check from those of its constraints."""
    found = set(constraints)
    if ConstraintStatus.FAILURE in found and level is Level.ERROR:
        return Status.ERROR
    if ConstraintStatus.ERROR in found:
        return Status.UNABLE
    return Status.WARNING if ConstraintStatus.FAILURE in found else Status.SUCCESS


def gravest(statuses: Iterable[Status]) -> Status:
    """The gravest of them; SUCCESS of none."""
    return max(statuses, key=STATUSES.index, default=Status.SUCCESS)
