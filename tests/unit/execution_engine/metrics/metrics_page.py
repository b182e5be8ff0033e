"""docs/metrics.md from the registry. ``python -m tests.unit.execution_engine.metrics.metrics_page`` writes it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from execution_engine.metrics.definition import MetricDefinition
from execution_engine.metrics.registry import DEFINITIONS, GROUPABLE, METRICS
from execution_engine.metrics.signature import ArgumentType, ColumnKind
from execution_engine.metrics.spec import MetricSpec

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

Written from the registry; `python -m tests.unit.execution_engine.metrics.metrics_page` writes it anew.

N is the number of rows D, V the set of the values of a column that are not null, c(v) how often v occurs. Over no rows
counts are 0 and other metrics NULL, which makes an assertion an error rather than held or broken.

**A trap of names.** What Schelter et al. (2018) call *Uniqueness*, the values that occur once / all values, is called
*UniqueValueRatio* in Deequ's library, whose *Uniqueness* is the rows whose value occurs once / all rows. Names here
follow the library: the paper's Uniqueness is `unique_value_ratio`. For the rows `a a b`, `unique_value_ratio` is 1/2,
`uniqueness` 1/3 and `distinctness` 2/3; for a column without repetitions all are 1.

**Numbers.** `min max sum query` keep every digit of whole numbers and decimals. A NaN is a value like others, but no
number: with one among its values `min max mean sum stddev correlation` are an error, as no bound fits them; it breaks
`non_negative positive in_range less_than`; and where values are counted it is there, and equal to other NaNs.

**Schemas.** `schema_drift()` counts the columns that the catalog declares and that are gone or of a type without room
for the declared one ([what holds](standard-tests.md#when-a-schema-has-drifted)); `of='keys'` takes those of the primary
and the partition key, `of='others'` the rest. `declared='order_id bigint, note string'` holds to these instead, where
no catalog is read. `schema_match` wants the very types that are named.

**Kinds.** Aggregates and sketches of one scan share one pass over the data; a grouping pulls the hash of each key
beside it; a compound has queries of its own; what is derived reads no data.
"""


def page() -> str:
    """The page."""
    return "\n".join([OPENING, *_of_the_paper(), *_of_the_registry()]) + "\n"


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
    yield "| metric | formula | source | kind | columns | merges | by | outside the lake |"
    yield "|---|---|---|---|---|---|---|---|"
    for metric in DEFINITIONS:
        marks = (metric.merges(example(metric)), metric.name in GROUPABLE, metric.portable)
        told = " | ".join("yes" if mark else "no" for mark in marks)
        text = (
            f"`{_call(metric)}` | {_cell(metric.formula)} | {_cell(metric.source)} | {metric.kind} | {_columns(metric)}"
        )
        yield f"| {text} | {told} |"


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
