"""What the invariants are judged by: plain rows of the database, its history, and the receiver's ledger."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

Slot = tuple[int, datetime]  # a test, and the start of the window that was due


@dataclass(frozen=True, kw_only=True)
class RunFact:
    """One run as it is in the end."""

    id: int
    data_test: int
    window_start: datetime
    reason: str
    outcome: str
    is_judged: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of a row, noted by the database in the transaction that made it; empty: it had nothing there."""

    table: str
    row: int
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class IncidentFact:
    """One incident, open during ``[opened, closed)``."""

    id: int
    place: tuple[int, str]  # dataset and category
    alert: int | None
    opened: datetime
    closed: datetime | None


@dataclass(frozen=True, kw_only=True)
class NoticeFact:
    """One row of the outbox."""

    key: str
    alert: int | None
    event: str
    channel: str
    sent: bool
    suppressed: str
    settled: bool


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that reached the receiver, and whether it answered with a success."""

    key: str
    digest: str
    notices: tuple[str, ...]
    taken: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything, after an experiment."""

    due: Counter[Slot] = field(default_factory=Counter)
    runs: Sequence[RunFact] = ()
    changes: Sequence[Change] = ()
    incidents: Sequence[IncidentFact] = ()
    notices: Sequence[NoticeFact] = ()
    requests: Sequence[Request] = ()
    reads: Mapping[int, int] = field(default_factory=dict)  # how often an engine began on each measurement
    counted_runs: int = 0  # by the counters, which are raised where a run ends
