"""Constraints on rows and missing values."""

from typing import Self, Unpack

from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.bounds import Expected
from execution_engine.verification.constraints.sql_text import none_null

from .constrained import ALL, Constrained, Said, call, metric


class OfCompleteness(Constrained):
    """How many rows there are, and which of them have values."""

    def has_size(self, expected: Expected, **said: Unpack[Said]) -> Self:
        """So many rows."""
        return self.bounded("has_size()", metric("row_count"), expected, **said)

    def is_complete(self, *columns: str, **said: Unpack[Said]) -> Self:
        """No column has a missing value; one constraint for each column."""
        found = self
        for column in columns:
            found = found.bounded(
                call("is_complete", column), metric("completeness", column), ALL, of_rows=True, **said
            )
        return found

    def has_completeness(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows that have a value in the column."""
        return self.bounded(call("has_completeness", column), metric("completeness", column), expected, **said)

    def are_complete(self, *columns: str, **said: Unpack[Said]) -> Self:
        """Every row has a value in each of the columns."""
        return self.bounded(call("are_complete", *columns), _all_there(columns), ALL, of_rows=True, **said)

    def have_completeness(self, columns: tuple[str, ...], expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows that have a value in each of the columns."""
        return self.bounded(call("have_completeness", *columns), _all_there(columns), expected, **said)


def _all_there(columns: tuple[str, ...]) -> MetricSpec:
    return metric("compliance", arguments=(none_null(columns),))
