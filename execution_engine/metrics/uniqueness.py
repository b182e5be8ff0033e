"""``distinct_count count_distinct uniqueness distinctness unique_value_ratio``: how often the keys of columns occur.

The paper calls Uniqueness what Deequ's library calls UniqueValueRatio; names here follow the library. Rows with a
null in one of the columns have no key, as in SQL's UNIQUE; only ``distinct_count`` takes a null as a value.
"""

from .definition import FromSummaries, Grouping, Kind, MetricDefinition
from .signature import Signature

_PAPER = "Schelter et al. 2018"


def _of_keys(
    name: str,
    value: FromSummaries,
    *,
    formula: str,
    source: str,
    max_columns: int | None = None,
    portable: bool = False,
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=None),
        kind=Kind.GROUPING,
        formula=formula,
        source=source,
        groupings=lambda spec: (Grouping(columns=spec.columns),),
        from_summaries=value,
        portable=portable,
    )


DISTINCT_COUNT = _of_keys(
    "distinct_count",
    lambda spec, of: float(of[0].distinct + of[0].distinct_with_nulls),
    formula="distinct rows of the columns, a null being a value like any other",
    source="SQL's SELECT DISTINCT",
    portable=True,
)
COUNT_DISTINCT = _of_keys(
    "count_distinct",
    lambda spec, of: float(of[0].distinct),
    formula="|V|",
    source=f"{_PAPER}, Table 2: CountDistinct; SQL's count(distinct …)",
)
UNIQUENESS = _of_keys(
    "uniqueness",
    lambda spec, of: of[0].single / of[0].rows if of[0].rows else None,
    formula="|{v ∈ V : c(v) = 1}| / |{d ∈ D : d(columns) ≠ null}|",
    source="Deequ's Uniqueness; the value of Listing 2 in Schelter et al. 2018",
)
DISTINCTNESS = _of_keys(
    "distinctness",
    lambda spec, of: of[0].distinct / of[0].rows if of[0].rows else None,
    formula="|V| / |{d ∈ D : d(columns) ≠ null}|",
    source=f"{_PAPER}, Table 2: Distinctness (unique row ratio)",
)
UNIQUE_VALUE_RATIO = _of_keys(
    "unique_value_ratio",
    lambda spec, of: of[0].single / of[0].distinct if of[0].distinct else None,
    formula="|{v ∈ V : c(v) = 1}| / |V|",
    source=f"{_PAPER}, Table 2: Uniqueness (unique value ratio); Deequ's UniqueValueRatio",
)
