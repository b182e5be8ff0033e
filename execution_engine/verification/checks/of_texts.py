"""Constraints on columns of texts."""

from functools import partial
from typing import Self, Unpack

from execution_engine.engines.protocol import Measured
from execution_engine.verification.constraints.constraints import Expected

from .constrained import ALL, Constrained, Said, call, metric

TYPES = {
    "integral": ("integral",),
    "fractional": ("fractional",),
    "numeric": ("integral", "fractional"),
    "boolean": ("boolean",),
    "text": ("text",),
}


class OfTexts(Constrained):
    """What texts are like; nulls are left out. Patterns and lengths want a column of texts, types one of any type."""

    def has_pattern(self, column: str, pattern: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values in which a pattern is found, from 0 to 1, meets ``expected``.

        Parameters:
            pattern: a regular expression of Java, found anywhere in the text, or the name of a pattern, such as
                ``"email"`` ([what they find](verification.md#what-the-patterns-find)). One that cannot be read is found
                when the check runs, as an ``error``.

        Example:
            Check().has_pattern("city", "^(rome|oslo)$")  # success
        """
        return self._matching(call("has_pattern", column, pattern), column, pattern, expected, **said)

    def contains_email(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values in which an e-mail address is found meets ``expected``.

        Write 0 where there must be none.

        Example:
            Check().contains_email("note", 0.25)  # success
            Check().contains_email("note", 0)  # failure
        """
        return self._containing("contains_email", column, expected, **said)

    def contains_url(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values in which an address of the web is found meets ``expected``.

        Write 0 where there must be none.

        Example:
            Check().contains_url("note", 0.25)  # success
            Check().contains_url("note", 0)  # failure
        """
        return self._containing("contains_url", column, expected, **said)

    def contains_credit_card_number(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values in which the number of a credit card is found meets ``expected``.

        A number is one by its issuer, its length and its check digit.

        Write 0 where there must be none.

        Example:
            Check().contains_credit_card_number("note", 0.25)  # success
            Check().contains_credit_card_number("note", 0)  # failure
        """
        return self._containing("contains_credit_card_number", column, expected, **said)

    def contains_social_security_number(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values in which a social security number of the United States is found meets ``expected``.

        Nine digits are one where they can be: the numbers that were never given out are left out.

        Write 0 where there must be none.

        Example:
            Check().contains_social_security_number("note", 0.25)  # success
            Check().contains_social_security_number("note", 0)  # failure
        """
        return self._containing("contains_social_security_number", column, expected, **said)

    def has_min_length(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The length of the shortest text, in characters, meets ``expected``.

        Example:
            Check().has_min_length("code", at_least(1))  # success
        """
        return self.bounded(call("has_min_length", column), metric("min_length", column), expected, **said)

    def has_max_length(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The length of the longest text, in characters, meets ``expected``.

        Example:
            Check().has_max_length("city", at_most(4))  # success
        """
        return self.bounded(call("has_max_length", column), metric("max_length", column), expected, **said)

    def has_consistent_type(self, column: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The largest share of the values that read as the same type, from 0 to 1, meets ``expected``.

        The types are integral, fractional, boolean and text.

        Example:
            Check().has_consistent_type("code", at_least(0.7))  # success
        """
        spec = metric("consistent_type", column)
        return self.bounded(call("has_consistent_type", column), spec, expected, of_rows=True, **said)

    def has_data_type(self, column: str, type_: str, expected: Expected = ALL, **said: Unpack[Said]) -> Self:
        """The share of the values that read as one type, from 0 to 1, meets ``expected``.

        Parameters:
            type_: ``"integral"``, ``"fractional"``, ``"numeric"`` (either of these), ``"boolean"`` or ``"text"``.

        Errors:
            ValueError: ``type_`` is another text.

        Example:
            Check().has_data_type("code", "numeric", at_least(0.8))  # success
        """
        if type_ not in TYPES:
            raise ValueError(f"{type_!r} is no type of values: take one of {', '.join(TYPES)}")
        spec, reads = metric("consistent_type", column), partial(_share, type_)
        text = call("has_data_type", column, type_)
        return self.bounded(text, spec, expected, of_rows=True, reads=reads, **said)

    def _containing(self, name: str, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        return self._matching(call(name, column), column, name, expected, **said)

    def _matching(self, text: str, column: str, pattern: str, expected: Expected, **said: Unpack[Said]) -> Self:
        spec = metric("pattern_match", column, arguments=(pattern,))
        return self.bounded(text, spec, expected, of_rows=True, **said)


def _share(type_: str, measured: Measured) -> float | None:
    counts = measured.detail.get("types", {})
    total = sum(counts.values())
    return sum(counts[name] for name in TYPES[type_]) / total if total else None
