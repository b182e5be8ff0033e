"""What Assay answers, as frozen values. What a newer server adds to an answer is left out.

``of`` makes each from the JSON of an answer, by the names and types of its fields; null is the default of a field that
has one. A field without a default must be there, else ``of`` raises KeyError.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

Json = Mapping[str, Any]
T = TypeVar("T", bound="Answer")
Status = Literal["bad", "unknown", "reported", "untested", "good"]  # the worst first
Decision = Literal["allow", "warn", "block"]  # the mildest first


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An object of an answer."""

    @classmethod
    def of(cls: type[T], row: Json) -> T:
        """The object that this JSON holds."""
        held = [member for member in members(cls) if member.is_needed or row.get(member.source) is not None]
        return cls(**{member.name: _read(row[member.source], member.kind) for member in held})


@dataclass(frozen=True, kw_only=True)
class Reason(Answer):
    """Why an answer is as it is: a sentence, and the test, incident or report behind it."""

    text: str
    test: str | None = None
    incident: int | None = None
    report: int | None = None


@dataclass(frozen=True, kw_only=True)
class QualityReason(Reason):
    """A reason of a look-up; ``status`` is what it makes of its windows, None where it only explains.

    ``windows`` are START/END in UTC, the first 50; ``more_windows`` are not listed.
    """

    status: Status | None = None
    category: str | None = None
    hard: bool = False
    windows: tuple[str, ...] = ()
    more_windows: int = 0


@dataclass(frozen=True, kw_only=True)
class IncidentInAnswer(Answer):
    """An incident that overlaps what was asked for, as its owner describes it; ``eta`` is when it is to be mended."""

    id: int
    category: str
    root_cause: str = ""
    eta: datetime | None = None
    hard: bool = False
    windows: tuple[str, ...] = ()
    more_windows: int = 0


@dataclass(frozen=True, kw_only=True)
class Quality(Answer):
    """What is known of a range of a dataset in one datacenter; without a range where the catalog does not know it."""

    dataset: str
    status: Status
    reasons: tuple[QualityReason, ...] = ()
    incidents: tuple[IncidentInAnswer, ...] = ()
    reports: tuple[int, ...] = ()
    start: datetime | None = field(default=None, metadata={"source": "from"})
    end: datetime | None = field(default=None, metadata={"source": "to"})
    datacenter: str = ""

    @property
    def is_good(self) -> bool:
        """Whether tests have judged all of it and nothing is wrong."""
        return self.status == "good"

    @property
    def why(self) -> str:
        """The reasons that make the status, in one line; all of them where none does."""
        ours = [reason.text for reason in self.reasons if reason.status == self.status]
        return "; ".join(dict.fromkeys(ours or [reason.text for reason in self.reasons]))


@dataclass(frozen=True, kw_only=True)
class QueryQuality(Answer):
    """What is known of all that a query reads; ``status`` is that of its worst table.

    ``unknown`` names tables that the catalog does not know. Where ``widened``, the query had so many ranges that each
    table is answered over all that lies between its first and its last.
    """

    status: Status
    tables: tuple[Quality, ...] = ()
    unknown: tuple[str, ...] = ()
    widened: bool = False

    @property
    def is_good(self) -> bool:
        """Whether all of it is good."""
        return self.status == "good"


@dataclass(frozen=True, kw_only=True)
class GateReason(Reason):
    """A reason of the gate with the decision that it asks for."""

    decision: Decision
    dataset: str
    window: str

    def __str__(self) -> str:
        of = f"{self.dataset}/{self.test}" if self.test else self.dataset
        return f"{self.decision}: {of} {self.window}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class GateAnswer(Answer):
    """May it be read? The strictest of all reasons decides; they stand in that order."""

    decision: Decision
    reasons: tuple[GateReason, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether it must not be read."""
        return self.decision == "block"

    @property
    def warns(self) -> bool:
        """Whether it may be read, with care."""
        return self.decision == "warn"

    @property
    def decisive(self) -> tuple[GateReason, ...]:
        """The reasons that ask for the decision."""
        return tuple(reason for reason in self.reasons if reason.decision == self.decision)


@dataclass(frozen=True, kw_only=True)
class CompletedAnswer(GateAnswer):
    """The gate's answer on what a pipeline wrote; ``judged``: whether all tests that this triggered have ended.

    ``completions`` are the numbers by which one asks again: ``AssayClient.completion``.
    """

    judged: bool
    completions: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Incident(Answer):
    """What is wrong with one dataset in one category; open until ``resolved_at``."""

    id: int
    dataset: str
    category: str
    kind: str = ""
    tier: int
    owner: str
    team: str = ""
    detected_at: datetime
    resolved_at: datetime | None = None
    resolution: str = ""
    acknowledged_by: str = ""
    assigned_to: str = ""  # has taken it up, or was asked to
    root_cause: str = ""
    eta: datetime | None = None
    backfill: str = ""
    cause: int | None = None  # the incident behind it
    is_past: bool = False  # only a back-fill of the past has found it, and nobody was paged

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.resolved_at is None


@dataclass(frozen=True, kw_only=True)
class Report(Answer):
    """A claim that data is bad; ``message`` is what its reporter is told.

    ``joined`` are incidents that knew a part of it already, and ``incident`` is the one that was opened for the rest.
    """

    id: int
    dataset: str
    window: str
    state: str
    reporter: str = ""
    description: str = ""
    joined: tuple[int, ...] = ()
    incident: int | None = None
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Dataset(Answer):
    """A table that the catalog knows, with the datacenters of its copies, home first."""

    name: str
    description: str = ""
    owner: str
    team: str = ""
    tier: int
    granularity: str = ""  # of its partitions; empty: it has none
    datacenters: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: Json) -> "Dataset":
        """The dataset, with the datacenters of its ``replicas``."""
        return super().of({**row, "datacenters": [replica["datacenter"] for replica in row.get("replicas", ())]})


@dataclass(frozen=True, kw_only=True)
class LineageDataset(Answer):
    """A dataset near another in the lineage; ``hops`` is negative upstream."""

    name: str
    tier: int
    status: Status
    hops: int


@dataclass(frozen=True, kw_only=True)
class EdgeSource(Answer):
    """A source that tells of an edge, or no longer does since ``missed_since``."""

    source: str
    seen_at: datetime
    missed_since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Edge(Answer):
    """What is made of what. ``columns`` are those of the downstream, each with the columns upstream that it is made of.

    All columns of the downstream depend on ``all_columns``; ``keys`` are those of its primary key with their names
    upstream. All three are empty where nobody knows them. The first of the ``sources`` counts first.
    """

    upstream: str
    downstream: str
    one_to_one: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    all_columns: tuple[str, ...] = ()
    sources: tuple[EdgeSource, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lineage(Answer):
    """The datasets up to three hops from one, itself included, and the edges between them."""

    datasets: tuple[LineageDataset, ...]
    edges: tuple[Edge, ...]


def datetime_of(text: str) -> datetime:
    """An instant; Python 3.10 reads no Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class Member(NamedTuple):
    """A field of an answer: its name here and in JSON, its type, and whether JSON must have it."""

    name: str
    source: str
    kind: Any
    is_needed: bool


def members(shape: type[Answer]) -> tuple[Member, ...]:
    """The fields of an answer."""
    kinds = get_type_hints(shape)
    return tuple(
        Member(
            name=row.name,
            source=row.metadata.get("source", row.name),
            kind=kinds[row.name],
            is_needed=row.default is MISSING and row.default_factory is MISSING,
        )
        for row in fields(shape)
    )


def _read(value: Any, kind: Any) -> Any:
    if get_origin(kind) is tuple:
        return tuple(_read(item, get_args(kind)[0]) for item in value)
    if datetime in (kind, *get_args(kind)):
        return datetime_of(value)
    return kind.of(value) if isinstance(kind, type) and issubclass(kind, Answer) else value
