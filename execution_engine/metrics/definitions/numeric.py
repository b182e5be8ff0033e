"""Metrics of columns of numbers: extremes, means, quantiles, correlation, lengths of texts, ages of times."""

from collections.abc import Mapping
from math import copysign, isnan, sqrt
from typing import Any

from execution_engine.metrics.definition import (
    NOTE,
    ArgumentType,
    ColumnKind,
    Dimension,
    FromStatistics,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    Statistics,
    ValueType,
    text_noop,
)
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic

ONE_ROUNDED = 1 + 1e-9  # what is above 1, and less than this, is 1 but for the last digits of its sums

# ``min max mean sum stddev`` of a column of numbers, nulls left out; NULL where nothing is left, as in SQL.


def _gathers(*gathers: Gather) -> Statistics:
    """Of a column as it is stored where that serves: counting then shares its count with completeness."""

    def statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
        column = spec.columns[0]
        written = {Gather.COUNT: write.column, Gather.MOMENTS: write.number}  # deviations are those of doubles
        return {
            gather.value: Statistic(
                gather=Gather.LONG_SUM if gather is Gather.SUM and write.is_long(column) else gather,
                of=(written.get(gather, write.exact)(column),),
                column=column,
            )
            for gather in gathers
        }

    return statistics


def _of_a_number(
    name: str, statistics: Statistics, value: FromStatistics, dimension: Dimension, **fields: Any
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC),
        kind=MetricKind.AGGREGATE,
        tells_values=True,
        source=f"Schelter et al. 2018, Table 2; SQL's {name}",
        dimension=dimension,
        statistics=statistics,
        value=value,
        **fields,
    )


MIN = _of_a_number(
    "min",
    # of floats the greatest too: that is NaN, in Spark's order, where there is one
    lambda spec, write: _gathers(Gather.MIN, *([Gather.MAX] if write.no_nan(spec.columns[0]) != "true" else []))(
        spec, write
    ),
    # NaN where there is one, as for every other statistic of the column
    lambda spec, values: max(values.values(), key=isnan) if None not in values.values() else None,
    Dimension.VALIDITY,
    formula="min d(column)",
    meaning="the least value",
    phrase=MetricPhrase(noun=text_noop("the least %(columns)s")),
)
MAX = _of_a_number(
    "max",
    _gathers(Gather.MAX),
    lambda spec, values: values["max"],
    Dimension.VALIDITY,
    formula="max d(column)",
    meaning="the greatest value",
    phrase=MetricPhrase(noun=text_noop("the greatest %(columns)s")),
)
SUM = _of_a_number(
    "sum",
    _gathers(Gather.SUM),
    lambda spec, values: values["sum"],
    Dimension.ACCURACY,
    formula="Σ d(column)",
    meaning="the sum of the values",
    phrase=MetricPhrase(noun=text_noop("the sum of %(columns)s")),
    adds_up=True,
)
MEAN = _of_a_number(
    "mean",
    _gathers(Gather.SUM, Gather.COUNT),
    lambda spec, values: float(values["sum"] / values["count"]) if values["count"] else None,
    Dimension.ACCURACY,
    formula="Σ d(column) / |{d : d(column) ≠ null}|",
    meaning="the mean of the values",
    phrase=MetricPhrase(noun=text_noop("the mean of %(columns)s")),
)
STDDEV = _of_a_number(
    "stddev",
    _gathers(Gather.MOMENTS),
    # in this order NaN stays what it is
    lambda spec, values: sqrt(max(moments[2], 0.0) / moments[0]) if (moments := values["moments"]) else None,
    Dimension.ACCURACY,
    formula="√(Σ (d(column) - mean)² / |{d : d(column) ≠ null}|), of the population",
    meaning="the standard deviation of the values",
    phrase=MetricPhrase(noun=text_noop("the standard deviation of %(columns)s")),
    plain_sql=False,  # SQLite has no function for it
)


# ``quantile(column, q)``: the exact q-quantile, 0 <= q <= 1, linear between neighbours (numpy's default), and
# ``approx_quantile(column, q)``: a value whose rank is near, from a sketch that merges. Deequ: ApproxQuantile.


def quantile_of(sketch: bytes, share: float) -> float | None:
    """The estimated quantile: a value of the data whose rank is near ``share``; None of a KLL sketch of nothing."""
    from datasketches import kll_doubles_sketch  # with it numpy, and many a command only names metrics

    values = kll_doubles_sketch.deserialize(sketch)
    return None if values.is_empty() else values.get_quantile(share, inclusive=True)


def _quantile(name: str, **fields: Any) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(
            name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.NUMERIC, arguments=(ArgumentType.NUMBER,)
        ),
        tells_values=True,
        dimension=Dimension.ACCURACY,
        problem=lambda spec: (
            None
            if isinstance(share := spec.arguments[0], int | float) and 0 <= share <= 1
            else f"the quantile must lie between 0 and 1, not {share}"
        ),
        **fields,
    )


QUANTILE = _quantile(
    "quantile",
    kind=MetricKind.AGGREGATE,
    formula="x with rank 1 + q (n - 1) among the n values, linear between neighbours",
    source="numpy.quantile's default; Hyndman and Fan 1996, type 7",
    meaning="the value below which this share of the values lies",
    phrase=MetricPhrase(noun=text_noop("the %(literal)s quantile of %(columns)s")),
    statistics=lambda spec, write: {
        "quantile": Statistic(
            gather=Gather.PERCENTILE, of=(write.number(spec.columns[0]),), argument=float(spec.arguments[0])
        )
    },
    value=lambda spec, values: values["quantile"],
    plain_sql=False,
)
APPROX_QUANTILE = _quantile(
    "approx_quantile",
    kind=MetricKind.SKETCH,
    formula="a value whose rank share lies within 0.7 % of q, in 99 % of cases",
    source="Schelter et al. 2018, Table 2: ApproxQuantile; KLL sketch (Karnin, Lang, Liberty 2016)",
    meaning="about the value below which this share of the values lies",
    phrase=MetricPhrase(noun=text_noop("about the %(literal)s quantile of %(columns)s")),
    statistics=lambda spec, write: {"kll": Statistic(gather=Gather.KLL, of=(write.number(spec.columns[0]),))},
    value=lambda spec, values: None if values["kll"] is None else quantile_of(values["kll"], float(spec.arguments[0])),
)


# ``correlation(a, b)``: Pearson's correlation of the rows where both are there. Deequ: Correlation.


def _correlation(spec: MetricSpec, values: Mapping[str, Any]) -> float | None:
    """None where a column does not vary: SQL's corr and numpy's agree that nothing can be said. NaN stays NaN."""
    if values["comoments"] is None:
        return None
    _, _, _, xx, yy, xy = values["comoments"]
    if xx <= 0 or yy <= 0:
        return None
    ratio: float = xy / sqrt(xx) / sqrt(yy)
    return copysign(1.0, ratio) if 1 < abs(ratio) < ONE_ROUNDED else ratio


def _constant_columns(spec: MetricSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    squares = values["comoments"][3:5] if values["comoments"] is not None else (1, 1)
    constant = [name for name, square in zip(spec.columns, squares, strict=True) if square <= 0]
    note = f"the column {' and the column '.join(constant)} is constant: correlation is not defined"
    return {NOTE: note} if constant else {}


CORRELATION = MetricDefinition(
    signature=Signature(name="correlation", min_columns=2, max_columns=2, column_kind=ColumnKind.NUMERIC),
    kind=MetricKind.AGGREGATE,
    formula="Σ (a - ā)(b - b̄) / √(Σ (a - ā)² Σ (b - b̄)²)",
    source="Schelter et al. 2018, Table 2: Correlation; Pearson's r",
    meaning="how far two columns rise and fall together, from -1 to 1",
    phrase=MetricPhrase(noun=text_noop("the correlation of %(first)s and %(second)s")),
    dimension=Dimension.ACCURACY,
    statistics=lambda spec, write: {
        "comoments": Statistic(gather=Gather.COMOMENTS, of=tuple(write.number(name) for name in spec.columns))
    },
    value=_correlation,
    detail=_constant_columns,
    plain_sql=False,
)


# ``min_length max_length`` of a column of texts, in characters. Deequ: MinLength, MaxLength.


def _length(name: str, gather: Gather, meaning: str, noun: str) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1, column_kind=ColumnKind.TEXT),
        kind=MetricKind.AGGREGATE,
        formula=f"{gather.value} |d(column)|, in characters",
        source=f"Deequ's {gather.value.title()}Length",
        meaning=meaning,
        phrase=MetricPhrase(noun=noun),
        dimension=Dimension.VALIDITY,
        statistics=lambda spec, write: {
            "length": Statistic(gather=gather, of=(f"char_length({write.column(spec.columns[0])})",))
        },
        value=lambda spec, values: None if values["length"] is None else float(values["length"]),
        plain_sql=False,
    )


MIN_LENGTH = _length(
    "min_length", Gather.MIN, "the length of the shortest text", text_noop("the length of the shortest %(columns)s")
)
MAX_LENGTH = _length(
    "max_length", Gather.MAX, "the length of the longest text", text_noop("the length of the longest %(columns)s")
)


# ``age(column, "instant")``: seconds from the newest value of a column of times to an instant given in SQL.
#
# The engine has no clock: the instant is the caller's, often a template: ``timestamp '{window.end:datetime}'``.


AGE = MetricDefinition(
    signature=Signature(
        name="age",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.TEMPORAL,
        arguments=(ArgumentType.SQL,),
        returns=ValueType.DURATION,
    ),
    kind=MetricKind.AGGREGATE,
    tells_values=True,
    formula="instant - max d(column); negative where a value lies behind the instant",
    source="Great Expectations and Soda: freshness of a column",
    meaning="how long ago the newest time in the column was: a length of time, such as 4h",
    phrase=MetricPhrase(noun=text_noop("the age of the newest %(columns)s")),
    dimension=Dimension.TIMELINESS,
    statistics=lambda spec, write: {
        "age": Statistic(
            gather=Gather.MIN,
            of=(
                f"(unix_micros(cast({write.condition(str(spec.arguments[0]))} as timestamp))"
                f" - unix_micros(cast({write.column(spec.columns[0])} as timestamp))) / 1e6",
            ),
        )
    },
    value=lambda spec, values: None if values["age"] is None else float(values["age"]),
    plain_sql=False,
)
