"""A check: constraints of one level, added one after another. Each method is one line over a metric or an assertion."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

from execution_engine.anomalies.strategies import Strategy
from execution_engine.engines.column_types import literal
from execution_engine.engines.protocol import Measured
from execution_engine.guard import in_sql
from execution_engine.metrics.expressions import named
from execution_engine.metrics.spec import Literal as SpecLiteral
from execution_engine.metrics.spec import MetricSpec, quoted

from .constraints import (
    AnomalyConstraint,
    Bound,
    Constraint,
    Expected,
    HistogramConstraint,
    Holds,
    Level,
    MetricConstraint,
    assertion_constraint,
    both,
    bound_of,
    equal_to,
    function_name,
)

On = Literal["whole", "delta"]  # all the data so far, or the delta alone that was added to it
Nulls = Literal["skip", "keep"]
Scalar = str | bool | int | float | Decimal | date | datetime
ALL = equal_to(1.0)
TYPES = {
    "integral": ("integral",),
    "fractional": ("fractional",),
    "numeric": ("integral", "fractional"),
    "boolean": ("boolean",),
    "text": ("text",),
}


class Options(TypedDict, total=False):
    """What may be said of any constraint."""

    hint: str  # told where it fails
    where: str | None  # only over the rows that meet it


def metric(name: str, *columns: str, arguments: Sequence[SpecLiteral] = ()) -> MetricSpec:
    """A metric as ``has_no_anomalies`` and ``bounded`` take it; [metrics](metrics.md) lists all.

    ``arguments`` stand behind the columns in the call. Write a column with a space as it is: ``"order id"``. A name
    that the metrics do not have is found when the check runs, as a constraint of status ``error``.
    """
    return MetricSpec(name=name, columns=tuple(map(named, columns)), arguments=tuple(arguments))


SIZE = metric("row_count")


@dataclass(frozen=True)
class Check:
    """Constraints of one level on one dataset.

    A check is never changed: each method returns a new check with one constraint more. A method reads no data, and
    raises only what its arguments by themselves forbid. What the data forbids, such as a column that is missing or of
    another type, is found by ``Verification.run``, as a constraint of status ``error``. To bound one metric at two
    levels, write two checks. All constraints look only at the rows that meet ``where``, a condition of Spark SQL.
    ``on="delta"`` looks only at the rows that were added (``Verification.add_up``); ValueError for another text.
    """

    level: Level = Level.ERROR
    name: str = ""
    _: KW_ONLY
    where: str | None = None
    on: On = "whole"
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if self.on not in get_args(On):
            part = "no part of the data: write on='whole', or on='delta' for what was added"
            raise ValueError(f"on={self.on!r} is {part}")

    # Any metric, and constraints of your own.

    def adding(self, constraint: Constraint) -> Self:
        """Adds a constraint of any kind: an object with the ``text``, ``hint``, ``asks`` and ``judge`` of one."""
        return replace(self, constraints=(*self.constraints, constraint))

    def bounded(
        self, text: str, spec: MetricSpec, expected: Expected, *, hint: str = "", where: str | None = None, **more: Any
    ) -> Self:
        """Bounds any metric, as ``metric`` writes it; ``text`` is what results call the constraint.

        ``of_rows=True`` lets it succeed where there is no row to judge, ``reads=`` finds the value in the measurement.
        """
        spec = replace(spec, where=both(self.where, both(spec.where, where)))
        return self.adding(MetricConstraint(text=text, spec=spec, bound=bound_of(expected), hint=hint, **more))

    # Rows and missing values.

    def has_size(self, expected: Expected, **options: Unpack[Options]) -> Self:
        """The number of rows meets ``expected``."""
        return self.bounded("has_size()", metric("row_count"), expected, **options)

    def is_complete(self, *columns: str, **options: Unpack[Options]) -> Self:
        """No value of the columns is null. Adds one constraint for each column."""
        check = self
        for column in columns:
            check = check._rows(call("is_complete", column), metric("completeness", column), ALL, **options)
        return check

    def has_completeness(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The share of the rows whose value is not null, from 0 to 1, meets ``expected``."""
        return self.bounded(call("has_completeness", column), metric("completeness", column), expected, **options)

    def are_complete(self, *columns: str, **options: Unpack[Options]) -> Self:
        """No row has a null in any of the columns. Adds one constraint for all columns together."""
        return self._rows(call("are_complete", *columns), compliance(none_null(columns)), ALL, **options)

    def have_completeness(self, columns: tuple[str, ...], expected: Expected, **options: Unpack[Options]) -> Self:
        """The share of the rows with a null in none of the columns, from 0 to 1, meets ``expected``."""
        return self.bounded(call("have_completeness", *columns), compliance(none_null(columns)), expected, **options)

    # How often keys occur: a key is the values of one row in the columns. ``nulls="skip"`` leaves out each row with a
    # null in its key, as SQL does; "keep" only those in which every column of the key is null, as Deequ does.

    def is_unique(self, *columns: str, nulls: Nulls = "skip", **options: Unpack[Options]) -> Self:
        """No two rows have the same key."""
        return self._rows(call("is_unique", *columns), keys("uniqueness", columns, nulls), ALL, **options)

    def has_uniqueness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **options: Unpack[Options]
    ) -> Self:
        """Of the rows with a key, the share whose key no other row has, from 0 to 1, meets ``expected``."""
        text = call("has_uniqueness", *columns_of(columns))
        return self.bounded(text, keys("uniqueness", columns, nulls), expected, **options)

    def has_distinctness(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **options: Unpack[Options]
    ) -> Self:
        """The number of distinct keys divided by the number of rows with a key, from 0 to 1, meets ``expected``."""
        text = call("has_distinctness", *columns_of(columns))
        return self.bounded(text, keys("distinctness", columns, nulls), expected, **options)

    def has_unique_value_ratio(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **options: Unpack[Options]
    ) -> Self:
        """The number of keys that occur once divided by the number of distinct keys meets ``expected``."""
        text = call("has_unique_value_ratio", *columns_of(columns))
        return self.bounded(text, keys("unique_value_ratio", columns, nulls), expected, **options)

    def has_count_distinct(
        self, columns: str | Sequence[str], expected: Expected, *, nulls: Nulls = "skip", **options: Unpack[Options]
    ) -> Self:
        """The number of distinct keys meets ``expected``."""
        text = call("has_count_distinct", *columns_of(columns))
        return self.bounded(text, keys("count_distinct", columns, nulls), expected, **options)

    def has_approx_count_distinct(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The number of distinct values but null, by a sketch with a standard error of 1.6 %, meets ``expected``."""
        text = call("has_approx_count_distinct", column)
        return self.bounded(text, metric("approx_count_distinct", column), expected, **options)

    def is_primary_key(self, *columns: str, hint: str = "", where: str | None = None) -> Self:
        """No row has a null in its key, and no two rows have the same key. UnableToAssert: no column is named."""
        key = [named(column) for column in columns]
        there = [f"coalesce(completeness({column}), 1) = 1" for column in key]  # of no row nothing is missing
        text = " and ".join([*there, f"coalesce(uniqueness({', '.join(key)}), 1) = 1"])
        return self.holds(text, name=call("is_primary_key", *columns), hint=hint, where=where)

    def refers_to(
        self,
        columns: str | Sequence[str],
        dataset: str,
        expected: Expected = ALL,
        *,
        to: str | Sequence[str] | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """The share of the keys without a null that another dataset has too, from 0 to 1, meets ``expected``.

        ``Verification.with_table`` gives the dataset its name; ``to`` are its columns, else those of the same names.
        """
        local, remote = columns_of(columns), columns_of(to or columns)
        spec = metric("referential_integrity", *local, arguments=(dataset,))
        if local != remote:
            spec = replace(spec, options=(("to", ",".join(map(named, remote))),))
        return self._rows(call("refers_to", *local, dataset), spec, expected, **options)

    # Statistics of one column or of two; nulls are left out. Without any value a statistic is an error, no success.

    def has_min(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The least value of a column of numbers meets ``expected``."""
        return self.bounded(call("has_min", column), metric("min", column), expected, **options)

    def has_max(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The greatest value of a column of numbers meets ``expected``."""
        return self.bounded(call("has_max", column), metric("max", column), expected, **options)

    def has_mean(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The mean of a column of numbers meets ``expected``."""
        return self.bounded(call("has_mean", column), metric("mean", column), expected, **options)

    def has_sum(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The sum of a column of numbers meets ``expected``. Whole numbers and decimals keep every digit."""
        return self.bounded(call("has_sum", column), metric("sum", column), expected, **options)

    def has_standard_deviation(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The standard deviation of a column of numbers, of the population (divided by n), meets ``expected``."""
        return self.bounded(call("has_standard_deviation", column), metric("stddev", column), expected, **options)

    def has_quantile(self, column: str, q: float, expected: Expected, **options: Unpack[Options]) -> Self:
        """The exact quantile of a column of numbers, linear between neighbours as in numpy, meets ``expected``."""
        spec = metric("quantile", column, arguments=(q,))
        return self.bounded(call("has_quantile", column, q), spec, expected, **options)

    def has_approx_quantile(self, column: str, q: float, expected: Expected, **options: Unpack[Options]) -> Self:
        """A quantile of a column of numbers, by a sketch whose rank is within 0.7 % of ``q``, meets ``expected``."""
        spec = metric("approx_quantile", column, arguments=(q,))
        return self.bounded(call("has_approx_quantile", column, q), spec, expected, **options)

    def has_entropy(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The entropy of the values of a column of any type, in nats, meets ``expected``."""
        return self.bounded(call("has_entropy", column), metric("entropy", column), expected, **options)

    def has_mutual_information(self, a: str, b: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The mutual information of two columns of any type, in nats, meets ``expected``."""
        spec = metric("mutual_information", a, b)
        return self.bounded(call("has_mutual_information", a, b), spec, expected, **options)

    def has_correlation(self, a: str, b: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """Pearson's correlation of two columns of numbers, from -1 to 1, meets ``expected``."""
        return self.bounded(call("has_correlation", a, b), metric("correlation", a, b), expected, **options)

    def has_ratio_of(self, column: str, value: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The share of the rows that have one value, written as a text also of other types, meets ``expected``."""
        spec = metric("ratio_of", column, arguments=(value,))
        return self.bounded(call("has_ratio_of", column, value), spec, expected, **options)

    def has_histogram_values(self, column: str, holds: Holds, *, hint: str = "", where: str | None = None) -> Self:
        """Your own function of the ``Histogram`` of a column of any type holds. Where it raises, that is an error."""
        text, bound = call("has_histogram_values", column), Bound(f"meets {function_name(holds)}", holds)
        spec = replace(metric("histogram", column), where=both(self.where, where))
        return self.adding(HistogramConstraint(text=text, spec=spec, bound=bound, hint=hint))

    def has_predictability(
        self,
        column: str,
        inputs: str | Sequence[str],
        expected: Expected,
        *,
        score: str = "f1",
        **options: Unpack[Options],
    ) -> Self:
        """A model predicts a column of any type from others, and its score, from 0 to 1, meets ``expected``.

        Naive Bayes over the words of the inputs learns from four fifths of the rows, by their hashes, and is scored on
        the others: ``"f1"``, ``"precision"`` or ``"recall"``, each as the mean of the classes.
        """
        names = columns_of(inputs)
        spec = replace(metric("predictability", column, *names), options=(("score", score),))
        return self.bounded(call("has_predictability", column, *names), spec, expected, **options)

    # Texts; nulls are left out. Patterns and lengths want a column of texts, types one of any type.

    def has_pattern(self, column: str, pattern: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the values in which a pattern is found, from 0 to 1, meets ``expected``.

        A pattern is a regular expression of Java, found anywhere in the text, or the name of one, such as ``"email"``
        ([what they find](verification.md#what-the-patterns-find)).
        """
        spec = metric("pattern_match", column, arguments=(pattern,))
        return self._rows(call("has_pattern", column, pattern), spec, expected, **options)

    def contains_email(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the values in which an e-mail address is found meets ``expected``; 0: there must be none."""
        return self._pattern("contains_email", column, expected, **options)

    def contains_url(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the values in which an address of the web is found meets ``expected``."""
        return self._pattern("contains_url", column, expected, **options)

    def contains_credit_card_number(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the values in which a credit card number, by its check digit, is found meets ``expected``."""
        return self._pattern("contains_credit_card_number", column, expected, **options)

    def contains_social_security_number(
        self, column: str, expected: Expected = ALL, **options: Unpack[Options]
    ) -> Self:
        """The share of the values in which a social security number of the USA is found meets ``expected``."""
        return self._pattern("contains_social_security_number", column, expected, **options)

    def has_min_length(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The length of the shortest text, in characters, meets ``expected``."""
        return self.bounded(call("has_min_length", column), metric("min_length", column), expected, **options)

    def has_max_length(self, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        """The length of the longest text, in characters, meets ``expected``."""
        return self.bounded(call("has_max_length", column), metric("max_length", column), expected, **options)

    def has_consistent_type(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The largest share of the values that read as integral, fractional, boolean or text meets ``expected``."""
        return self._rows(call("has_consistent_type", column), metric("consistent_type", column), expected, **options)

    def has_data_type(self, column: str, type_: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the values that read as one type, from 0 to 1, meets ``expected``.

        The types are ``"integral"``, ``"fractional"``, ``"numeric"`` (either of these), ``"boolean"`` and ``"text"``.
        """
        if type_ not in TYPES:
            raise ValueError(f"{type_!r} is no type of values: take one of {', '.join(TYPES)}")
        text, spec = call("has_data_type", column, type_), metric("consistent_type", column)
        return self.bounded(text, spec, expected, of_rows=True, reads=partial(type_share, type_), **options)

    # Conditions on single rows: ``expected`` bounds the share of the rows that meet one. A null breaks none of them but
    # ``satisfies``; ``is_complete`` asks for values. Where there is no row to judge, the status is ``success``.

    def satisfies(
        self, condition: str, expected: Expected = ALL, *, name: str = "", **options: Unpack[Options]
    ) -> Self:
        """The share of the rows that meet a condition of Spark SQL meets ``expected``. NULL does not meet it."""
        return self._rows(name or call("satisfies", condition), compliance(condition), expected, **options)

    def satisfies_if(
        self, premise: str, conclusion: str, expected: Expected = ALL, *, name: str = "", **options: Unpack[Options]
    ) -> Self:
        """Of the rows that meet a premise, the share that meets a conclusion meets ``expected``; both in Spark SQL."""
        spec = metric("satisfies_if", arguments=(premise, conclusion))
        return self._rows(name or call("satisfies_if", premise, conclusion), spec, expected, **options)

    def is_in_range(
        self, column: str, allowed: Sequence[Scalar], expected: Expected = ALL, **options: Unpack[Options]
    ) -> Self:
        """The share of the rows whose value lies from the first of two numbers to the second meets ``expected``.

        Anything else than two numbers is the list of the allowed values, as for ``is_contained_in``.
        """
        match tuple(allowed):
            case (int() | float() as low, int() | float() as high):
                spec = metric("in_range", column, arguments=(low, high))
            case _:
                spec = compliance(membership_condition(column, allowed))
        return self._rows(call("is_in_range", column, listed(allowed)), spec, expected, **options)

    def is_contained_in(
        self, column: str, values: Sequence[Scalar], expected: Expected = ALL, **options: Unpack[Options]
    ) -> Self:
        """The share of the rows whose value is one of those listed meets ``expected``.

        ValueError: there is none. TypeError: one is no text, number, boolean or date.
        """
        spec = compliance(membership_condition(column, values))
        return self._rows(call("is_contained_in", column, listed(values)), spec, expected, **options)

    def is_non_negative(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the rows whose number is 0 or above meets ``expected``. A NaN is not."""
        return self._rows(call("is_non_negative", column), metric("non_negative", column), expected, **options)

    def is_positive(self, column: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """The share of the rows whose number is above 0 meets ``expected``. A NaN is not."""
        return self._rows(call("is_positive", column), metric("positive", column), expected, **options)

    def is_less_than(self, a: str, b: str, expected: Expected = ALL, **options: Unpack[Options]) -> Self:
        """Of the rows in which neither number is null, the share in which the first is less meets ``expected``."""
        return self._rows(call("is_less_than", a, b), metric("less_than", a, b), expected, **options)

    def holds(self, assertion: str, *, name: str = "", hint: str = "", where: str | None = None) -> Self:
        """An assertion of [the language](language.md) holds: several metrics, arithmetic, groups, history, datasets.

        UnableToAssert: the text is no assertion, or needs the catalog, such as ``freshness()``.
        """
        return self.adding(assertion_constraint(assertion, name=name, hint=hint, where=both(self.where, where)))

    # Against the past, in the repository that ``Verification.use_repository`` names.

    def has_no_anomalies(self, of: MetricSpec, strategy: Strategy, *, hint: str = "", where: str | None = None) -> Self:
        """The value of a metric, ``SIZE`` or ``metric("mean", "fare")``, lies where the strategy expects it.

        The status is ``learning`` while there are fewer earlier values than the strategy needs, and ``error`` where
        there is no repository.
        """
        spec = replace(of, where=both(self.where, both(of.where, where)))
        return self.adding(AnomalyConstraint(spec=spec, strategy=strategy, hint=hint))

    def _rows(self, text: str, spec: MetricSpec, expected: Expected, **options: Unpack[Options]) -> Self:
        return self.bounded(text, spec, expected, of_rows=True, **options)

    def _pattern(self, name: str, column: str, expected: Expected, **options: Unpack[Options]) -> Self:
        spec = metric("pattern_match", column, arguments=(name,))
        return self._rows(call(name, column), spec, expected, **options)


def call(name: str, *arguments: object) -> str:
    """A constraint as its user wrote it; columns without quotes, as they were given."""
    return f"{name}({', '.join(map(str, arguments))})"


def listed(values: Sequence[object]) -> str:
    """``('hi', 'lo')``."""
    return f"({', '.join(quoted(value) if isinstance(value, str) else str(value) for value in values)})"


def columns_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One column or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def keys(name: str, columns: str | Sequence[str], nulls: Nulls) -> MetricSpec:
    """A metric of how often keys occur; ValueError for an unknown way to take nulls."""
    if nulls not in get_args(Nulls):
        raise ValueError(f"nulls={nulls!r} is no way to take a null in a key: write 'skip' or 'keep'")
    spec = metric(name, *columns_of(columns))
    return spec if nulls == "skip" else replace(spec, options=(("nulls", nulls),))


def type_share(type_: str, measured: Measured) -> float | None:
    """The share of the values that read as one type; None where there are none."""
    counts = measured.detail.get("types", {})
    total = sum(counts.values())
    return sum(counts[name] for name in TYPES[type_]) / total if total else None


# Conditions of Spark SQL, written from columns and Python's values.


def compliance(condition: str) -> MetricSpec:
    return metric("compliance", arguments=(condition,))


def none_null(columns: Sequence[str]) -> str:
    """The condition that every column has a value; ``a.b`` is the field b of a struct."""
    return " and ".join(f"{in_sql(named(column))} is not null" for column in columns)


def membership_condition(column: str, values: Sequence[Scalar]) -> str:
    """The condition that the column is null or has one of ``values``; ValueError if ``values`` is empty."""
    if not values:
        raise ValueError(f"no value is allowed for {column}: name those that it may have, such as ['open', 'closed']")
    name = in_sql(named(column))
    return f"{name} is null or {name} in ({', '.join(map(constant, values))})"


def constant(value: Scalar) -> str:
    """The value as a literal; TypeError for what SQL has no literal of."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return literal(value)
        case int() | float() | Decimal():
            return str(value)
        case datetime():
            return f"timestamp '{value.isoformat(sep=' ')}'"
        case date():
            return f"date '{value.isoformat()}'"
    raise TypeError(f"{value!r} is no text, number, truth or date: write the condition with satisfies(…)")
