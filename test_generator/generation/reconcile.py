"""From the tests there are to the tests there should be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from .standard import WantedTest


@dataclass(frozen=True, kw_only=True)
class ExistingTest:
    """A test of the dataset as it stands. A user's test matters by its name, and by whether its source has it."""

    id: int
    name: str
    origin: Literal["generated", "user"]
    definition: WantedTest | None  # None for a user's test
    retired_at: datetime | None = None
    missing_since: datetime | None = None  # since when it, or a generated test's dataset, is gone from its source


@dataclass(frozen=True, kw_only=True)
class WantedChange:
    """An existing test and the definition it should have."""

    existing: ExistingTest
    wanted: WantedTest


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What to do. A revived test takes the wanted definition, whatever it had before."""

    create: tuple[WantedTest, ...] = ()
    revise: tuple[WantedChange, ...] = ()
    retire: tuple[ExistingTest, ...] = ()
    revive: tuple[WantedChange, ...] = ()
    keep: tuple[ExistingTest, ...] = ()
    clash: tuple[WantedTest, ...] = ()  # wanted under a name that a user's test already has

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.create or self.revise or self.retire or self.revive)


def reconcile(
    existing: Sequence[ExistingTest], wanted: Sequence[WantedTest], *, now: datetime, retire_grace: timedelta
) -> Changes:
    """What turns one dataset's generated tests into the wanted ones, and retires users' tests that left their source.

    A test no longer wanted is retired at once. Where the whole dataset is gone nothing is wanted, but its tests stay
    for the grace, as a user's test does: a source that loses a table for an hour must not end them.
    """
    theirs = {each.name for each in existing if each.origin == "user"}
    ours = [each for each in existing if each.origin == "generated"]
    is_gone = any(each.missing_since for each in ours)
    targets = {} if is_gone else {each.name: each for each in wanted}
    known = theirs | {each.name for each in ours}
    paired = [WantedChange(existing=each, wanted=targets[each.name]) for each in ours if each.name in targets]
    left = [each for each in existing if each.origin == "user" and each.missing_since]
    over = [*(each for each in ours if each.name not in targets), *left]
    unwanted = [each for each in over if each.retired_at is None]
    return Changes(
        create=tuple(each for name, each in targets.items() if name not in known),
        revise=tuple(each for each in paired if not each.existing.retired_at and _differs(each)),
        retire=tuple(each for each in unwanted if _is_over(each, now, retire_grace)),
        revive=tuple(each for each in paired if each.existing.retired_at),
        keep=(
            *(each.existing for each in paired if not each.existing.retired_at and not _differs(each)),
            *(each for each in unwanted if not _is_over(each, now, retire_grace)),
        ),
        clash=tuple(each for name, each in targets.items() if name in theirs),
    )


def _differs(change: WantedChange) -> bool:
    return change.existing.definition != change.wanted


def _is_over(test: ExistingTest, now: datetime, retire_grace: timedelta) -> bool:
    return test.missing_since is None or now - test.missing_since >= retire_grace
