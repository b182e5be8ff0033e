"""A past that thaws: a window that is novel, and that nobody calls wrong, joins once some more windows have come.

Without this, one false alarm that nobody answers freezes the past while the table moves on, and each later window is
novel because the past is old.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from execution_engine.profiles.profile import Profile

from .days import Day
from .past import Past
from .terms import FURTHER_WINDOWS


class Answer(StrEnum):
    """What is known of a window once it was judged."""

    ACCEPTED = "accepted"  # it is like those before it
    RELEASED = "released"  # it is novel, and a person says that it is right
    NONE = "none"  # it is novel, and nobody says anything
    WRONG = "wrong"  # a person says so, or another test fails on it


@dataclass(frozen=True, kw_only=True, eq=False)
class Unanswered:
    """A novel window that waits: how many windows came since, and how many of these are in the past."""

    key: Hashable
    profile: Profile
    day: Day | None = None
    later: int = 0
    later_joined: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class ThawingPast:
    """The accepted past, and the novel windows that may still join it, the oldest first."""

    past: Past = field(default_factory=Past)
    unanswered: tuple[Unanswered, ...] = ()

    def with_window(self, key: Hashable, profile: Profile, answer: Answer, day: Day | None = None) -> "ThawingPast":
        """With one more window, and with those that have waited long enough by now; without one that is wrong."""
        if answer is Answer.WRONG:
            return self
        past, joins = self.past, answer in (Answer.ACCEPTED, Answer.RELEASED)
        if joins:
            past = past.joined(profile, released=answer is Answer.RELEASED, day=day)
        waiting = [
            replace(each, later=each.later + 1, later_joined=each.later_joined + joins) for each in self.unanswered
        ]
        if answer is Answer.NONE:
            waiting.append(Unanswered(key=key, profile=profile, day=day))
        while waiting and waiting[0].later >= FURTHER_WINDOWS:
            oldest = waiting.pop(0)
            past = past.joined(oldest.profile, unanswered=True, day=oldest.day, later=oldest.later_joined)
        return ThawingPast(past=past, unanswered=tuple(waiting))

    def without_days(self) -> "ThawingPast":
        """Of windows that are parts of days, which have no weekday that they are compared by."""
        unanswered = tuple(replace(each, day=None) for each in self.unanswered)
        return ThawingPast(past=self.past.dated(()), unanswered=unanswered)
