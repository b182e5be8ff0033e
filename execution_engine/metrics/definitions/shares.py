"""Metrics that are a share of the rows, with what makes a row count for them."""

from collections.abc import Callable, Mapping
from typing import Any

from execution_engine.exact import decimal_of
from execution_engine.metrics.definition import (
    ArgumentType,
    ColumnKind,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic

Condition = Callable[[MetricSpec, Expressions], str]


def share_of_rows(
    signature: Signature, *, met: Condition, among: Condition | None = None, **fields: Any
) -> MetricDefinition:
    """The metric ``rows that meet a condition / rows``, or / rows ``among`` which it is asked; NULL without any.

    A row where the condition is NULL does not meet it. ``fields`` are those of the definition.
    """

    def statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
        condition = met(spec, write)
        if among is None:
            return {"met": count_of(write, condition), "rows": ROWS}
        base = among(spec, write)
        return {"met": count_of(write, f"({base}) and ({condition})"), "rows": count_of(write, base)}

    def breaks(spec: MetricSpec, write: Expressions) -> str:
        broken = f"not coalesce({met(spec, write)}, false)"
        return broken if among is None else f"({among(spec, write)}) and {broken}"

    return MetricDefinition(
        signature=signature, kind=MetricKind.AGGREGATE, statistics=statistics, value=share, breaks=breaks, **fields
    )


def count_of(write: Expressions, condition: str) -> Statistic:
    """How many rows meet the SQL condition."""
    return Statistic(gather=Gather.COUNT, of=(write.met(condition),))


def share(spec: MetricSpec, values: Mapping[str, Any]) -> float | None:
    """``met / rows``; None without rows."""
    return values["met"] / values["rows"] if values["rows"] else None


# ``compliance("condition")``: rows that meet the condition / rows; a NULL condition is not met. Deequ: Compliance.

COMPLIANCE = share_of_rows(
    Signature(name="compliance", arguments=(ArgumentType.SQL,)),
    met=lambda spec, write: write.condition(str(spec.arguments[0])),
    formula="|{d ∈ D : p(d)}| / N",
    source="Schelter et al. 2018, Table 2: Compliance",
    meaning="the share of rows that meet the condition",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows that are as %(test)s says"),
        fault=(
            text_noop("%(share)s of the rows were not as %(test)s says"),
            text_noop("%(share)s of the rows are not as %(test)s says"),
        ),
    ),
    dimension=Dimension.VALIDITY,
)


# ``satisfies_if("premise", "conclusion")``: of the rows that meet the first condition, those that meet the second.

SATISFIES_IF = share_of_rows(
    Signature(name="satisfies_if", arguments=(ArgumentType.SQL, ArgumentType.SQL)),
    among=lambda spec, write: write.condition(str(spec.arguments[0])),
    met=lambda spec, write: write.condition(str(spec.arguments[1])),
    formula="|{d ∈ D : p(d) ∧ q(d)}| / |{d ∈ D : p(d)}|",
    source="Schelter et al. 2018, Table 1: satisfiesIf",
    meaning="of the rows that meet the first condition, the share that meets the second",
    phrase=MetricPhrase(
        noun=text_noop("the share of those rows that are as %(test)s says"),
        fault=(
            text_noop("%(share)s of the rows in question were not as %(test)s says"),
            text_noop("%(share)s of the rows in question are not as %(test)s says"),
        ),
    ),
    dimension=Dimension.VALIDITY,
)


# ``less_than(a, b)``: of the rows where both are there, those in which the first is less than the second.


LESS_THAN = share_of_rows(
    Signature(name="less_than", min_columns=2, max_columns=2),
    among=lambda spec, write: " and ".join(f"{write.column(name)} is not null" for name in spec.columns),
    met=lambda spec, write: (  # a NaN is neither less nor greater than a number
        f"{' < '.join(write.column(name) + write.collation(name) for name in spec.columns)}"
        f" and {write.no_nan(spec.columns[1])}"
    ),
    formula="|{d ∈ D : d(a) < d(b)}| / |{d ∈ D : d(a), d(b) ≠ null}|",
    source="Schelter et al. 2018, Table 1: isLessThan",
    meaning="the share of rows in which the first column is less than the second",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows with less in %(first)s than in %(second)s"),
        fault=(
            text_noop("%(share)s of the values of %(first)s were not less than those of %(second)s"),
            text_noop("%(share)s of the values of %(first)s are not less than those of %(second)s"),
        ),
    ),
    dimension=Dimension.VALIDITY,
)


# ``non_negative(column) positive(column)``: rows whose number is 0 or above, or above 0; a null breaks neither.


def _compared(
    name: str, comparator: str, sign: str, *, source: str, meaning: str, phrase: MetricPhrase
) -> MetricDefinition:
    def met(spec: MetricSpec, write: Expressions) -> str:
        column = write.column(spec.columns[0])
        return f"{column} is null or ({column} {comparator} 0 and {write.no_nan(spec.columns[0])})"

    return share_of_rows(
        Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
        met=met,
        formula=f"|{{d ∈ D : d(column) {sign} 0 or null}}| / N; a NaN is no number",
        source=source,
        meaning=meaning,
        phrase=phrase,
        dimension=Dimension.VALIDITY,
    )


NON_NEGATIVE = _compared(
    "non_negative",
    ">=",
    "≥",
    source="Schelter et al. 2018, Table 1: isNonNegative",
    meaning="the share of rows without a negative value",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows without a negative %(columns)s"),
        fault=(text_noop("%(share)s of %(columns)s were negative"), text_noop("%(share)s of %(columns)s are negative")),
    ),
)
POSITIVE = _compared(
    "positive",
    ">",
    ">",
    source="Deequ's isPositive",
    meaning="the share of rows without a value of 0 or less",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows without a %(columns)s of 0 or less"),
        fault=(
            text_noop("%(share)s of %(columns)s were 0 or less"),
            text_noop("%(share)s of %(columns)s are 0 or less"),
        ),
    ),
)


# ``in_range(column, low, high)``: of the values that are there, those from ``low`` to ``high``, both included.

MOST_EXACT = 10**19  # beyond it no decimal of Spark's has room for the digits behind the point


def _within(spec: MetricSpec, write: Expressions) -> str:
    """Whole numbers and decimals are compared with every digit, others as doubles."""
    column = spec.columns[0]
    low, high = (decimal_of(float(bound) if isinstance(bound, str) else bound) for bound in spec.arguments)
    if (write.type_of(column) or "").startswith(("bigint", "decimal")) and max(abs(low), abs(high)) < MOST_EXACT:
        return f"{write.column(column)} between {low:f} and {high:f}"
    return f"{write.number(column)} between {float(low)!r} and {float(high)!r}"


IN_RANGE = share_of_rows(
    Signature(
        name="in_range",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.NUMERIC,
        arguments=(ArgumentType.NUMBER, ArgumentType.NUMBER),
    ),
    among=lambda spec, write: f"{write.column(spec.columns[0])} is not null",
    met=_within,
    formula="|{d ∈ D : low ≤ d(column) ≤ high}| / |{d ∈ D : d(column) ≠ null}|",
    source="Schelter et al. 2018, Table 1: hasValueRange; Table 2: ValueRange",
    meaning="the share of values between the two numbers",
    phrase=MetricPhrase(
        noun=text_noop("the share of %(columns)s between %(low)s and %(high)s"),
        fault=(
            text_noop("%(share)s of %(columns)s were not between %(low)s and %(high)s"),
            text_noop("%(share)s of %(columns)s are not between %(low)s and %(high)s"),
        ),
    ),
    dimension=Dimension.VALIDITY,
    problem=lambda spec: (
        f"the range is empty, as {low:g} > {high:g}; write the lower bound first"
        if not (low := float(spec.arguments[0])) <= (high := float(spec.arguments[1]))
        else None
    ),
)


# ``ratio_of(column, 'value')``: rows with that one value / rows. Deequ: the ratio of a bin of its Histogram.
#
# Compared as text, so that one signature serves every type; the text is as ``histogram`` writes it.

RATIO_OF = share_of_rows(
    Signature(name="ratio_of", min_columns=1, max_columns=1, arguments=(ArgumentType.TEXT,)),
    met=lambda spec, write: f"cast({write.column(spec.columns[0])} as string) = {write.text(str(spec.arguments[0]))}",
    formula="c(value) / N",
    source="Schelter et al. 2018, Table 1: hasHistogramValues, and Listing 1's ratio",
    meaning="the share of rows that have this value",
    phrase=MetricPhrase(noun=text_noop("the share of %(literal)s in %(columns)s")),
    dimension=Dimension.ACCURACY,
    plain_sql=False,
)


# ``completeness(column)``: rows whose value is not null / rows. Deequ: Completeness.

COMPLETENESS = MetricDefinition(
    signature=Signature(name="completeness", min_columns=1, max_columns=1),
    kind=MetricKind.AGGREGATE,
    formula="|{d ∈ D : d(column) ≠ null}| / N",
    source="Schelter et al. 2018, Table 2: Completeness",
    meaning="the share of rows that have a value",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows with %(columns)s"),
        fault=(text_noop("%(share)s of %(columns)s were empty"), text_noop("%(share)s of %(columns)s are empty")),
    ),
    dimension=Dimension.COMPLETENESS,
    statistics=lambda spec, write: {
        "met": Statistic(gather=Gather.COUNT, of=(write.column(spec.columns[0]),), column=spec.columns[0]),
        "rows": ROWS,
    },
    value=share,
    breaks=lambda spec, write: f"{write.column(spec.columns[0])} is null",
)
