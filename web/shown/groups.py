"""The groups of one result in rows, as the assertion was judged by columns. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OF_GROUPS = frozenset({"groups", "worst_groups", "groups_that_hold", "groups_not_judged"})  # names of findings
NULL = "null"


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """One group: its key, one value for each column, and what was found; ``status`` is held, broken or unknown."""

    key: Sequence[str]
    status: str
    value: Any = None
    bound: Any = None
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class ShownGroups:
    """Those that are told, the broken ones first, the furthest from their bound before the others; and the counts."""

    columns: Sequence[str]
    rows: Sequence[GroupRow]
    held: int
    broken: int
    not_judged: int

    @property
    def more(self) -> int:
        """How many groups are only counted."""
        return self.held + self.broken + self.not_judged - len(self.rows)


def groups_of(findings: Mapping[str, Any]) -> ShownGroups | None:
    """From the findings of a run; None where it was not judged by groups."""
    counts = findings.get("groups")
    if not isinstance(counts, Mapping):
        return None
    told = [
        (status, each)
        for status, name in (("broken", "worst_groups"), ("unknown", "groups_not_judged"), ("held", "groups_that_hold"))
        for each in findings.get(name, ())
    ]
    return ShownGroups(
        columns=list(told[0][1]["group"]) if told else [],
        rows=[_row(status, each) for status, each in told],
        held=counts["held"],
        broken=counts["broken"],
        not_judged=counts["not_judged"],
    )


def _row(status: str, found: Mapping[str, Any]) -> GroupRow:
    return GroupRow(
        key=[NULL if value is None else str(value) for value in found["group"].values()],
        status=status,
        value=found.get("value"),
        bound=found.get("bound"),
        said=found["said"],
    )
