"""The type check of an assertion, made when a test is written: against the metrics' signatures and the columns.

It reads no data and no database; what it knows of a dataset is handed to it as a ``Schema``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain

from assay.time.windows import Granularity
from execution_engine.metrics.definition import TEMPLATED, ArgumentType, ColumnKind, Signature, ValueType
from execution_engine.metrics.expressions import named, path_of, resolved, written
from execution_engine.metrics.spec import Literal, MetricSpec

from . import templates
from .templates import misfit
from .tree import (
    PROFILE,
    Arithmetic,
    Between,
    By,
    Call,
    Comparison,
    Duration,
    History,
    HistoryFunction,
    Metric,
    Negative,
    Node,
    Number,
    Operator,
    Percentage,
    Problem,
    Text,
    fold,
    operands,
    postorder,
)

# What the type check knows of a dataset.


@dataclass(frozen=True, kw_only=True)
class DatasetSchema:
    """A dataset's columns (None: not known, any will do), the datacenters that hold it, and whether it has partitions.

    Columns are as ``metrics.columns`` writes them. One of kind ANY has a type that is not known; every metric takes it.
    """

    name: str
    columns: Mapping[str, ColumnKind] | None
    datacenters: tuple[str, ...] = ()
    partitioned: bool = True
    granularity: Granularity | None = None  # of its partitions; None: not known
    earlier_runs: bool = False  # what a history is over where there are no partitions

    def kind_of(self, column: str) -> ColumnKind | None:
        """The kind of a column, or of a field of one whose fields are not known; None where there is no such column."""
        known = self.columns or {}
        column = resolved(column, known)
        top, *below = path_of(column)
        has_fields = any(name.startswith(f"{written(top)}.") for name in known)
        if below and column not in known and not has_fields and known.get(written(top)) is ColumnKind.ANY:
            return ColumnKind.ANY
        return known.get(column)


# Whether a metric call fits the metric's signature and the dataset it is taken of; one short function per rule.

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
    return [problem for rule in CALL_RULES for problem in rule(call)]


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


def _check_columns(call: CheckedCall) -> Iterator[Problem]:
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


CALL_RULES: tuple[Callable[[CheckedCall], Iterator[Problem]], ...] = (
    _count_of_columns,
    _check_columns,
    _arguments,
    _options,
    _where,
    _dataset,
    _datacenter,
    _ago,
)


# Which numbers are lengths of time, and what may be done with both.

Type = ValueType | None  # None: a condition, or an expression in which a problem was found already

_NUMBER, _DURATION = ValueType.NUMBER, ValueType.DURATION
_PRODUCTS = {
    (Operator.MULTIPLY, _NUMBER, _NUMBER): _NUMBER,
    (Operator.MULTIPLY, _NUMBER, _DURATION): _DURATION,
    (Operator.MULTIPLY, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _NUMBER, _NUMBER): _NUMBER,
    (Operator.DIVIDE, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _DURATION, _DURATION): _NUMBER,
}


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Why a node has no type."""

    message: str


def type_of(node: Node, below: Sequence[Type]) -> Type | Mismatch:
    """The type of a node that is neither operand nor text, from the types below it."""
    match node:
        case Number() | Percentage():
            return _NUMBER
        case Duration():
            return _DURATION
        case Negative():
            return below[0]
        case Call():
            return _common(below, f"{node.function} takes numbers or durations, not both: give all a unit, such as 4h")
        case Comparison() | Between():
            found = _common(below, "a duration is compared with a number: give both a unit, such as 4h or 400s")
            return found if isinstance(found, Mismatch) else None
        case Arithmetic(operator=Operator.MULTIPLY | Operator.DIVIDE):
            return _product(node.operator, below)
        case Arithmetic():
            return _common(
                below, "a duration and a number cannot be added or subtracted: give both a unit, such as 4h or 400s"
            )
    return None


def _common(types: Sequence[Type], problem: str) -> Type | Mismatch:
    if len(set(types) - {None}) > 1:
        return Mismatch(message=problem)
    return None if None in types else types[0]


def _product(operator: Operator, below: Sequence[Type]) -> Type | Mismatch:
    left, right = below
    if left is None or right is None:
        return None
    verb = "multiplied" if operator is Operator.MULTIPLY else "divided"
    problem = f"a {left} cannot be {verb} by a {right}: multiply durations by numbers only"
    return _PRODUCTS.get((operator, left, right), Mismatch(message=problem))


# The type check of an assertion, made when the test is written.

MAX_LAST = 1000
FaultOf = Callable[[MetricSpec], str | None]


class UnableToCheck(ValueError):
    """An assertion that cannot be evaluated as it is written; the message draws every place with a caret."""

    def __init__(self, problems: Sequence[Problem], source: str) -> None:
        super().__init__("\n".join(f"Cannot accept the assertion: {problem.explain(source)}" for problem in problems))
        self.problems = tuple(problems)


def check(
    tree: Node,
    *,
    home: DatasetSchema,
    schema_of: SchemaOf,
    signatures: Mapping[str, Signature],
    source: str,
    groupable: Collection[str] = (),
    fault_of: FaultOf = lambda spec: None,
) -> None:
    """Nothing where ``tree``, parsed from ``source``, can be evaluated; else raises UnableToCheck with every problem.

    It is an assertion, or the expression of a number.

    ``schema_of`` gives the schema of another dataset by its full name, None for one that is unknown; ``groupable``
    names the metrics that can be measured ``by`` columns, ``fault_of`` says what is wrong with a metric beyond its
    signature. Whether the partitions of an upstream operand align with those of ``home`` is for the caller to check.
    """
    walk = _Check(home=home, schema_of=schema_of, signatures=signatures, fault_of=fault_of)
    fold(tree, walk.visit)
    if isinstance(tree, By):
        walk.problems.extend(by_problems(tree, home, groupable))
    if not operands(tree):
        walk.report("it measures nothing: compare a metric, such as row_count()", tree)
    if walk.problems:
        raise UnableToCheck(walk.problems, source)


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One walk over the tree, and the problems it found."""

    home: DatasetSchema
    schema_of: SchemaOf
    signatures: Mapping[str, Signature]
    fault_of: FaultOf
    problems: list[Problem] = field(default_factory=list)

    def report(self, message: str, node: Node) -> None:
        self.problems.append(Problem(message=message, place=node.place))

    def visit(self, node: Node, below: Sequence[Type]) -> Type:
        match node:
            case Text():
                self.report(self._of_a_text(node.value), node)
                return None
            case Metric():
                return self._metric(node)
            case History():
                self._history(node)
                return self._metric(node.metric)
        found = type_of(node, below)
        if isinstance(found, Mismatch):
            self.report(found.message, node)
            return None
        return found

    def _of_a_text(self, text: str) -> str:
        column = named(text) if self.home.kind_of(text) is None else text
        if self.home.kind_of(column) is not None:
            return (
                f"a text is no column: give {column} to a metric, without these quotes, such as completeness({column})"
            )
        return "a text cannot be compared or reckoned with: a metric gives a number or a duration"

    def _metric(self, metric: Metric) -> Type:
        found = call_problems(metric, self.home, self.schema_of, self.signatures)
        if not found and (fault := self.fault_of(metric.spec)):
            found = [Problem(message=fault, place=metric.place)]
        self.problems.extend(found)
        signature = self.signatures.get(metric.spec.name)
        return None if signature is None else signature.returns

    def _history(self, history: History) -> None:
        if not (self.home.partitioned or self.home.earlier_runs):
            self.report(f"{self.home.name} has no partitions: there are no past windows", history)
        if history.metric.ago is not None:
            place = history.metric.at("ago")
            message = "past windows are counted from this one: leave ago= out"
            self.problems.append(Problem(message=message, place=place))
        if history.every is not None and (fault := misfit(history.every, self.home.granularity, "every")):
            self.problems.append(Problem(message=fault, place=history.at("every")))
        if not 1 <= history.last <= MAX_LAST:
            name = "lag" if history.function is HistoryFunction.LAG else "last="
            message = f"{name} is from 1 to {MAX_LAST}, not {history.last}"
            self.problems.append(Problem(message=message, place=history.at("last")))
        elif history.min is not None and not 1 <= history.min <= history.last:
            message = f"min= is from 1 to last={history.last}, not {history.min}"
            self.problems.append(Problem(message=message, place=history.at("min")))
        elif fault := _fault_of_function(history):
            self.problems.append(Problem(message=fault, place=history.place))
        elif fault := _fault_of_country(history):
            self.problems.append(Problem(message=fault, place=history.at("country")))


def _fault_of_function(history: History) -> str | None:
    """What is wrong with an anomaly, or novelty, its options, and what it is of."""
    is_of_profiles = history.metric.spec.name == PROFILE
    if is_of_profiles is not (history.function is HistoryFunction.NOVELTY):
        return "profiles are no numbers, and only they are compared by novelty: write novelty(profile(), last=90)"
    try:
        if history.function is HistoryFunction.ANOMALY:
            what, needed = "the strategy", history.detector.strategy.needed
        elif is_of_profiles:
            what, needed = f"novelty by {history.method}", history.needed
        else:
            return None
    except (ValueError, TypeError) as error:
        return str(error)
    return None if needed <= history.last else f"{what} needs {needed} past windows: write last={needed} or more"


def _fault_of_country(history: History) -> str | None:
    """What is wrong with the country whose holidays novelty knows."""
    try:
        _ = history.country if history.function is HistoryFunction.NOVELTY else ""
    except ValueError as error:
        return str(error)
    return None


MAX_COLUMNS = 8


def by_problems(tree: By, home: DatasetSchema, groupable: Collection[str]) -> Iterator[Problem]:
    """Everything wrong with the groups of an assertion."""
    yield from chain.from_iterable(rule(tree, home) for rule in GROUP_RULES)
    for metric in _metrics(tree):
        if metric.spec.name not in groupable:
            known = ", ".join(groupable) or "none"
            message = f"{metric.spec.name} cannot be measured by group; these can: {known}"
            yield Problem(message=message, place=metric.place)


def _check_group_columns(tree: By, home: DatasetSchema) -> Iterator[Problem]:
    for index, column in enumerate(tree.columns):
        place = tree.at(f"column {index}")
        if home.columns is not None and home.kind_of(column) is None:
            message = f"{home.name} has no column {column}{nearest(column, home.columns)}"
            yield Problem(message=message, place=place)
        elif column in tree.columns[:index]:
            yield Problem(message=f"by names {column} twice: keep one", place=place)
    if len(tree.columns) > MAX_COLUMNS:
        message = f"by takes up to {MAX_COLUMNS} columns, not {len(tree.columns)}: leave some out"
        yield Problem(message=message, place=tree.at(f"column {MAX_COLUMNS}"))


def _share(tree: By, home: DatasetSchema) -> Iterator[Problem]:
    if tree.percent is not None and not 0 < tree.percent <= 100:
        message = "the share of the groups is above 0 % and up to 100 %: leave it out for all"
        yield Problem(message=message, place=tree.at("percent"))


def _own_dataset(tree: By, home: DatasetSchema) -> Iterator[Problem]:
    for metric in _metrics(tree):
        if metric.dataset not in (None, home.name):
            message = f"groups are those of {home.name}: leave dataset= out, or test the whole without by"
            yield Problem(message=message, place=metric.at("dataset"))


def _metrics(tree: By) -> list[Metric]:
    found = (node for node in postorder(tree) if isinstance(node, Metric | History))
    return [node.metric if isinstance(node, History) else node for node in found]


GROUP_RULES: tuple[Callable[[By, DatasetSchema], Iterator[Problem]], ...] = (_check_group_columns, _share, _own_dataset)
