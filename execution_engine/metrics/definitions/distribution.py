"""``entropy mutual_information most_frequent_share``: the distribution of the values that are not null."""

from execution_engine.metrics.definition import Grouping, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.summary import Summary


def _entropy(spec: MetricSpec, of: tuple[Summary, ...]) -> float | None:
    return of[0].entropy


def _mutual_information(spec: MetricSpec, of: tuple[Summary, ...]) -> float | None:
    """H(a) + H(b) - H(a, b); rounding may make it a trifle less than 0, which it never is."""
    first, second, both = (summary.entropy for summary in of)
    return None if first is None or second is None or both is None else max(0.0, first + second - both)


def _pair(spec: MetricSpec) -> tuple[Grouping, ...]:
    a, b = spec.columns
    return tuple(Grouping(columns=columns, present=(a, b)) for columns in ((a,), (b,), (a, b)))


ENTROPY = MetricDefinition(
    signature=Signature(name="entropy", min_columns=1, max_columns=1),
    kind=Kind.GROUPING,
    formula="-Σ c(v)/N ln(c(v)/N), in nats, N the rows that are not null",
    source="Schelter et al. 2018, Table 2: Entropy; natural logarithm as in Deequ",
    meaning="how evenly the values are spread",
    dimension=Dimension.ACCURACY,
    groupings=lambda spec: (Grouping(columns=spec.columns),),
    from_summaries=_entropy,
)
MUTUAL_INFORMATION = MetricDefinition(
    signature=Signature(name="mutual_information", min_columns=2, max_columns=2),
    kind=Kind.GROUPING,
    formula="Σ c(a,b)/N ln(N c(a,b) / (c(a) c(b))), in nats, over the N rows where neither is null",
    source="Schelter et al. 2018, Table 2: MutualInformation; natural logarithm as in Deequ",
    meaning="how much two columns tell of each other",
    dimension=Dimension.ACCURACY,
    groupings=_pair,
    from_summaries=_mutual_information,
)
MOST_FREQUENT_SHARE = MetricDefinition(
    signature=Signature(name="most_frequent_share", min_columns=1, max_columns=1),
    kind=Kind.GROUPING,
    formula="max c(v) / N, N the rows that are not null",
    source="Redyuk et al. 2021: ratio of the most frequent value",
    meaning="the share of the most frequent value",
    dimension=Dimension.ACCURACY,
    groupings=lambda spec: (Grouping(columns=spec.columns),),
    from_summaries=lambda spec, of: of[0].most / of[0].rows if of[0].rows else None,
)
