"""Constraints on how often keys occur, and whether another table knows them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self, Unpack, get_args

from execution_engine.metrics.columns import named
from execution_engine.verification.constraints.assertion import assertion_constraint
from execution_engine.verification.constraints.bounds import Expected
from execution_engine.verification.constraints.sql_text import both

from .constrained import ALL, Constrained, Said, call, columns_of, metric

Nulls = Literal["skip", "keep"]


class OfKeys(Constrained):
    """Uniqueness and its kin. A row with a null in its key is skipped, as in SQL.

    With ``nulls="keep"`` only those are skipped in which all columns of the key are null, as in Deequ.
    """

    def is_unique(self, *columns: str, nulls: Nulls = "skip", **said: Unpack[Said]) -> Self:
        """No two rows have the same key."""
        return self._of_keys("is_unique", "uniqueness", columns, ALL, nulls, of_rows=True, **said)

    def has_uniqueness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """The share of the rows whose key no other row has."""
        return self._of_keys("has_uniqueness", "uniqueness", columns, expected, nulls, **said)

    def has_distinctness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """Distinct keys / rows."""
        return self._of_keys("has_distinctness", "distinctness", columns, expected, nulls, **said)

    def has_unique_value_ratio(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """Keys that occur once / distinct keys."""
        return self._of_keys("has_unique_value_ratio", "unique_value_ratio", columns, expected, nulls, **said)

    def has_count_distinct(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """How many distinct keys there are."""
        return self._of_keys("has_count_distinct", "count_distinct", columns, expected, nulls, **said)

    def has_approx_count_distinct(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """How many distinct values there are, within 1.6 %."""
        return self._of_keys("has_approx_count_distinct", "approx_count_distinct", column, expected, "skip", **said)

    def is_primary_key(self, *columns: str, hint: str = "", where: str | None = None) -> Self:
        """Every row has a key, and no two have the same."""
        key = [named(column) for column in columns]
        there = [f"coalesce(completeness({column}), 1) = 1" for column in key]  # of no row nothing is missing
        text = " and ".join([*there, f"coalesce(uniqueness({', '.join(key)}), 1) = 1"])
        name = call("is_primary_key", *columns)
        return self.adding(assertion_constraint(text, name=name, hint=hint, where=both(self.where, where)))

    def refers_to(
        self,
        columns: str | Sequence[str],
        dataset: str,
        expected: Expected = ALL,
        *,
        to: str | Sequence[str] | None = None,
        **said: Unpack[Said],
    ) -> Self:
        """The share of the keys, nulls left out, that ``dataset`` has in its columns ``to`` (default: the same)."""
        own, other = columns_of(columns), columns_of(to or columns)
        options = () if own == other else (("to", ",".join(map(named, other))),)
        spec = replace(metric("referential_integrity", *own, arguments=(dataset,)), options=options)
        return self.bounded(call("refers_to", *own, dataset), spec, expected, of_rows=True, **said)

    def _of_keys(
        self, text: str, name: str, given: str | Sequence[str], expected: Expected, nulls: Nulls, **said: Any
    ) -> Self:
        columns, options = columns_of(given), (("nulls", nulls),)
        if nulls not in get_args(Nulls):
            raise ValueError(f"nulls={nulls!r} is no way to take a null in a key: write 'skip' or 'keep'")
        spec = metric(name, *columns)
        return self.bounded(
            call(text, *columns), spec if nulls == "skip" else replace(spec, options=options), expected, **said
        )
