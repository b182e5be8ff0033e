"""docs/metrics.md from the registry. ``make docs`` writes it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from execution_engine.engines.column_types import expressions
from execution_engine.engines.gathering import plan
from execution_engine.engines.native.measure import drafted
from execution_engine.engines.native.reading import Stored
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.metrics.definition import SHARED, ArgumentType, ColumnKind, MetricDefinition
from execution_engine.metrics.registry import DEFINITIONS, GROUPABLE, METRICS
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.read_by import MEANINGS, FallbackKind

ROOT = Path(__file__).parents[4]
PATH = ROOT / "docs/metrics.md"
_ENGINES = "tests/integration/engines"
REFERENCES = f"{_ENGINES}/test_metrics_against_references.py"
FLIGHTS = f"{_ENGINES}/test_metrics_of_flights.py"
DETAIL = f"{_ENGINES}/test_metrics_with_detail.py"
PREDICTABILITY = f"{_ENGINES}/test_predictability.py"
HISTORY = "tests/unit/execution_engine/language/test_history.py"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A constraint or metric of the paper, and ours."""

    table: int
    theirs: str
    ours: tuple[str, ...]
    write: str
    proof: str = REFERENCES


def _row(table: int, theirs: str, write: str, proof: str = REFERENCES) -> Row:
    named = (part.split("(")[0].split()[-1] for part in write.replace("(", "( ").split(")") if "(" in part)
    return Row(
        table=table, theirs=theirs, write=write, ours=tuple(name for name in named if name in METRICS), proof=proof
    )


DEEQU: Sequence[Row] = (
    _row(1, "isComplete", "completeness(c) = 1"),
    _row(1, "hasCompleteness", "completeness(c) >= 0.99"),
    _row(1, "isUnique", "uniqueness(c, …) = 1"),
    _row(1, "hasUniqueness (unique value ratio)", "unique_value_ratio(c, …) >= 0.99"),
    _row(1, "hasDistinctness (unique row ratio)", "distinctness(c, …) >= 0.99"),
    _row(1, "isInRange", "in_range(c, 0, 9.5) = 1; compliance(\"c in ('hi', 'lo')\") = 1"),
    _row(1, "hasConsistentType", "consistent_type(c) >= 0.99"),
    _row(1, "isNonNegative", "non_negative(c) = 1"),
    _row(1, "isLessThan", "less_than(a, b) = 1"),
    _row(1, "satisfies", 'compliance("predicate") >= 0.99'),
    _row(1, "satisfiesIf", 'satisfies_if("premise", "conclusion") = 1'),
    _row(1, "hasPredictability", "predictability(target, input, …, score='precision') >= 0.99", PREDICTABILITY),
    _row(1, "hasSize", "row_count() > 0"),
    _row(1, "hasTypeConsistency", "consistent_type(c) >= 0.99"),
    _row(1, "hasCountDistinct", "count_distinct(c, …) = 12"),
    _row(1, "hasApproxCountDistinct", "approx_count_distinct(c) < 1000", FLIGHTS),
    _row(1, "hasMin", "min(c) >= 0"),
    _row(1, "hasMax", "max(c) <= 100"),
    _row(1, "hasMean", "mean(c) between 9 and 11"),
    _row(1, "hasStandardDeviation", "stddev(c) < 3"),
    _row(1, "hasApproxQuantile", "approx_quantile(c, 0.99) < 60; quantile(c, 0.99) < 60", FLIGHTS),
    _row(1, "hasEntropy", "entropy(c) > 1"),
    _row(1, "hasMutualInformation", "mutual_information(a, b) > 0.5"),
    _row(1, "hasHistogramValues", "ratio_of(c, 'phone') <= 0.4; histogram(c) = 3", DETAIL),
    _row(1, "hasCorrelation", "correlation(a, b) > 0.9"),
    _row(
        1,
        "hasNoAnomalies",
        "abs(row_count() - mean(row_count(), last=28)) <= 3 * stddev(row_count(), last=28)",
        HISTORY,
    ),
    _row(2, "Completeness", "completeness(c)"),
    _row(2, "Size", "row_count()"),
    _row(2, "Compliance", 'compliance("predicate")'),
    _row(2, "Uniqueness", "unique_value_ratio(c, …)"),
    _row(2, "Distinctness", "distinctness(c, …)"),
    _row(2, "ValueRange", "in_range(c, low, high)"),
    _row(2, "DataType", "consistent_type(c)"),
    _row(2, "Predictability", "predictability(target, input, …)", PREDICTABILITY),
    _row(2, "Minimum", "min(c)"),
    _row(2, "Maximum", "max(c)"),
    _row(2, "Mean", "mean(c)"),
    _row(2, "StandardDeviation", "stddev(c)"),
    _row(2, "CountDistinct", "count_distinct(c, …)"),
    _row(2, "ApproxCountDistinct", "approx_count_distinct(c)", FLIGHTS),
    _row(2, "ApproxQuantile", "approx_quantile(c, q)", FLIGHTS),
    _row(2, "Correlation", "correlation(a, b)"),
    _row(2, "Entropy", "entropy(c)"),
    _row(2, "Histogram", "histogram(c), histogram(c, bins=20)", DETAIL),
    _row(2, "MutualInformation", "mutual_information(a, b)"),
)
OPENING = """# Metrics

This page is written from the registry: `make docs` writes it anew.

In the formulas, D is the set of rows and N their number, V is the set of the values of a column that are not null, and
c(v) is how often the value v occurs. If there are no rows, counts are 0 and all other metrics are NULL. An assertion
over a NULL is an error, neither held nor broken.

**A trap of names.** Schelter et al. (2018) and Deequ's library use the word *Uniqueness* for two things. The paper
means the values that occur once / all values; the library calls this *UniqueValueRatio*. The library's *Uniqueness* is
the rows whose value occurs once / all rows. Assay follows the library, so the paper's Uniqueness is
`unique_value_ratio` here. For the rows `a a b`, `unique_value_ratio` is 1/2, `uniqueness` is 1/3 and `distinctness` is
2/3. For a column without repetitions all three are 1.

**Numbers.** `min max sum query` keep every digit of whole numbers and decimals. A NaN counts as a value that is no
number. If one of the values is a NaN, `min max mean sum stddev correlation` are an error, because no bound fits a NaN.
A NaN breaks `non_negative positive in_range less_than`. Metrics that count values count a NaN as one value, equal to
every other NaN.

**Schemas.** `schema_drift()` counts the declared columns that are gone, and those whose type has no room for the
declared type ([what holds](standard-tests.md#when-a-schema-has-drifted)). `of='keys'` takes the columns of the primary
key and the partition key only, and `of='others'` takes all other columns. Where no catalog is read,
`declared='order_id bigint, note string'` gives the declared columns. `schema_match` wants exactly the types that it
names.

**Kinds.** All aggregates and sketches of a scan share one pass over the data. A grouping also reads the hash of each
key. A compound metric runs its own queries. A derived metric reads no data. A metric of the layout reads the keys of
the partitions.

**Dimensions.** Each metric tells of one of the six dimensions of quality, by which [scores](scores.md) are grouped.
"""


def page() -> str:
    """The page."""
    return "\n".join([OPENING, *_of_the_paper(), *_of_the_registry(), *_of_the_kernels(), *_of_the_readers()]) + "\n"


def _of_the_paper() -> Iterator[str]:
    titles = {1: "constraints for users", 2: "computable metrics"}
    for number, title in titles.items():
        yield f"## Table {number} of Schelter et al. 2018: {title}\n"
        yield "| theirs | ours | shown in |\n|---|---|---|"
        for row in DEEQU:
            if row.table == number:
                yield f"| {row.theirs} | `{_cell(row.write)}` | [{Path(row.proof).name}](../{row.proof}) |"
        yield ""


def _of_the_registry() -> Iterator[str]:
    yield "## Every metric\n"
    heads = ("metric", "what its value is", "dimension", "formula", "source", "kind", "columns", "merges", "by")
    yield f"| {' | '.join((*heads, 'outside the lake'))} |"
    yield f"|{'---|' * (len(heads) + 1)}"
    for metric in DEFINITIONS:
        marks = (metric.merges(example(metric)), metric.name in GROUPABLE, metric.portable)
        told = " | ".join("yes" if mark else "no" for mark in marks)
        said = (f"`{_call(metric)}`", metric.meaning, metric.dimension, metric.formula, metric.source, metric.kind)
        yield f"| {' | '.join(map(_cell, said))} | {_columns(metric)} | {told} |"


KERNELS = """
## What is read by kernels

Footers tell what they can. Kernels read the rest of whole files of parquet or ORC, as far as they know it; of files of
less than 32 MB all of it or nothing, as Spark gathers it in one job. What is left is Spark's SQL. Spark's tasks read
these files themselves and gather with numpy what surely means the same there ([why](decisions/0087-kernels.md)); so
does `assay verify` of small files of parquet, without Spark. Of ORC timestamps are left to Spark, as they mean what the
time zone of Java makes of them, and so are `char` and days before 15 October 1582.
Of the aggregates, sketches and groupings, plain calls of
these are left to Spark's own functions. Any metric is left to Spark where its `where=` or its condition holds more
than AND, OR, NOT, comparisons, BETWEEN, IN, IS NULL, LIKE, plain regular expressions, lengths of texts, casts of
values to texts as groups have them (below), and literals; and where its column is a list or a map, of nanoseconds, or
of other types in other files. A field of a struct is a column as any other, but not in ORC, Iceberg, Delta and tables
of Spark's catalog: what is asked of it there is left to Spark.
`quantile` is read of up to a million rows, by one task. Of the compound metrics kernels read
`histogram` and those of keys: `key_digest`, `bloom_filter`, `keys_found`, `sample` and `sample_found`, but for the
format `pybloom`, doubles that are no whole numbers, years beyond four digits, and more than 20 million rows, of which
they fill Bloom filters alone.
`ASSAY_SPARK_NATIVE=false` leaves everything to Spark.

Metrics `by` columns and histograms are read by kernels too.
The columns, and the values that a histogram counts, are texts, truths, whole numbers, decimals that Java surely writes
without an exponent, or dates and instants of years of four digits: how Java writes others as texts is left to Spark.
Left to Spark are quantiles and sketches of each group, and with them all aggregates by the same columns, as Spark
gathers these in one job; groupings `by` columns of more than 20 million rows, what many tasks would send of many
groups, and histograms of more than 100,000 values.

| metric | why it is left to Spark |
|---|---|"""


def _of_the_kernels() -> Iterator[str]:
    yield KERNELS
    for metric in DEFINITIONS:
        if metric.kind in SHARED and (why := _left_to_spark(metric)):
            yield f"| `{_call(metric)}` | {_cell(why)} |"


READERS = """
## Who read the values of a scan

Each scan keeps how many values footers, kernels and Spark have read. A value is a statistic or a grouping, which
several metrics may share: a mean is a sum and a count. A metric with queries of its own, or `by` columns, is one value.
Small files that a process reads with Arrow, without Spark, count as read by kernels. What a database answers, and what
was known before, is not counted. The editor of tests shows this of a table's last scan, `assay verify` of its own, and
[Prometheus](service.md#watching-the-service) the totals. Ten reasons are told one by one, the others together.

| kind of reason | what kept the kernels from the value |
|---|---|"""


def _of_the_readers() -> Iterator[str]:
    yield READERS
    for kind in FallbackKind:
        yield f"| `{kind}` | {MEANINGS[kind]} |"


def _left_to_spark(metric: MetricDefinition) -> str | None:
    """Why no kernel measures a plain call of it; None where one does."""
    arrow, spark = {
        ColumnKind.TEXT: (pa.string(), "string"),
        ColumnKind.TEMPORAL: (pa.timestamp("us", "UTC"), "timestamp"),
    }.get(metric.signature.column_kind, (pa.float64(), "double"))
    words: dict[ArgumentType, Literal] = {ArgumentType.NUMBER: 1, ArgumentType.TEXT: "a", ArgumentType.SQL: "c is null"}
    arguments = tuple(words[kind] for kind in metric.signature.arguments)
    columns = {name: Stored(spark=spark, arrow=arrow) for name in "cde"}
    spec = replace(example(metric), arguments=arguments)
    planned = plan([MeasurementRequest(key="one", spec=spec)], expressions(dict.fromkeys("cde", spark)))
    return next((each.why for each in drafted(columns, planned.statistic_requests, planned.keyed).left.values()), None)


def _call(metric: MetricDefinition) -> str:
    signature = metric.signature
    columns = ["c", "d", "e"][: signature.min_columns] + (["…"] if signature.max_columns is None else [])
    words = {
        ArgumentType.NUMBER: "1",
        ArgumentType.TEXT: "'…'",
        ArgumentType.SQL: '"…"',
        ArgumentType.QUERY: '"…"',
        ArgumentType.DATASET: "'dataset'",
    }
    arguments = [words[kind] for kind in signature.arguments]
    options = [f"{name}={words[kind]}" for name, kind in signature.options.items()]
    across = ["datacenter='…'"] if signature.needs_datacenter else []
    return f"{metric.name}({', '.join([*columns, *arguments, *options, *across])})"


def example(metric: MetricDefinition) -> MetricSpec:
    """A call of it."""
    columns = ("c", "d", "e")[: metric.signature.min_columns]
    arguments = tuple(1 if kind is ArgumentType.NUMBER else "…" for kind in metric.signature.arguments)
    return MetricSpec(name=metric.name, columns=columns, arguments=arguments)


def _columns(metric: MetricDefinition) -> str:
    if metric.signature.max_columns == 0:
        return "none"
    return "of any type" if metric.signature.column_kind is ColumnKind.ANY else metric.signature.column_kind.value


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PATH.write_text(page())
