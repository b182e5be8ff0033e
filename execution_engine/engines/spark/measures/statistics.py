"""Statistics as aggregate functions of Spark, and their results as values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from execution_engine.metrics.states import hll
from execution_engine.metrics.states.sketches import KLL_SIZE
from execution_engine.metrics.states.statistics import Gather, Statistic, Value

PIECE_BITS = 21  # three pieces of a 64-bit number: sums of each stay within 64 bits up to 2^41 rows


def aggregates(statistic: Statistic, where: str | None = None) -> list[str]:
    """The aggregate functions that give the statistic, over the rows that meet the SQL condition ``where``."""
    of = [expression if where is None else f"case when {where} then {expression} end" for expression in statistic.of]
    match statistic.gather:
        case Gather.MOMENTS:
            return [f"count({of[0]})", f"avg({of[0]})", f"var_pop({of[0]})"]
        case Gather.COMOMENTS:
            return _of_pairs(*of)
        case Gather.HLL:
            return [f"hll_sketch_agg({of[0]}, {hll.LOG2_BUCKETS})"]
        case Gather.KLL:
            return [f"kll_sketch_agg_double({of[0]}, {KLL_SIZE})"]
        case Gather.KEYS:
            return [f"collect_list({of[0]})"]
        case Gather.LONG_SUM:
            return [f"sum({piece})" for piece in _pieces(of[0])]
        case Gather.PERCENTILE:
            return [f"percentile({of[0]}, {statistic.argument!r}D)"]
    return [f"{statistic.gather.value}({of[0]})"]


def values(statistics: Sequence[Statistic], results: Sequence[Any]) -> list[Value]:
    """The values of the statistics from the results of their aggregates, one after the other."""
    waiting = iter(results)
    return [_value(statistic, waiting) for statistic in statistics]


def _pieces(number: str) -> list[str]:
    """High, middle and low bits: sums of decimals would be exact too, at several times the cost."""
    mask = (1 << PIECE_BITS) - 1
    return [
        f"shiftright({number}, {2 * PIECE_BITS})",
        f"(shiftright({number}, {PIECE_BITS}) & {mask})",
        f"({number} & {mask})",
    ]


def _of_pairs(x: str, y: str) -> list[str]:
    """Of the rows where both are there."""
    left, right = f"case when {y} is not null then {x} end", f"case when {x} is not null then {y} end"
    return [
        f"count(case when {x} is not null and {y} is not null then 1 end)",
        f"avg({left})",
        f"avg({right})",
        f"var_pop({left})",
        f"var_pop({right})",
        f"covar_pop({left}, {right})",
    ]


def _value(statistic: Statistic, results: Iterator[Any]) -> Value:
    match statistic.gather:
        case Gather.MOMENTS:
            count, mean, variance = next(results), next(results), next(results)
            return (count, mean, variance * count) if count else None
        case Gather.COMOMENTS:
            count, *rest = [next(results) for _ in range(6)]
            return (count, *rest[:2], *(each * count for each in rest[2:])) if count else None
        case Gather.HLL:
            sketch = next(results)
            return None if sketch is None else hll.canonical(bytes(sketch))
        case Gather.KLL:
            sketch = next(results)
            return None if sketch is None else bytes(sketch)
        case Gather.LONG_SUM:
            high, middle, low = [next(results) for _ in range(3)]
            return None if high is None else (high << 2 * PIECE_BITS) + (middle << PIECE_BITS) + low
        case Gather.MIN | Gather.MAX:
            found = next(results)
            return found + 0.0 if isinstance(found, float) else found  # of 0.0 and -0.0, which are equal, the first
        case Gather.KEYS:
            return np.array(next(results) or (), dtype=np.int64)
    return next(results)
