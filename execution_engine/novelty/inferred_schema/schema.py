"""What accepted batches say of each column: kind, presence, domain, range, whole numbers, unique values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from execution_engine.profiles.column import ColumnKind, ColumnProfile
from execution_engine.profiles.hashing import Keys
from execution_engine.profiles.lints import are_secret
from execution_engine.profiles.profile import Profile

MOST_NAMED = 20  # values of a domain


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnSchema:
    """One column. What is None, or False, the past says nothing of.

    ``batches``: how many accepted ones had the column in its present kind. ``presence`` is the least share of rows that
    have a value in a batch as large as the usual one.
    """

    kind: ColumnKind
    batches: int
    is_required: bool = False  # every accepted batch has the column
    presence: float | None = None
    domain: Keys | None = None  # of all values that it may have
    low: float | None = None
    high: float | None = None
    is_whole: bool = False  # its numbers have no fraction
    is_unique: bool = False  # no value occurs twice in one batch

    def said(self, column: ColumnProfile | None) -> dict[str, Any]:
        """As JSON. The column of a batch names values of the domain, as the past keeps their keys alone."""
        return {
            "type": "whole number" if self.is_whole else self.kind.value,
            "batches": self.batches,
            "required": self.is_required,
            "presence": self.presence,
            "domain": None if self.domain is None else {"size": len(self.domain), "values": self._named(column)},
            "low": self.low,
            "high": self.high,
            "unique": self.is_unique,
        }

    def _named(self, column: ColumnProfile | None) -> list[str]:
        """The most frequent values of the batch that are in the domain; none where some look like secrets."""
        if column is None or self.domain is None or column.kind is not self.kind:
            return []
        values, inside = column.values, np.isin(column.values.keys, self.domain)
        order = np.lexsort((values.keys[inside], -values.counts[inside]))
        labels = [str(label) for label in values.labels[inside][order].tolist() if label is not None]
        return [] if are_secret(labels) else labels[:MOST_NAMED]


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema:
    """The columns by name, and how many accepted batches they were inferred from."""

    columns: Mapping[str, ColumnSchema] = field(default_factory=dict)
    batches: int = 0

    def said(self, batch: Profile) -> dict[str, Any]:
        """As JSON; the values of domains are those that a batch has."""
        columns = {name: column.said(batch.columns.get(name)) for name, column in self.columns.items()}
        return {"batches": self.batches, "columns": columns}
