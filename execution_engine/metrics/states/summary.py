"""What metrics need to know of how often keys occur; without numpy, as many a command only names metrics."""

from dataclasses import dataclass
from math import log


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What metrics need to know of keys that have no null: N rows, |V| keys, c(v) rows of key v."""

    rows: int = 0  # N
    distinct: int = 0  # |V|
    single: int = 0  # |{v : c(v) = 1}|
    most: int = 0  # max c(v)
    weighted_logs: float = 0.0  # Σ c(v) ln c(v)
    distinct_with_nulls: int = 0  # keys in which a column is null, a null being a value like any other
    rows_with_nulls: int = 0  # rows that have no key, as such a column is null

    @property
    def entropy(self) -> float | None:
        """-Σ c(v)/N ln(c(v)/N), in nats; None without rows."""
        return log(self.rows) - self.weighted_logs / self.rows if self.rows else None
