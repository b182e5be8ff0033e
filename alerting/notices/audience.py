"""Who is told that a standing could not be judged."""

from enum import StrEnum

from execution_engine.outcome import TRANSIENT, Reason


class Audience(StrEnum):
    """To whom a notice goes."""

    OWNER = "owner"
    ON_CALL = "on-call"
    NOBODY = "nobody"


UNTOLD = frozenset({Reason.NOT_DUE, Reason.WARMING_UP})


def told_of_unknown(reason: Reason | None, *, freshness_broken: bool) -> Audience:
    """Who hears of an UNKNOWN with this cause; None, a run that gave nothing at all, is the platform's own fault."""
    if reason in UNTOLD or (reason is Reason.NO_DATA and freshness_broken):
        return Audience.NOBODY
    return Audience.ON_CALL if reason is None or reason in TRANSIENT else Audience.OWNER
