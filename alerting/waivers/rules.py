"""Waivers: which results open nothing, because a user forced or accepted the incident they belong to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.state import WaiverKind
from assay.time.windows import Window

LASTS = timedelta(days=14)
LONGEST = timedelta(days=92)  # as whoever forces it may say
LASTS_CRITICAL = timedelta(days=3)
CRITICAL_TIERS = frozenset({0, 1})


class WaiverScope(StrEnum):
    """How far a forced one reaches: the incident's windows, or the test's later ones too."""

    WINDOW = "window"
    TEST = "test"


@dataclass(frozen=True, kw_only=True)
class WaivedWindows:
    """One test's waived windows, each with its excess when the user spoke; ``ends_at`` bounds the later ones."""

    id: int
    kind: WaiverKind
    test_id: int
    revision: int
    made_at: datetime
    excesses: Mapping[Window, float | None]
    scope: WaiverScope = WaiverScope.WINDOW
    ends_at: datetime | None = None
    of_lateness: bool = False  # what does not come is later at each look, and no worse for it


@dataclass(frozen=True, kw_only=True)
class BrokenResult:
    """A broken result; ``held_at`` is when the same test last held on the same window."""

    test_id: int
    revision: int
    window: Window
    measured_at: datetime
    excess: float | None = None
    held_at: datetime | None = None


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


def covering(waivers: Iterable[WaivedWindows], result: BrokenResult) -> WaivedWindows | None:
    """The first waiver that covers the result."""
    return next((waiver for waiver in waivers if covers(waiver, result)), None)


def covers(waiver: WaivedWindows, result: BrokenResult) -> bool:
    """Whether the result opens nothing; a new revision ends every waiver, a held run that of its own window."""
    if (waiver.test_id, waiver.revision) != (result.test_id, result.revision):
        return False
    if result.window not in waiver.excesses:
        return _covers_later(waiver, result)
    if result.held_at is not None and result.held_at > waiver.made_at:
        return False
    return (
        waiver.kind is WaiverKind.FORCED
        or waiver.of_lateness
        or _no_worse(result.excess, waiver.excesses[result.window])
    )


def _covers_later(waiver: WaivedWindows, result: BrokenResult) -> bool:
    if waiver.kind is not WaiverKind.FORCED or waiver.scope is not WaiverScope.TEST or not waiver.excesses:
        return False
    if waiver.ends_at is not None and result.measured_at >= waiver.ends_at:
        return False
    later = result.window.start > min(window.start for window in waiver.excesses)
    return later and any(_no_worse(result.excess, forced) for forced in waiver.excesses.values())


def _no_worse(excess: float | None, forced: float | None) -> bool:
    """Whether a value is no worse than the forced one; where neither has a distance to its bound, they are alike."""
    if excess is None or forced is None:
        return excess is forced
    return excess <= forced
