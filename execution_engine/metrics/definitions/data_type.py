"""``consistent_type(column)``: the largest share of the values that have the same type. Deequ: DataType.

The types are those that a text can be read as: ``integral fractional boolean text``; the measurement's detail counts
each, and names the narrowest that holds them all.
"""

from collections.abc import Mapping
from typing import Any

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic

from .shares import count_of

INTEGRAL = r"^[+-]?[0-9]+\z"  # $ would let a line break follow
FRACTIONAL = r"^[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+)\z"
BOOLEAN = r"^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\z"
TYPES = ("integral", "fractional", "boolean", "text")


def _statistics(spec: MetricSpec, write: Expressions) -> dict[str, Statistic]:
    text = f"cast({write.column(spec.columns[0])} as string)"
    patterns = {"integral": INTEGRAL, "fractional": FRACTIONAL, "boolean": BOOLEAN}
    counted = {name: count_of(write, f"{text} rlike {write.text(pattern)}") for name, pattern in patterns.items()}
    return counted | {"values": Statistic(gather=Gather.COUNT, of=(write.column(spec.columns[0]),))}


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    known = {name: found[name] for name in TYPES[:-1]}
    return known | {"text": found["values"] - sum(known.values())}


def _share(spec: MetricSpec, found: Mapping[str, Any]) -> float | None:
    return max(_counts(found).values()) / found["values"] if found["values"] else None


def _inferred(counts: Mapping[str, int]) -> str:
    present = {name for name, count in counts.items() if count}
    if present == {"integral", "fractional"}:
        return "fractional"
    return present.pop() if len(present) == 1 else "text" if present else "unknown"


def _detail(spec: MetricSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    counts = _counts(found)
    return {"inferred": _inferred(counts), "types": counts}


CONSISTENT_TYPE = MetricDefinition(
    signature=Signature(name="consistent_type", min_columns=1, max_columns=1),
    kind=Kind.AGGREGATE,
    formula="max over types t of |{d ∈ D : d(column) reads as t}| / |{d ∈ D : d(column) ≠ null}|",
    source="Schelter et al. 2018, Table 1: hasConsistentType; Table 2: DataType",
    meaning="the share of values that read as the most frequent type",
    dimension=Dimension.VALIDITY,
    statistics=_statistics,
    value=_share,
    detail=_detail,
    plain_sql=False,
)
