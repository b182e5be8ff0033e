"""What users let pipelines read although the gate would block: how long it may last, and what it changes (pure)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from assay.time.windows import Partitioning, Window
from incident_manager.intervals import clip, subtract

from .rules import Because, GateDecision

CRITICAL = 1  # the last tier whose overrides are short
INSTANT = timedelta(microseconds=1)


class UnableToOverride(ValueError):
    """An override that must not be; ``field`` is what is wrong with it."""

    def __init__(self, text: str, *, field: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Override:
    """A user's word that a window may be read until an instant, and why."""

    window: Window
    author: str
    ends_at: datetime
    reason: str


def longest(tier: int) -> timedelta:
    """How long an override of a dataset of this tier lasts at most."""
    return timedelta(days=1) if tier <= CRITICAL else timedelta(days=7)


def usual(tier: int) -> timedelta:
    """How long it lasts where nobody says."""
    return timedelta(hours=4) if tier <= CRITICAL else timedelta(hours=24)


def demand_sound(override: Override, *, tier: int, partitioning: Partitioning | None, now: datetime) -> None:
    """Nothing where such an override may be given; else raises UnableToOverride."""
    if not override.reason.strip():
        raise UnableToOverride("A reason is missing: say why this data may be read.", field="reason")
    if override.ends_at <= now:
        raise UnableToOverride(f"The end has passed: it is {_instant(now)}. Name a later one.", field="ends_at")
    if override.ends_at - now > longest(tier):
        text = (
            f"For a dataset of tier {tier} an override lasts at most {longest(tier) // timedelta(hours=1)} hours: end "
            f"it by {_instant(now + longest(tier))}, and give it again then."
        )
        raise UnableToOverride(text, field="ends_at")
    if partitioning is None:
        return
    first, last = partitioning.at(override.window.start), partitioning.at(override.window.end - INSTANT)
    if (first.start, last.end) != (override.window.start, override.window.end):
        whole = Window(start=first.start, end=last.end)
        text = f"{override.window.text} cuts through a partition: name whole ones, such as {whole.text}."
        raise UnableToOverride(text, field="window")


def overridden(because: Because, overrides: Iterable[Override]) -> Iterator[Because]:
    """The reason: a warning where an override covers what it would block, and as it was on all other windows."""
    left = because.windows if because.decision is GateDecision.BLOCK else ()
    for each in overrides:
        if covered := clip(left, each.window):
            said = f"overridden by {each.author} until {_instant(each.ends_at)}: {each.reason}"
            text = f"{because.text}; {said}"
            yield replace(because, decision=GateDecision.WARN, windows=covered, text=text)
            left = subtract(left, covered)
    if because.decision is not GateDecision.BLOCK or left:
        yield replace(because, windows=left or because.windows)


def _instant(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
