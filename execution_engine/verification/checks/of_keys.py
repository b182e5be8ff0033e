"""Constraints on how often keys occur, and whether another table knows them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self, Unpack, get_args

from execution_engine.metrics.expressions import named
from execution_engine.verification.constraints.assertion import assertion_constraint
from execution_engine.verification.constraints.constraints import Expected, both

from .constrained import ALL, Constrained, Said, call, columns_of, metric

Nulls = Literal["skip", "keep"]


class OfKeys(Constrained):
    """How often keys occur. A key is the values of one row in the columns.

    Shared parameters:
        columns: the columns of the key: one name, or several.
        nulls: ``"skip"`` leaves out each row with a null in its key, as SQL does. ``"keep"`` leaves out only the rows
            in which every column of the key is null, as Deequ does.

    Shared errors:
        nulls: ``ValueError`` where ``nulls`` is another text.
    """

    def is_unique(self, *columns: str, nulls: Nulls = "skip", **said: Unpack[Said]) -> Self:
        """No two rows have the same key.

        Example:
            Check().is_unique("ride_id")  # failure
            Check().is_unique("ride_id", "city")  # success
        """
        return self._of_keys("is_unique", "uniqueness", columns, ALL, nulls, of_rows=True, **said)

    def has_uniqueness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """Of the rows with a key, the share whose key no other row has, from 0 to 1, meets ``expected``.

        Example:
            Check().has_uniqueness("ride_id", at_least(0.8))  # success
        """
        return self._of_keys("has_uniqueness", "uniqueness", columns, expected, nulls, **said)

    def has_distinctness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """The number of distinct keys divided by the number of rows with a key, from 0 to 1, meets ``expected``.

        Example:
            Check().has_distinctness("ride_id", 0.9)  # success
        """
        return self._of_keys("has_distinctness", "distinctness", columns, expected, nulls, **said)

    def has_unique_value_ratio(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """The number of keys that occur once divided by the number of distinct keys meets ``expected``.

        Example:
            Check().has_unique_value_ratio("ride_id", between(0.8, 0.9))  # success
        """
        return self._of_keys("has_unique_value_ratio", "unique_value_ratio", columns, expected, nulls, **said)

    def has_count_distinct(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **said: Unpack[Said]
    ) -> Self:
        """The number of distinct keys meets ``expected``.

        Example:
            Check().has_count_distinct("city", 2)  # success
            Check().has_count_distinct(("city", "rider_id"), 5)  # success
            Check().has_count_distinct(("city", "rider_id"), 7, nulls="keep")  # success
        """
        return self._of_keys("has_count_distinct", "count_distinct", columns, expected, nulls, **said)

    def has_approx_count_distinct(self, column: str, expected: Expected, **said: Unpack[Said]) -> Self:
        """The number of distinct values, with a standard error of 1.6 %, meets ``expected``.

        It takes less memory than ``has_count_distinct``, and nulls are left out.

        Example:
            Check().has_approx_count_distinct("city", between(2, 3))  # success
        """
        return self._of_keys("has_approx_count_distinct", "approx_count_distinct", column, expected, "skip", **said)

    def is_primary_key(self, *columns: str, hint: str = "", where: str | None = None) -> Self:
        """No row has a null in its key, and no two rows have the same key.

        Errors:
            UnableToAssert: no column is named.

        Example:
            Check().is_primary_key("ride_id")  # failure
            Check().is_primary_key("ride_id", where="city is not null")  # success
        """
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
        """The share of the keys that another dataset has too, from 0 to 1, meets ``expected``.

        Rows with a null in their key are left out.

        Parameters:
            dataset: the name of the other dataset, which ``Verification.with_table`` has given.
            to: its columns, as many as ``columns``; without ``to`` those of the same names.

        Example:
            Check().refers_to("rider_id", "riders")  # failure
            Check().refers_to("rider_id", "riders", at_least(0.8))  # success
        """
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
