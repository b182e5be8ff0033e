"""How grave a check is, and what came of a constraint."""

from collections.abc import Iterable
from enum import StrEnum


class Level(StrEnum):
    """What a check's failure is to its user."""

    ERROR = "error"
    WARNING = "warning"


class ConstraintStatus(StrEnum):
    """What came of one constraint. ``ERROR``: it could not be evaluated; ``LEARNING``: it waits for more history."""

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    LEARNING = "learning"


class Status(StrEnum):
    """What came of a check or of all checks, from the least to the gravest: ``STATUSES`` is in that order."""

    SUCCESS = "success"
    WARNING = "warning"  # a check of level warning failed
    UNABLE = "unable"  # a constraint could not be evaluated, and nothing worse is known
    ERROR = "error"  # a check of level error failed


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
