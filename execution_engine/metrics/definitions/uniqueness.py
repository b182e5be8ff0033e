"""Metrics of how often values and keys occur: distinct counts, uniqueness, entropy, histograms."""

from typing import Any

from execution_engine.metrics.definition import (
    DATABASE,
    LAKE,
    NOTE,
    ArgumentType,
    Dimension,
    FromSummaries,
    Grouping,
    Keys,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic, Summary

# ``distinct_count count_distinct uniqueness distinctness unique_value_ratio``: how often the keys of columns occur.
#
# The paper calls Uniqueness what Deequ's library calls UniqueValueRatio; names here follow the library. Rows with a
# null in one of the columns have no key, as in SQL's UNIQUE, and are skipped; ``nulls='keep'`` skips only those in
# which all columns are null, as Deequ does. ``distinct_count`` alone takes a null as a value always.

_PAPER = "Schelter et al. 2018"
KEEP = "keep"
NULLS = ("skip", KEEP)


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
    name: str, value: FromSummaries, *, skips: bool = True, counts: Keys | None = None, **fields: Any
) -> MetricDefinition:
    options = {"nulls": ArgumentType.TEXT} if skips else {}
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=None, options=options),
        kind=MetricKind.GROUPING,
        dimension=Dimension.UNIQUENESS,
        groupings=lambda spec: (Grouping(columns=spec.columns, partial=spec.option("nulls") == KEEP),),
        from_summaries=value,
        detail_of_keys=_skipped if skips else None,
        problem=lambda spec: (
            f"nulls is {nulls!r}, not one of {', '.join(NULLS)}"
            if skips and (nulls := spec.option("nulls", "skip")) not in NULLS
            else None
        ),
        taken_by={DATABASE: "execution_engine.engines.sql.engine:count_keys"},
        counts=counts,
        repeats_break=counts is not Keys.WHOLE,
        sums_bound=counts is not None,
        **fields,
    )


DISTINCT_COUNT = _of_keys(
    "distinct_count",
    lambda spec, of: float(of[0].distinct + of[0].distinct_with_nulls),
    formula="distinct rows of the columns, a null being a value like any other",
    source="SQL's SELECT DISTINCT",
    meaning="how many different keys there are, null being a value",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s, with none as one of them")),
    skips=False,
    counts=Keys.ALL,
)
COUNT_DISTINCT = _of_keys(
    "count_distinct",
    lambda spec, of: float(of[0].distinct),
    formula="|V|",
    source=f"{_PAPER}, Table 2: CountDistinct; SQL's count(distinct …)",
    meaning="how many different keys there are, without nulls",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s")),
    counts=Keys.WHOLE,
)
UNIQUENESS = _of_keys(
    "uniqueness",
    lambda spec, of: of[0].single / of[0].rows if of[0].rows else None,
    formula="|{v ∈ V : c(v) = 1}| / |{d ∈ D : d(columns) ≠ null}|",
    source="Deequ's Uniqueness; the value of Listing 2 in Schelter et al. 2018",
    meaning="the share of rows whose key occurs once",
    phrase=MetricPhrase(
        noun=text_noop("the share of rows whose %(columns)s is there once"),
        fault=(
            text_noop("%(share)s of %(columns)s were there more than once"),
            text_noop("%(share)s of %(columns)s are there more than once"),
        ),
    ),
)
DISTINCTNESS = _of_keys(
    "distinctness",
    lambda spec, of: of[0].distinct / of[0].rows if of[0].rows else None,
    formula="|V| / |{d ∈ D : d(columns) ≠ null}|",
    source=f"{_PAPER}, Table 2: Distinctness (unique row ratio)",
    meaning="different keys per row that has one",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s per row")),
)
UNIQUE_VALUE_RATIO = _of_keys(
    "unique_value_ratio",
    lambda spec, of: of[0].single / of[0].distinct if of[0].distinct else None,
    formula="|{v ∈ V : c(v) = 1}| / |V|",
    source=f"{_PAPER}, Table 2: Uniqueness (unique value ratio); Deequ's UniqueValueRatio",
    meaning="the share of different keys that occur once",
    phrase=MetricPhrase(
        noun=text_noop("the share of different %(columns)s that are there once"),
        fault=(
            text_noop("%(share)s of the different %(columns)s were there more than once"),
            text_noop("%(share)s of the different %(columns)s are there more than once"),
        ),
    ),
)


# ``approx_count_distinct(column)``: the distinct values that are not null, estimated. Deequ: ApproxCountDistinct.


def distinct_of(sketch: bytes) -> float:
    """The estimated number of distinct values, the same whoever wrote the HyperLogLog sketch."""
    from datasketches import hll_sketch  # with it numpy, and many a command only names metrics

    from execution_engine.metrics.states.hll import canonical

    return float(round(hll_sketch.deserialize(canonical(sketch)).get_estimate()))


APPROX_COUNT_DISTINCT = MetricDefinition(
    signature=Signature(name="approx_count_distinct", min_columns=1, max_columns=1),
    kind=MetricKind.SKETCH,
    formula="|V|, with a standard error of 1.6 %",
    source="Schelter et al. 2018, Table 2: ApproxCountDistinct; HyperLogLog of Apache DataSketches",
    meaning="about how many different values there are",
    phrase=MetricPhrase(noun=text_noop("about the number of different %(columns)s")),
    dimension=Dimension.UNIQUENESS,
    statistics=lambda spec, write: {"hll": Statistic(gather=Gather.HLL, of=(write.hashable(spec.columns[0]),))},
    value=lambda spec, values: 0.0 if values["hll"] is None else distinct_of(values["hll"]),
)


# ``entropy mutual_information most_frequent_share``: the distribution of the values that are not null.


def _mutual_information(spec: MetricSpec, of: tuple[Summary, ...]) -> float | None:
    """H(a) + H(b) - H(a, b); rounding may make it a trifle less than 0, which it never is."""
    first, second, both = (summary.entropy for summary in of)
    return None if first is None or second is None or both is None else max(0.0, first + second - both)


def _of_distribution(name: str, **fields: Any) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, min_columns=1, max_columns=1),
        kind=MetricKind.GROUPING,
        dimension=Dimension.ACCURACY,
        groupings=lambda spec: (Grouping(columns=spec.columns),),
        **fields,
    )


ENTROPY = _of_distribution(
    "entropy",
    formula="-Σ c(v)/N ln(c(v)/N), in nats, N the rows that are not null",
    source=f"{_PAPER}, Table 2: Entropy; natural logarithm as in Deequ",
    meaning="how evenly the values are spread",
    phrase=MetricPhrase(noun=text_noop("the spread (entropy) of %(columns)s")),
    from_summaries=lambda spec, of: of[0].entropy,
)
MUTUAL_INFORMATION = MetricDefinition(
    signature=Signature(name="mutual_information", min_columns=2, max_columns=2),
    kind=MetricKind.GROUPING,
    formula="Σ c(a,b)/N ln(N c(a,b) / (c(a) c(b))), in nats, over the N rows where neither is null",
    source=f"{_PAPER}, Table 2: MutualInformation; natural logarithm as in Deequ",
    meaning="how much two columns tell of each other",
    phrase=MetricPhrase(noun=text_noop("what %(first)s and %(second)s tell of each other")),
    dimension=Dimension.ACCURACY,
    groupings=lambda spec: tuple(
        Grouping(columns=columns, present=spec.columns)
        for columns in (spec.columns[:1], spec.columns[1:], spec.columns)
    ),
    from_summaries=_mutual_information,
)
MOST_FREQUENT_SHARE = _of_distribution(
    "most_frequent_share",
    formula="max c(v) / N, N the rows that are not null",
    source="Redyuk et al. 2021: ratio of the most frequent value",
    meaning="the share of the most frequent value",
    phrase=MetricPhrase(noun=text_noop("the share of the most frequent %(columns)s")),
    from_summaries=lambda spec, of: of[0].most / of[0].rows if of[0].rows else None,
)


# ``histogram(column)``: how many different values there are, the most frequent in the detail with their ratios.
#
# ``bins=20`` cuts the numbers of a column into as many bins of one width instead. Deequ: Histogram.

MOST_VALUES = 1000  # Deequ's default of maxDetailBins


def bins_of(spec: MetricSpec) -> int | None:
    """Into how many bins numbers are cut; None where each value is one."""
    bins = spec.option("bins")
    return None if bins is None else int(bins)


HISTOGRAM = MetricDefinition(
    signature=Signature(name="histogram", min_columns=1, max_columns=1, options={"bins": ArgumentType.NUMBER}),
    kind=MetricKind.COMPOUND,
    tells_values=True,
    formula=f"|V|, null being a value; its detail: c(v) and c(v) / N of the {MOST_VALUES:,} most frequent, or of bins",
    source="Schelter et al. 2018, Table 2: Histogram",
    meaning="how many different values there are, with how often each occurs",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s")),
    dimension=Dimension.ACCURACY,
    problem=lambda spec: (
        None
        if (bins := spec.option("bins")) is None or (isinstance(bins, int) and 1 <= bins <= MOST_VALUES)
        else f"bins= is a whole number from 1 to {MOST_VALUES}, not {bins}"
    ),
    taken_by={LAKE: "execution_engine.engines.spark.measures.frequencies:take_histogram"},
)
