"""Constraints that each row meets or breaks by itself, and assertions in the language."""

from collections.abc import Sequence
from typing import Self, Unpack

from execution_engine.metrics.spec import MetricSpec
from execution_engine.verification.constraints.assertion import assertion_constraint
from execution_engine.verification.constraints.constraints import Expected, Scalar, both, none_null, one_of

from .constrained import ALL, Constrained, Said, call, listed, metric


class OfRows(Constrained):
    """Conditions on single rows. ``expected`` bounds the share of the rows that meet one. By default it is 1: all rows.

    A null breaks none of them but ``satisfies``; ``is_complete`` asks for values. Where there is no row to judge, the
    status is ``success``.

    Shared parameters:
        name: what results call the constraint; without it, the call as it is written.
        a: the name of the first column.
        b: the name of the second column.
    """

    def satisfies(self, condition: str, expected: Expected = ALL, *, name: str = "", **said: Unpack[Said]) -> Self:
        """The share of the rows that meet a condition meets ``expected``.

        A condition that is NULL for a row is not met.

        Parameters:
            condition: a condition of Spark SQL on one row.

        Example:
            Check().satisfies("fare > tip", at_least(0.8))  # success
            Check().satisfies("fare > tip", name="the tip is a part")  # failure
        """
        spec = metric("compliance", arguments=(condition,))
        return self.bounded(name or call("satisfies", condition), spec, expected, of_rows=True, **said)

    def satisfies_if(
        self, premise: str, conclusion: str, expected: Expected = ALL, *, name: str = "", **said: Unpack[Said]
    ) -> Self:
        """Of the rows that meet a premise, the share that meets a conclusion meets ``expected``.

        Parameters:
            premise: a condition of Spark SQL on one row. Rows that do not meet it are left out.
            conclusion: a condition of Spark SQL on one row.

        Example:
            Check().satisfies_if("city = 'rome'", "country = 'IT'")  # success
        """
        spec = metric("satisfies_if", arguments=(premise, conclusion))
        text = name or call("satisfies_if", premise, conclusion)
        return self.bounded(text, spec, expected, of_rows=True, **said)

    def is_in_range(
        self, column: str, allowed: Sequence[Scalar], expected: Expected = ALL, **said: Unpack[Said]
    ) -> Self:
        """The share of the rows whose value lies in a range, or is among those listed, meets ``expected``.

        Parameters:
            allowed: two ints or floats, the lower first: the value lies from the first to the second, both included.
                The wrong order is found when the check runs, as an ``error``. Anything else is the list of the allowed
                values, as for ``is_contained_in``.

        Errors:
            ValueError: ``allowed`` is empty.
            TypeError: a listed value is no text, number, boolean or date.

        Example:
            Check().is_in_range("fare", (0, 20))  # failure
            Check().is_in_range("city", ("rome", "oslo"))  # success
        """
        text = call("is_in_range", column, listed(allowed))
        match tuple(allowed):
            case (int() | float() as low, int() | float() as high):
                spec = metric("in_range", column, arguments=(low, high))
            case _:
                spec = metric("compliance", arguments=(one_of(column, allowed),))
        return self.bounded(text, spec, expected, of_rows=True, **said)

    def is_contained_in(
        self, column: str, values: Sequence[Scalar], expected: Expected = ALL, **said: Unpack[Said]
    ) -> Self:
        """The share of the rows whose value is one of those listed meets ``expected``.

        Parameters:
            values: the allowed values: texts, numbers, booleans, dates or datetimes.

        Errors:
            ValueError: ``values`` is empty.
            TypeError: a value is of another type, such as None.

        Example:
            Check().is_contained_in("city", ["rome", "oslo"])  # success
        """
        return self._compliant(
            call("is_contained_in", column, listed(values)), one_of(column, values), expected, **said
        )

    def is_non_negative(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the rows whose number is 0 or above meets ``expected``. A NaN is not.

        Example:
            Check().is_non_negative("fare", at_least(0.9))  # success
        """
        return self._of_sign("is_non_negative", "non_negative", column, expected, **said)

    def is_positive(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the rows whose number is above 0 meets ``expected``. A NaN is not.

        Example:
            Check().is_positive("tip")  # failure
        """
        return self._of_sign("is_positive", "positive", column, expected, **said)

    def is_less_than(self, a: str, b: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """Of the rows in which neither number is null, the share in which the first is less meets ``expected``.

        Example:
            Check().is_less_than("tip", "fare", at_least(0.8))  # success
        """
        return self.bounded(call("is_less_than", a, b), metric("less_than", a, b), expected, of_rows=True, **said)

    def holds(self, assertion: str, *, name: str = "", hint: str = "", where: str | None = None) -> Self:
        """An assertion of [the language](language.md) holds.

        It may have several metrics, arithmetic, groups, history and other datasets.

        Parameters:
            assertion: the assertion. It may name the datasets that ``Verification.with_table`` has given.

        Errors:
            UnableToAssert: the text is no assertion, or needs the catalog, such as ``freshness()``. The message draws
                the place.

        Example:
            Check().holds("completeness(fare) = 1 by city for 60 % of groups")  # success
            Check().holds("max(fare) <= 2 * mean(fare)")  # failure
        """
        found = assertion_constraint(assertion, name=name, hint=hint, where=both(self.where, where))
        return self.adding(found)

    def _of_sign(self, text: str, name: str, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(call(text, column), metric(name, column), expected, of_rows=True, **said)

    def _compliant(self, text: str, condition: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(text, metric("compliance", arguments=(condition,)), expected, of_rows=True, **said)


# Constraints on rows and missing values.


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
