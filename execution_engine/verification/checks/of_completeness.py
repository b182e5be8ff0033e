"""Constraints on rows and missing values."""

from typing import Self, Unpack

from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.bounds import Expected
from execution_engine.verification.constraints.sql_text import none_null

from .constrained import ALL, Constrained, Said, call, metric


class OfCompleteness(Constrained):
    """How many rows there are, and which of them have values."""

    def has_size(self, expected: Expected, **said: Unpack[Said]) -> Self:
        """The number of rows meets ``expected``.

        Example:
            Check().has_size(10)  # success
            Check(where="city = 'rome'").has_size(at_least(6), hint="rome is the largest city")  # failure
        """
        return self.bounded("has_size()", metric("row_count"), expected, **said)

    def is_complete(self, *columns: str, **said: Unpack[Said]) -> Self:
        """No value of the columns is null. Adds one constraint for each column.

        Errors: none.

        Example:
            Check().is_complete("ride_id")  # success
            Check().is_complete("city")  # failure
        """
        found = self
        for column in columns:
            found = found.bounded(
                call("is_complete", column), metric("completeness", column), ALL, of_rows=True, **said
            )
        return found

    def has_completeness(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows whose value is not null, from 0 to 1, meets ``expected``.

        Example:
            Check().has_completeness("city", at_least(0.9))  # success
        """
        return self.bounded(call("has_completeness", column), metric("completeness", column), expected, **said)

    def are_complete(self, *columns: str, **said: Unpack[Said]) -> Self:
        """No row has a null in any of the columns. Adds one constraint for all columns together.

        Errors: none.

        Example:
            Check().are_complete("city", "fare")  # failure
            Check().are_complete("city", "fare", where="ride_id < 9")  # success
        """
        return self.bounded(call("are_complete", *columns), _all_there(columns), ALL, of_rows=True, **said)

    def have_completeness(self, columns: tuple[str, ...], expected: Expected, **said: Unpack[Said]) -> Self:
        """The share of the rows with a null in none of the columns, from 0 to 1, meets ``expected``.

        Parameters:
            columns: the names of the columns, as a tuple.

        Example:
            Check().have_completeness(("city", "fare"), 0.9)  # success
        """
        return self.bounded(call("have_completeness", *columns), _all_there(columns), expected, **said)


def _all_there(columns: tuple[str, ...]) -> MetricSpec:
    return metric("compliance", arguments=(none_null(columns),))
