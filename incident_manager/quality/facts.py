"""What the answer on a dataset rests on: its tests and where they stand, what is spoilt, what users claim (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from alerting.state import State
from assay.time.windows import Window
from execution_engine.outcome import Outcome
from execution_engine.outcome import Reason as Error
from incident_manager.intervals import Intervals


@dataclass(frozen=True, kw_only=True)
class KnownTest:
    """A live test; ``datacenter`` is where its finding lies, None for home's tests, which concern every copy."""

    id: int
    name: str
    category: str
    hard: bool
    datacenter: str | None = None
    whole_table: bool = False
    judges_from: datetime | None = None  # each partition from here on is judged; None: its windows follow no rule
    undeclared_to: datetime | None = None  # partitions up to here ended before its columns were declared
    declared_from: datetime | None = None  # partitions from here on are held to its columns
    scheduled_to: datetime | None = None  # no run was requested from here on; None: nothing asks for runs
    judges_rows: bool = True  # of the window that it runs over; False: only those that lie in no partition


@dataclass(frozen=True, kw_only=True)
class StandingFact:
    """How a test stands on some windows, the oldest first, where that is more than a plain PASS: alike on all."""

    test: KnownTest
    windows: Sequence[Window]
    state: State
    outcome: Outcome | None = None  # the latest that held or broke
    error: Error | None = None  # of a run after it
    cause: str = ""  # what is wrong with the test itself, in words
    is_due: bool = True
    waived: str | None = None  # the reason the user gave
    accepted: str | None = None


@dataclass(frozen=True, kw_only=True)
class SpoiltFact:
    """Windows that are spoilt alike by an incident, unhealed, the oldest first.

    A test of the whole table has one, and may name the parts of it that are bad.
    """

    incident_id: int
    category: str
    hard: bool
    windows: Sequence[Window]
    parts: Sequence[Window] = ()
    datacenter: str | None = None
    test_id: int | None = None
    whole_table: bool = False
    report_id: int | None = None  # of a confirmed report

    @property
    def bad(self) -> Sequence[Window]:
        """What of them is bad."""
        return self.parts or self.windows


@dataclass(frozen=True, kw_only=True)
class ClaimFact:
    """A user's report that nobody has confirmed or rejected yet."""

    report_id: int
    window: Window
    datacenter: str | None = None
    category: str = ""


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The instants that part a dataset's time: what is kept, what is due, what has ended. None: it has no partitions.

    Each is the start of a partition, so that no partition lies on both sides.
    """

    kept_from: datetime | None = None
    due_to: datetime
    ended_to: datetime


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that is known of one dataset over what was asked."""

    dataset: str
    is_known: bool = True  # the catalog has it
    tests: Sequence[KnownTest] = ()
    checks: Sequence[StandingFact] = ()
    held: Mapping[int, Intervals] = field(default_factory=dict)  # where each test passes, by its id
    spoilt: Sequence[SpoiltFact] = ()
    claims: Sequence[ClaimFact] = ()
    waiting: Mapping[int, Intervals] = field(default_factory=dict)  # due, not judged; a run may be requested
    incomplete: Mapping[int, Intervals] = field(default_factory=dict)  # found incomplete before they were due
    calendar: Calendar | None = None
    sources: Sequence["SourceFacts"] = ()  # of a business metric


@dataclass(frozen=True, kw_only=True)
class SourceFacts:
    """What is known of a source of a business metric; ``is_shown``: whoever may see the metric may see that too."""

    facts: Facts
    datacenter: str  # its home
    is_shown: bool = True


def overlapping(facts: Facts, window: Window) -> Facts:
    """The facts as they would have been read for one window alone, of those that were read for more."""
    checks = ((check, [each for each in check.windows if each.overlaps(window)]) for check in facts.checks)
    spoilt = ((each, [own for own in each.windows if own.overlaps(window)]) for each in facts.spoilt)
    return replace(
        facts,
        checks=[replace(check, windows=windows) for check, windows in checks if windows],
        spoilt=[replace(each, windows=windows) for each, windows in spoilt if windows],
        claims=[claim for claim in facts.claims if claim.window.overlaps(window)],
    )
