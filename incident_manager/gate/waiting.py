"""Is it worth waiting for the gate? Only for what may change without a person (pure)."""

from datetime import datetime

from incident_manager.quality.rules import ReasonKind

from .rules import Because, GateAnswer, GateDecision


def in_the_way(answer: GateAnswer, *, until: datetime) -> Because | None:
    """The first reason that blocks and that will still block at an instant, unless a person acts; None: there is none.

    A broken test is run again, and data that is not there may come. A confirmed report waits for a person, and a window
    that ends later for its end.
    """
    blocking = (reason for reason in answer.reasons if reason.decision is GateDecision.BLOCK)
    return next((reason for reason in blocking if _stays(reason, until)), None)


def _stays(reason: Because, until: datetime) -> bool:
    if reason.kind is ReasonKind.NOT_OVER:
        return reason.window.end > until
    return reason.kind is ReasonKind.NOT_IN_CATALOG or reason.report_id is not None
