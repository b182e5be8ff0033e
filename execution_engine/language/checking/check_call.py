"""Whether a metric call fits the metric's signature and the dataset it is taken of; one short function per rule."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from execution_engine.language import templates
from execution_engine.language.problem import Problem
from execution_engine.language.step_arguments import misfit
from execution_engine.language.tree import Metric
from execution_engine.metrics.columns import named, written
from execution_engine.metrics.signature import TEMPLATED, ArgumentType, ColumnKind, Signature
from execution_engine.metrics.spec import Literal

from .schema import DatasetSchema

SchemaOf = Callable[[str], DatasetSchema | None]


@dataclass(frozen=True, kw_only=True)
class CheckedCall:
    """A call, its signature, the schema of the dataset it is taken of (None: unknown), and of the test's own."""

    metric: Metric
    signature: Signature
    schema: DatasetSchema | None
    home: DatasetSchema
    schema_of: SchemaOf

    def problem(self, message: str, part: str = "") -> Problem:
        """A problem under one part of the call, or under the whole."""
        return Problem(message=message, place=self.metric.at(part))


def call_problems(
    metric: Metric, home: DatasetSchema, schema_of: SchemaOf, signatures: Mapping[str, Signature]
) -> list[Problem]:
    """Everything wrong with one call."""
    signature = signatures.get(metric.spec.name)
    if signature is None:
        message = f"there is no metric {metric.spec.name}{nearest(metric.spec.name, signatures)}"
        return [Problem(message=message, place=metric.place)]
    schema = home if metric.dataset in (None, home.name) else schema_of(metric.dataset or "")
    call = CheckedCall(metric=metric, signature=signature, schema=schema, home=home, schema_of=schema_of)
    return [problem for rule in RULES for problem in rule(call)]


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """``: did you mean …?`` where a known name is like ``name``, else all known ones."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]}?"
    return f": take one of {', '.join(sorted(known))}" if known else ""


def _count_of_columns(call: CheckedCall) -> Iterator[Problem]:
    least, most, found = call.signature.min_columns, call.signature.max_columns, len(call.metric.spec.columns)
    if most == 0 and found:
        hint = " (a text goes in quotes)" if call.signature.arguments else ""
        yield call.problem(f"{call.signature.name} takes no columns: leave them out{hint}", "column 0")
    elif found < least or (most is not None and found > most):
        wanted = f"{least} or more columns" if most is None else _counted(least, most)
        yield call.problem(f"{call.signature.name} takes {wanted}, not {found}{_without_quotes(call)}")


def _without_quotes(call: CheckedCall) -> str:
    """What to write for a text that stands where a column is wanted."""
    texts = [value for value in call.metric.spec.arguments if isinstance(value, str)]
    if len(texts) <= len(call.signature.arguments) or len(call.metric.spec.columns) >= call.signature.min_columns:
        return ""
    known = (call.schema and call.schema.columns) or ()
    column = written(texts[0]) if written(texts[0]) in known else named(texts[0])
    return f": a column stands without quotes, {column}"


def _counted(least: int, most: int) -> str:
    numbers = str(least) if least == most else f"{least} to {most}"
    return f"{numbers} column{'' if most == 1 else 's'}"


def _columns(call: CheckedCall) -> Iterator[Problem]:
    if call.schema is None or call.schema.columns is None or call.signature.max_columns == 0:
        return
    known, wanted = call.schema.columns, call.signature.column_kind
    for index, column in enumerate(call.metric.spec.columns):
        kind = call.schema.kind_of(column)
        if kind is None:
            message = f"{call.schema.name} has no column {column}{nearest(column, known)}"
            yield call.problem(message, f"column {index}")
        elif wanted is not ColumnKind.ANY and kind not in (wanted, ColumnKind.ANY):
            message = f"{call.signature.name} needs a {wanted} column, and {column} is {kind}: take another"
            yield call.problem(message, f"column {index}")


def _arguments(call: CheckedCall) -> Iterator[Problem]:
    wanted, found = call.signature.arguments, call.metric.spec.arguments
    if (call.signature.max_columns == 0 and call.metric.spec.columns) or _without_quotes(call):
        return  # told already: a text without its quotes, or a column with them
    if len(wanted) != len(found):
        kinds = f"({', '.join(wanted)}) " if wanted else "no argument "
        yield call.problem(f"{call.signature.name} takes {kinds}after its columns, not {len(found)} arguments")
        return
    for index, (kind, value) in enumerate(zip(wanted, found, strict=True)):
        yield from _literal(call, kind, value, f"argument {index}")


def _options(call: CheckedCall) -> Iterator[Problem]:
    known = call.signature.options
    for name, value in call.metric.spec.options:
        if name in known:
            yield from _literal(call, known[name], value, name)
        else:
            mend = nearest(name, known) or ": leave it out"
            yield call.problem(f"{call.signature.name} has no option {name}={mend}", name)


def _literal(call: CheckedCall, kind: ArgumentType, value: Literal, part: str) -> Iterator[Problem]:
    if isinstance(value, str) is (kind is ArgumentType.NUMBER):
        wanted = "a number" if kind is ArgumentType.NUMBER else "a text in quotes"
        yield call.problem(f"{call.signature.name} needs {wanted} here, not {value!r}", part)
    elif kind in TEMPLATED:
        yield from _templates(call, str(value), part)
    elif kind is ArgumentType.DATASET and value != call.home.name and call.schema_of(str(value)) is None:
        yield call.problem(_no_dataset(str(value)), part)


def _where(call: CheckedCall) -> Iterator[Problem]:
    where = call.metric.spec.where
    if where is None:
        return
    if not call.signature.takes_where:
        yield call.problem(f"{call.signature.name} takes no where=: leave it out", "where")
    elif not where.strip():
        yield call.problem("where= is empty: write a condition on rows, or leave it out", "where")
    else:
        yield from _templates(call, where, "where")


def _templates(call: CheckedCall, sql: str, part: str) -> Iterator[Problem]:
    faults = list(templates.faults(sql))
    yield from (call.problem(fault, part) for fault in faults)
    if not faults and templates.templates(sql) and not call.home.partitioned:
        yield call.problem(f"{call.home.name} has no partitions, so there is no window to fill in", part)


def _dataset(call: CheckedCall) -> Iterator[Problem]:
    if call.schema is None and call.metric.dataset is not None:
        yield call.problem(_no_dataset(call.metric.dataset), "dataset")


def _no_dataset(name: str) -> str:
    return f"there is no dataset {name!r}: write its full name, such as 'raw.trips', once it is in the catalog"


def _datacenter(call: CheckedCall) -> Iterator[Problem]:
    datacenter = call.metric.datacenter
    if datacenter is None and call.signature.needs_datacenter:
        yield call.problem(f"{call.signature.name} needs the other side: give datacenter='…'")
    elif datacenter is not None and call.schema is not None and datacenter not in call.schema.datacenters:
        mend = nearest(datacenter, call.schema.datacenters)
        yield call.problem(f"{call.schema.name} has no replica in {datacenter!r}{mend}", "datacenter")


def _ago(call: CheckedCall) -> Iterator[Problem]:
    if call.metric.ago is None:
        return
    if call.schema is not None and not call.schema.partitioned:
        yield call.problem(f"{call.schema.name} has no partitions: there is no ago", "ago")
    if message := misfit(call.metric.ago, call.home.granularity, "ago"):
        yield call.problem(message, "ago")


RULES: tuple[Callable[[CheckedCall], Iterator[Problem]], ...] = (
    _count_of_columns,
    _columns,
    _arguments,
    _options,
    _where,
    _dataset,
    _datacenter,
    _ago,
)
