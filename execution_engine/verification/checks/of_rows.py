"""Constraints that each row meets or breaks by itself, and assertions in the language."""

from collections.abc import Sequence
from typing import Self, Unpack

from execution_engine.verification.constraints.assertion import assertion_constraint
from execution_engine.verification.constraints.bounds import Expected
from execution_engine.verification.constraints.sql_text import Scalar, both, one_of

from .constrained import ALL, Constrained, Said, call, listed, metric


class OfRows(Constrained):
    """Conditions on rows. A missing value breaks none of them but ``satisfies``; completeness is asked for apart."""

    def satisfies(self, condition: str, expected: Expected = ALL, *, name: str = "", **said: Unpack[Said]) -> Self:
        """The share of the rows that meet a condition of Spark SQL; a NULL condition is not met."""
        spec = metric("compliance", arguments=(condition,))
        return self.bounded(name or call("satisfies", condition), spec, expected, of_rows=True, **said)

    def satisfies_if(
        self, premise: str, conclusion: str, expected: Expected = ALL, *, name: str = "", **said: Unpack[Said]
    ) -> Self:
        """Of the rows that meet the premise, the share that meets the conclusion."""
        spec = metric("satisfies_if", arguments=(premise, conclusion))
        text = name or call("satisfies_if", premise, conclusion)
        return self.bounded(text, spec, expected, of_rows=True, **said)

    def is_in_range(
        self, column: str, allowed: Sequence[Scalar], expected: Expected = ALL, **said: Unpack[Said]
    ) -> Self:
        """The values lie from the first to the second of two numbers, or are among the texts."""
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
        """The share of the rows whose value is one of these."""
        return self._compliant(
            call("is_contained_in", column, listed(values)), one_of(column, values), expected, **said
        )

    def is_non_negative(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the rows whose value is 0 or above."""
        return self._of_sign("is_non_negative", "non_negative", column, expected, **said)

    def is_positive(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the rows whose value is above 0."""
        return self._of_sign("is_positive", "positive", column, expected, **said)

    def is_less_than(self, a: str, b: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """Of the rows where both are there, the share in which the first is less."""
        return self.bounded(call("is_less_than", a, b), metric("less_than", a, b), expected, of_rows=True, **said)

    def holds(self, assertion: str, *, name: str = "", hint: str = "", where: str | None = None) -> Self:
        """An assertion of the language: ``completeness(email) >= 0.99 by city``; UnableToAssert for anything else."""
        found = assertion_constraint(assertion, name=name, hint=hint, where=both(self.where, where))
        return self.adding(found)

    def _of_sign(self, text: str, name: str, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(call(text, column), metric(name, column), expected, of_rows=True, **said)

    def _compliant(self, text: str, condition: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self.bounded(text, metric("compliance", arguments=(condition,)), expected, of_rows=True, **said)
