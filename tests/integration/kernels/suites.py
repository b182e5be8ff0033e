"""Suites of metrics that a number draws, each what one scan is asked: all kinds that scans gather together."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from math import isfinite

from execution_engine.engines.column_types import column as quoted
from execution_engine.metrics.spec import Literal, MetricSpec

from .grammar import condition
from .tables import ROW, Drawn

Drawing = Callable[[random.Random, Drawn, str], MetricSpec | None]  # None: no column of the table fits
NUMBERS, TEXTS = ("exact", "double"), ("text",)
EVERY = (*NUMBERS, *TEXTS, "day", "instant", "local", "truth", "bytes")
PATTERNS = ("^a", "b$", "[^a]", r"\d+", "a|b", "^.*$", "(a|é)+", "email", "integer", "uuid", r"\w\W", "東", "x\ny")
SHARES = (0.0, 0.25, 0.3, 0.5, 0.99, 1.0)


def suite(draw: random.Random, drawn: Drawn) -> list[MetricSpec]:
    """Four to twelve metrics; about half of them under conditions, of which some are the same."""
    clauses = [None, *(condition(draw, drawn) for _ in range(draw.randint(1, 3)))]
    found: dict[str, MetricSpec] = {}
    for _ in range(draw.randint(4, 12)):
        name = draw.choice(OFTEN if draw.random() < 0.8 else NAMES)
        where = None if draw.random() < 0.4 else draw.choice([*clauses, condition(draw, drawn)])
        spec = _METRICS[name](draw, drawn, name)
        if spec is not None:
            spec = replace(spec, where=_finite(spec, drawn) if draw.random() < 0.3 else where)
            found[spec.text] = spec
    return list(found.values())


def _finite(spec: MetricSpec, drawn: Drawn) -> str | None:
    """That the floats it is of are neither NaN nor infinite, and no sum of them is; None of other columns."""
    floats = [quoted(name) for name in drawn.of("double") if name in spec.columns]
    return " and ".join(f"{name} between -1e6 and 1e6" for name in floats) or None


def _of(families: tuple[str, ...], least: int = 1, most: int = 1) -> Drawing:
    """Over columns of these families."""

    def drawing(draw: random.Random, drawn: Drawn, name: str) -> MetricSpec | None:
        fitting = [*drawn.of(*families), *([ROW] if "exact" in families and draw.random() < 0.1 else [])]
        if len(fitting) < least:
            return None
        some = draw.sample(fitting, draw.randint(least, min(most, len(fitting))))
        return MetricSpec(name=name, columns=tuple(some))

    return drawing


def _with(of: Drawing, arguments: Callable[[random.Random, Drawn, str], tuple[Literal, ...]]) -> Drawing:
    """With arguments, which are told the column."""

    def drawing(draw: random.Random, drawn: Drawn, name: str) -> MetricSpec | None:
        spec = of(draw, drawn, name)
        if spec is None:
            return None
        return MetricSpec(name=name, columns=spec.columns, arguments=arguments(draw, drawn, spec.columns[0]))

    return drawing


def _of_keys(draw: random.Random, drawn: Drawn, name: str) -> MetricSpec | None:
    spec = _of(EVERY, 1, 3)(draw, drawn, name)
    if spec is None or name == "distinct_count" or draw.random() < 0.7:
        return spec
    return MetricSpec(name=name, columns=spec.columns, options=(("nulls", draw.choice(["keep", "skip"])),))


def _of_conditions(count: int) -> Drawing:
    return lambda draw, drawn, name: MetricSpec(
        name=name, arguments=tuple(condition(draw, drawn, 2) for _ in range(count))
    )


def _range(draw: random.Random, drawn: Drawn, column: str) -> tuple[Literal, ...]:
    """Two of the column's own numbers, or others."""
    held = [float(one) for one in drawn.values.get(column, ()) if isinstance(one, int | float | Decimal)]
    some = [one for one in (*held, -3.05, 0.0, 1.0, 7.0, 2.0**53, 1e300) if isfinite(one)]
    low, high = sorted(draw.choice(some) for _ in range(2))
    return low, high


def _said(draw: random.Random, drawn: Drawn, column: str) -> tuple[Literal, ...]:
    """A value of the column as a text."""
    held = list(drawn.values.get(column) or ["a"])
    one = draw.choice(held)
    return (str(one).lower() if isinstance(one, bool) else str(one),)


_METRICS: Mapping[str, Drawing] = {
    "row_count": lambda draw, drawn, name: MetricSpec(name=name),
    "compliance": _of_conditions(1),
    "satisfies_if": _of_conditions(2),
    **{name: _of(EVERY) for name in ("completeness", "approx_count_distinct", "entropy", "most_frequent_share")},
    **{name: _of(NUMBERS) for name in ("min", "max", "sum", "mean", "stddev", "non_negative", "positive")},
    **{name: _of(TEXTS) for name in ("min_length", "max_length")},
    **dict.fromkeys(("distinct_count", "count_distinct", "uniqueness", "distinctness", "unique_value_ratio"), _of_keys),
    "quantile": _with(_of(NUMBERS), lambda draw, drawn, column: (draw.choice(SHARES),)),
    "approx_quantile": _with(_of(NUMBERS), lambda draw, drawn, column: (draw.choice(SHARES),)),
    "in_range": _with(_of(NUMBERS), _range),
    "ratio_of": _with(_of(EVERY), _said),
    "pattern_match": _with(_of(TEXTS), lambda draw, drawn, column: (draw.choice(PATTERNS),)),
    "consistent_type": _of(EVERY),
    "correlation": _of(NUMBERS, 2, 2),
    "less_than": _of(NUMBERS, 2, 2),
    "mutual_information": _of(EVERY, 2, 2),
    "age": _with(_of(("day", "instant")), lambda draw, drawn, column: ("timestamp '2026-01-01 00:00:00'",)),
}
NAMES = tuple(_METRICS)
OFTEN = (
    *("sum", "mean", "stddev", "min", "max", "compliance", "compliance", "completeness", "approx_count_distinct"),
    *("uniqueness", "count_distinct", "distinct_count", "row_count", "correlation", "quantile", "less_than"),
)
