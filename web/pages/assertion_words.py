"""What an assertion reads, in words, and what may be written in one: for people who write it (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from execution_engine.language.tree import PROFILE, Assertion, By, History, HistoryFunction, Metric, metric_of, operands
from execution_engine.metrics.definition import ArgumentType, ColumnKind, Signature
from execution_engine.metrics.expressions import named
from execution_engine.metrics.registry import METRICS

EXAMPLES = {
    ArgumentType.NUMBER: "1",
    ArgumentType.TEXT: "'…'",
    ArgumentType.SQL: '"condition"',
    ArgumentType.QUERY: '"select …"',
    ArgumentType.DATASET: "'dataset'",
}
WORDS: Sequence[tuple[str, str, str]] = (
    ("anomaly", "anomaly(metric, last=60)", "how far the value is from what is expected; above 1: too far"),
    ("novelty", "novelty()", "how unlike the accepted windows before the rows are; above 1: novel"),
    ("last", "last(metric, last=7)", "the newest known value of the 7 windows before"),
    ("lag", "lag(metric, 7)", "the value 7 windows before"),
    ("median", "median(metric, last=7)", "the median of the 7 windows before"),
    ("abs", "abs(x)", "the number without its sign"),
    ("least", "least(x, y)", "the smallest of the numbers"),
    ("greatest", "greatest(x, y)", "the greatest of the numbers"),
    ("coalesce", "coalesce(x, y)", "the first that is not null"),
)


@dataclass(frozen=True, kw_only=True)
class Operand:
    """One thing that an assertion measures: its call, and what that is."""

    call: str
    said: str


def describe_operands(tree: Assertion) -> tuple[Operand, ...]:
    """What an assertion measures, in the order in which it is written."""
    return tuple(Operand(call=operand.text, said="; ".join(_describe(operand))) for operand in operands(tree))


def groups_of(tree: Assertion) -> tuple[str, ...]:
    """The columns by whose values it judges rows apart."""
    return tree.columns if isinstance(tree, By) else ()


def parts_of(message: str) -> list[tuple[bool, str]]:
    """A message about an assertion in parts: sentences, and drawings of a place, whose lines must not be broken."""
    groups = groupby(message.splitlines(), lambda line: line.startswith("  "))
    return [(is_drawing, "\n".join(lines)) for is_drawing, lines in groups]


def datasets_of(tree: Assertion) -> frozenset[str]:
    """The other datasets that it names as ``dataset=``."""
    return frozenset(metric.dataset for metric in map(metric_of, operands(tree)) if metric.dataset)


def _describe(operand: Metric | History) -> Iterator[str]:
    metric = metric_of(operand)
    if isinstance(operand, History):
        every = f", one step of {operand.every} apart" if operand.every else ""
        function = operand.function
        if function is HistoryFunction.LAG:
            yield f"the value {operand.last} windows before"
        else:
            word = "judged by" if function in (HistoryFunction.ANOMALY, HistoryFunction.NOVELTY) else f"{function} over"
            yield f"{word} the {operand.last} windows before this one{every}"
    if metric.spec.name != PROFILE:
        yield METRICS[metric.spec.name].meaning
    columns = ", ".join(metric.spec.columns)
    if columns:
        yield f"reads {'columns' if len(metric.spec.columns) > 1 else 'column'} {columns}"
    if metric.dataset:
        yield f"of {metric.dataset}"
    if metric.datacenter:
        yield f"compared with the datacenter {metric.datacenter}" if metric.spec.columns else f"in {metric.datacenter}"
    if metric.ago:
        yield f"as it was {metric.ago} before"


def call_of(signature: Signature) -> str:
    """How a metric is called: ``quantile(column, 1)``."""
    columns = ["column", "column2", "column3"][: signature.min_columns]
    more = ["…"] if signature.max_columns is None or signature.max_columns > signature.min_columns else []
    arguments = [EXAMPLES[kind] for kind in signature.arguments]
    options = [f"{name}={EXAMPLES[kind]}" for name, kind in signature.options.items()]
    across = ["datacenter='…'"] if signature.needs_datacenter else []
    return f"{signature.name}({', '.join([*columns, *more, *arguments, *options, *across])})"


def completions(
    columns: Sequence[tuple[str, str]], signatures: Mapping[str, Signature]
) -> dict[str, list[dict[str, str]]]:
    """What the editor offers: columns by name with their type, and calls with a line of help."""
    kinds = {kind: "" if kind is ColumnKind.ANY else f" (a {kind.value} column)" for kind in ColumnKind}
    calls = [
        {
            "name": name,
            "call": call_of(signature),
            "help": METRICS[name].meaning + (kinds[signature.column_kind] if signature.min_columns else ""),
        }
        for name, signature in signatures.items()
        if name != PROFILE
    ]
    calls += [{"name": name, "call": call, "help": text} for name, call, text in WORDS]
    return {
        "columns": [{"name": named(name), "call": named(name), "help": type_} for name, type_ in columns],
        "calls": sorted(calls, key=lambda call: call["name"]),
    }
