"""What Assay answers, as frozen values. What a newer server adds to an answer is left out.

Each is made of the JSON of an answer by ``of``; a text that must be there and is not raises KeyError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

Json = Mapping[str, Any]
Status = Literal["bad", "unknown", "reported", "untested", "good"]  # the worst first
Decision = Literal["allow", "warn", "block"]  # the mildest first


@dataclass(frozen=True)
class Reason:
    """Why an answer is as it is: a sentence, and the test, incident or report behind it."""

    text: str
    test: str | None
    incident: int | None
    report: int | None


@dataclass(frozen=True)
class QualityReason(Reason):
    """A reason of a look-up; ``status`` is what it makes of its windows, None where it only explains.

    ``windows`` are START/END in UTC, the first 50; ``more_windows`` are not listed.
    """

    status: Status | None
    category: str | None
    hard: bool
    windows: tuple[str, ...]
    more_windows: int

    @classmethod
    def of(cls, row: Json) -> "QualityReason":
        """The reason."""
        return cls(
            text=row["text"],
            test=row.get("test"),
            incident=row.get("incident"),
            report=row.get("report"),
            status=row.get("status"),
            category=row.get("category"),
            hard=bool(row.get("hard")),
            windows=tuple(row.get("windows", ())),
            more_windows=int(row.get("more_windows", 0)),
        )


@dataclass(frozen=True)
class IncidentInAnswer:
    """An incident that overlaps what was asked for, as its owner describes it; ``eta`` is when it is to be mended."""

    id: int
    category: str
    root_cause: str
    eta: datetime | None
    hard: bool
    windows: tuple[str, ...]
    more_windows: int

    @classmethod
    def of(cls, row: Json) -> "IncidentInAnswer":
        """The incident."""
        return cls(
            id=int(row["id"]),
            category=row["category"],
            root_cause=row.get("root_cause") or "",
            eta=instant_of(row.get("eta")),
            hard=bool(row.get("hard")),
            windows=tuple(row.get("windows", ())),
            more_windows=int(row.get("more_windows", 0)),
        )


@dataclass(frozen=True)
class Quality:
    """What is known of a range of a dataset in one datacenter; without a range where the catalog does not know it."""

    dataset: str
    status: Status
    reasons: tuple[QualityReason, ...]
    incidents: tuple[IncidentInAnswer, ...]
    reports: tuple[int, ...]
    start: datetime | None
    end: datetime | None
    datacenter: str

    @property
    def is_good(self) -> bool:
        """Whether tests have judged all of it and nothing is wrong."""
        return self.status == "good"

    @property
    def why(self) -> str:
        """The reasons that make the status, in one line; all of them where none does."""
        ours = [each.text for each in self.reasons if each.status == self.status]
        return "; ".join(dict.fromkeys(ours or [each.text for each in self.reasons]))

    @classmethod
    def of(cls, row: Json) -> "Quality":
        """The quality."""
        return cls(
            dataset=row["dataset"],
            status=cast(Status, row["status"]),
            reasons=tuple(QualityReason.of(each) for each in row.get("reasons", ())),
            incidents=tuple(IncidentInAnswer.of(each) for each in row.get("incidents", ())),
            reports=tuple(row.get("reports", ())),
            start=instant_of(row.get("from")),
            end=instant_of(row.get("to")),
            datacenter=row.get("datacenter") or "",
        )


@dataclass(frozen=True)
class QueryQuality:
    """What is known of all that a query reads; ``status`` is that of its worst table.

    ``unknown`` names tables that the catalog does not know. Where ``widened``, the query had so many ranges that each
    table is answered over all that lies between its first and its last.
    """

    status: Status
    tables: tuple[Quality, ...]
    unknown: tuple[str, ...]
    widened: bool

    @property
    def is_good(self) -> bool:
        """Whether all of it is good."""
        return self.status == "good"

    @classmethod
    def of(cls, row: Json) -> "QueryQuality":
        """The quality."""
        return cls(
            status=cast(Status, row["status"]),
            tables=tuple(Quality.of(each) for each in row.get("tables", ())),
            unknown=tuple(row.get("unknown", ())),
            widened=bool(row.get("widened")),
        )


@dataclass(frozen=True)
class GateReason(Reason):
    """A reason of the gate with the decision that it asks for."""

    decision: Decision
    dataset: str
    window: str

    def __str__(self) -> str:
        of = f"{self.dataset}/{self.test}" if self.test else self.dataset
        return f"{self.decision}: {of} {self.window}: {self.text}"

    @classmethod
    def of(cls, row: Json) -> "GateReason":
        """The reason."""
        return cls(
            text=row["text"],
            test=row.get("test"),
            incident=row.get("incident"),
            report=row.get("report"),
            decision=cast(Decision, row["decision"]),
            dataset=row["dataset"],
            window=row["window"],
        )


@dataclass(frozen=True)
class GateAnswer:
    """May it be read? The strictest of all reasons decides; they stand in that order."""

    decision: Decision
    reasons: tuple[GateReason, ...]

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

    @classmethod
    def of(cls, row: Json) -> "GateAnswer":
        """The answer."""
        return cls(decision=cast(Decision, row["decision"]), reasons=_gate_reasons(row))


@dataclass(frozen=True)
class CompletedAnswer(GateAnswer):
    """The gate's answer on what a pipeline wrote; ``judged``: whether all tests that this triggered have ended.

    ``completions`` are the numbers by which one asks again: ``AssayClient.completion``.
    """

    judged: bool
    completions: tuple[int, ...]

    @classmethod
    def of(cls, row: Json) -> "CompletedAnswer":
        """The answer."""
        return cls(
            decision=cast(Decision, row["decision"]),
            reasons=_gate_reasons(row),
            judged=bool(row["judged"]),
            completions=tuple(row.get("completions", ())),
        )


@dataclass(frozen=True)
class Incident:
    """What is wrong with one dataset in one category; open until ``resolved_at``."""

    id: int
    dataset: str
    category: str
    kind: str
    tier: int
    owner: str
    team: str
    detected_at: datetime
    resolved_at: datetime | None
    resolution: str
    acknowledged_by: str
    assigned_to: str  # has taken it up, or was asked to
    root_cause: str
    eta: datetime | None
    backfill: str
    cause: int | None  # the incident behind it

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.resolved_at is None

    @classmethod
    def of(cls, row: Json) -> "Incident":
        """The incident."""
        return cls(
            id=int(row["id"]),
            dataset=row["dataset"],
            category=row["category"],
            kind=row.get("kind") or "",
            tier=int(row["tier"]),
            owner=row["owner"],
            team=row.get("team") or "",
            detected_at=datetime_of(row["detected_at"]),
            resolved_at=instant_of(row.get("resolved_at")),
            resolution=row.get("resolution") or "",
            acknowledged_by=row.get("acknowledged_by") or "",
            assigned_to=row.get("assigned_to") or "",
            root_cause=row.get("root_cause") or "",
            eta=instant_of(row.get("eta")),
            backfill=row.get("backfill") or "",
            cause=row.get("cause"),
        )


@dataclass(frozen=True)
class Report:
    """A claim that data is bad; ``message`` is what its reporter is told.

    ``joined`` are incidents that knew a part of it already, and ``incident`` is the one that was opened for the rest.
    """

    id: int
    dataset: str
    window: str
    state: str
    reporter: str
    description: str
    joined: tuple[int, ...]
    incident: int | None
    message: str

    @classmethod
    def of(cls, row: Json) -> "Report":
        """The report."""
        return cls(
            id=int(row["id"]),
            dataset=row["dataset"],
            window=row["window"],
            state=row["state"],
            reporter=row.get("reporter") or "",
            description=row.get("description") or "",
            joined=tuple(row.get("joined", ())),
            incident=row.get("incident"),
            message=row.get("message") or "",
        )


@dataclass(frozen=True)
class Dataset:
    """A table that the catalog knows, with the datacenters of its copies, home first."""

    name: str
    description: str
    owner: str
    team: str
    tier: int
    granularity: str  # of its partitions; empty: it has none
    datacenters: tuple[str, ...]

    @classmethod
    def of(cls, row: Json) -> "Dataset":
        """The dataset."""
        return cls(
            name=row["name"],
            description=row.get("description") or "",
            owner=row["owner"],
            team=row.get("team") or "",
            tier=int(row["tier"]),
            granularity=row.get("granularity") or "",
            datacenters=tuple(each["datacenter"] for each in row.get("replicas", ())),
        )


def datetime_of(text: str) -> datetime:
    """An instant; Python 3.10 reads no Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def instant_of(text: str | None) -> datetime | None:
    """An instant, or None for none."""
    return datetime_of(text) if text else None


def _gate_reasons(row: Json) -> tuple[GateReason, ...]:
    return tuple(GateReason.of(each) for each in row.get("reasons", ()))
