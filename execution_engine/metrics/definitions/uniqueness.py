"""``distinct_count count_distinct uniqueness distinctness unique_value_ratio``: how often the keys of columns occur.

The paper calls Uniqueness what Deequ's library calls UniqueValueRatio; names here follow the library. Rows with a
null in one of the columns have no key, as in SQL's UNIQUE, and are skipped; ``nulls='keep'`` skips only those in which
all columns are null, as Deequ does. ``distinct_count`` alone takes a null as a value always.
"""

from typing import Any

from execution_engine.metrics.definition import DATABASE, NOTE, FromSummaries, Grouping, Keys, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.summary import Summary

_PAPER = "Schelter et al. 2018"
KEEP = "keep"
NULLS = ("skip", KEEP)


def _groupings(spec: MetricSpec) -> tuple[Grouping, ...]:
    return (Grouping(columns=spec.columns, partial=spec.option("nulls") == KEEP),)


def _problem(spec: MetricSpec) -> str | None:
    said = spec.option("nulls", "skip")
    return None if said in NULLS else f"nulls is {said!r}, not one of {', '.join(NULLS)}"


def _skipped(spec: MetricSpec, of: tuple[Summary, ...]) -> dict[str, Any]:
    """The rows that have no key, and why."""
    rows = of[0].rows_with_nulls
    if not rows:
        return {}
    counted = "1 row was" if rows == 1 else f"{rows:,} rows were"
    part = "each of" if spec.option("nulls") == KEEP else "one of"
    why = f"{spec.columns[0]} is null" if len(spec.columns) == 1 else f"{part} {', '.join(spec.columns)} is null"
    return {"skipped_rows": rows, NOTE: f"{counted} skipped, where {why}"}


def _of_keys(
    name: str,
    value: FromSummaries,
    *,
    formula: str,
    source: str,
    meaning: str,
    skips: bool = True,
    counts: Keys | None = None,
) -> MetricDefinition:
    options = {"nulls": ArgumentType.TEXT} if skips else {}
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=None, options=options),
        kind=Kind.GROUPING,
        formula=formula,
        source=source,
        meaning=meaning,
        dimension=Dimension.UNIQUENESS,
        groupings=_groupings,
        from_summaries=value,
        detail_of_keys=_skipped if skips else None,
        problem=_problem if skips else None,
        taken_by={DATABASE: "execution_engine.engines.sql.measure:count_keys"} if counts else {},
        counts=counts,
        repeats_break=counts is not Keys.WHOLE,
        sums_bound=counts is not None,
    )


DISTINCT_COUNT = _of_keys(
    "distinct_count",
    lambda spec, of: float(of[0].distinct + of[0].distinct_with_nulls),
    formula="distinct rows of the columns, a null being a value like any other",
    source="SQL's SELECT DISTINCT",
    meaning="how many different keys there are, null being a value",
    skips=False,
    counts=Keys.ALL,
)
COUNT_DISTINCT = _of_keys(
    "count_distinct",
    lambda spec, of: float(of[0].distinct),
    formula="|V|",
    source=f"{_PAPER}, Table 2: CountDistinct; SQL's count(distinct …)",
    meaning="how many different keys there are, without nulls",
    counts=Keys.WHOLE,
)
UNIQUENESS = _of_keys(
    "uniqueness",
    lambda spec, of: of[0].single / of[0].rows if of[0].rows else None,
    formula="|{v ∈ V : c(v) = 1}| / |{d ∈ D : d(columns) ≠ null}|",
    source="Deequ's Uniqueness; the value of Listing 2 in Schelter et al. 2018",
    meaning="the share of rows whose key occurs once",
)
DISTINCTNESS = _of_keys(
    "distinctness",
    lambda spec, of: of[0].distinct / of[0].rows if of[0].rows else None,
    formula="|V| / |{d ∈ D : d(columns) ≠ null}|",
    source=f"{_PAPER}, Table 2: Distinctness (unique row ratio)",
    meaning="different keys per row that has one",
)
UNIQUE_VALUE_RATIO = _of_keys(
    "unique_value_ratio",
    lambda spec, of: of[0].single / of[0].distinct if of[0].distinct else None,
    formula="|{v ∈ V : c(v) = 1}| / |V|",
    source=f"{_PAPER}, Table 2: Uniqueness (unique value ratio); Deequ's UniqueValueRatio",
    meaning="the share of different keys that occur once",
)
