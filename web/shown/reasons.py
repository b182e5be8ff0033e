"""Reasons as people read them: what a test found and the incident that it opened are one thing. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from incident_manager.gate.rules import Because
from incident_manager.quality.rules import AnswerReason, ReasonKind

R = TypeVar("R", Because, AnswerReason)


def folded(reasons: Iterable[R]) -> Sequence[R]:
    """The reasons, in their order, without those that say of an incident what its broken test says already.

    The test's reason names the incident instead. An incident of other windows than any broken test of its category
    keeps its own reason.
    """
    ordered = list(reasons)
    opened = {
        (reason.category, reason.windows): reason.incident_id
        for reason in ordered
        if reason.kind is ReasonKind.SPOILT and reason.report_id is None
    }
    tested = {(reason.category, reason.windows) for reason in ordered if reason.kind is ReasonKind.BROKEN}
    found: list[R] = []
    for reason in ordered:
        place = (reason.category, reason.windows)
        if reason.kind is ReasonKind.SPOILT and reason.report_id is None and place in tested:
            continue
        found.append(replace(reason, incident_id=opened.get(place)) if reason.kind is ReasonKind.BROKEN else reason)
    return found
