"""The type check of an assertion, made when a test is written: against the metrics' signatures and the columns.

It reads no data and no database; what it knows of a dataset is handed to it as a ``Schema``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from assay.time.windows import Granularity
from execution_engine.metrics.definition import TEMPLATED, ArgumentType, ColumnKind, Signature, ValueType
from execution_engine.metrics.expressions import named, path_of, resolved, written
from execution_engine.metrics.spec import Literal, MetricSpec

from . import templates
from .tree import (
    PROFILE,
    Arithmetic,
    AssertionProblem,
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
    Span,
    Text,
    fold,
    metric_of,
    operands,
    postorder,
)


@dataclass(frozen=True, kw_only=True)
class DatasetSchema:
    """A dataset's columns (None: not known, any will do), the datacenters that hold it, and whether it has partitions.

    Columns are as ``metrics.expressions`` writes them. One of kind ANY has a type that is not known, and every metric
    takes it.
    """

    name: str
    columns: Mapping[str, ColumnKind] | None
    datacenters: tuple[str, ...] = ()
    partitioned: bool = True
    granularity: Granularity | None = None  # of its partitions; None: not known
    earlier_runs: bool = False  # what a history is over where there are no partitions

    def kind_of(self, column: str) -> ColumnKind | None:
        """The kind of a column, or of a field of one whose fields are not known; None where there is no such column."""
        columns = self.columns or {}
        column = resolved(column, columns)
        top, *below = path_of(column)
        has_fields = any(name.startswith(f"{written(top)}.") for name in columns)
        if below and column not in columns and not has_fields and columns.get(written(top)) is ColumnKind.ANY:
            return ColumnKind.ANY
        return columns.get(column)


SchemaOf = Callable[[str], DatasetSchema | None]
FaultOf = Callable[[MetricSpec], str | None]
Type = ValueType | None  # None: a condition, or an expression in which a problem was found already

MAX_LAST = 1000
MAX_COLUMNS = 8  # of by
_NUMBER, _DURATION = ValueType.NUMBER, ValueType.DURATION
_PRODUCTS = {
    (Operator.MULTIPLY, _NUMBER, _NUMBER): _NUMBER,
    (Operator.MULTIPLY, _NUMBER, _DURATION): _DURATION,
    (Operator.MULTIPLY, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _NUMBER, _NUMBER): _NUMBER,
    (Operator.DIVIDE, _DURATION, _NUMBER): _DURATION,
    (Operator.DIVIDE, _DURATION, _DURATION): _NUMBER,
}


class UnableToCheck(ValueError):
    """An assertion that cannot be evaluated as it is written; the message draws every place with a caret."""

    def __init__(self, problems: Sequence[AssertionProblem], source: str) -> None:
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
        for index, column in enumerate(tree.columns):
            place = tree.at(f"column {index}")
            if home.columns is not None and home.kind_of(column) is None:
                walk.report(f"{home.name} has no column {column}{nearest(column, home.columns)}", place)
            elif column in tree.columns[:index]:
                walk.report(f"by names {column} twice: keep one", place)
        if len(tree.columns) > MAX_COLUMNS:
            message = f"by takes up to {MAX_COLUMNS} columns, not {len(tree.columns)}: leave some out"
            walk.report(message, tree.at(f"column {MAX_COLUMNS}"))
        if tree.percent is not None and not 0 < tree.percent <= 100:
            message = "the share of the groups is above 0 % and up to 100 %: leave it out for all"
            walk.report(message, tree.at("percent"))
        metrics = [metric_of(node) for node in postorder(tree) if isinstance(node, Metric | History)]
        for metric in metrics:
            if metric.dataset not in (None, home.name):
                message = f"groups are those of {home.name}: leave dataset= out, or test the whole without by"
                walk.report(message, metric.at("dataset"))
        for metric in metrics:
            if metric.spec.name not in groupable:
                message = f"{metric.spec.name} cannot be measured by group; these can: {', '.join(groupable) or 'none'}"
                walk.report(message, metric.place)
    if not operands(tree):
        walk.report("it measures nothing: compare a metric, such as row_count()", tree.place)
    if walk.problems:
        raise UnableToCheck(walk.problems, source)


def nearest(name: str, names: Mapping[str, object] | tuple[str, ...]) -> str:
    """``: did you mean …?`` where a known name is like ``name``, else all known ones."""
    close = get_close_matches(name, list(names), n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]}?"
    return f": take one of {', '.join(sorted(names))}" if names else ""


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One walk over the tree, and the problems it found."""

    home: DatasetSchema
    schema_of: SchemaOf
    signatures: Mapping[str, Signature]
    fault_of: FaultOf
    problems: list[AssertionProblem] = field(default_factory=list)

    def report(self, message: str, place: Span) -> None:
        self.problems.append(AssertionProblem(message=message, place=place))

    def visit(self, node: Node, below: Sequence[Type]) -> Type:
        """The type of a node from those below it: numbers and lengths of time, and what may be done with both."""
        match node:
            case Number() | Percentage():
                return _NUMBER
            case Duration():
                return _DURATION
            case Negative():
                return below[0]
            case Text(value=text):
                column = named(text) if self.home.kind_of(text) is None else text
                message = "a text cannot be compared or reckoned with: a metric gives a number or a duration"
                if self.home.kind_of(column) is not None:
                    mend = f"give {column} to a metric, without these quotes, such as completeness({column})"
                    message = f"a text is no column: {mend}"
                self.report(message, node.place)
            case Metric():
                return self._metric(node)
            case History():
                self._history(node)
                return self._metric(node.metric)
            case Call():
                message = f"{node.function} takes numbers or durations, not both: give all a unit, such as 4h"
                return self._common(node, below, message)
            case Comparison() | Between():
                self._common(node, below, "a duration is compared with a number: give both a unit, such as 4h or 400s")
            case Arithmetic(operator=Operator.MULTIPLY | Operator.DIVIDE):
                left, right = below
                product = None if left is None or right is None else _PRODUCTS.get((node.operator, left, right))
                if left is not None and right is not None and product is None:
                    verb = "multiplied" if node.operator is Operator.MULTIPLY else "divided"
                    message = f"a {left} cannot be {verb} by a {right}: multiply durations by numbers only"
                    self.report(message, node.place)
                return product
            case Arithmetic():
                message = "a duration and a number cannot be added or subtracted: give both a unit, such as 4h or 400s"
                return self._common(node, below, message)
        return None

    def _common(self, node: Node, types: Sequence[Type], message: str) -> Type:
        if len(set(types) - {None}) > 1:
            self.report(message, node.place)
            return None
        return None if None in types else types[0]

    def _metric(self, metric: Metric) -> Type:
        name = metric.spec.name
        signature = self.signatures.get(name)
        if signature is None:
            self.report(f"there is no metric {name}{nearest(name, self.signatures)}", metric.place)
            return None
        schema = self.home if metric.dataset in (None, self.home.name) else self.schema_of(metric.dataset or "")
        call = _CheckedCall(metric=metric, signature=signature, schema=schema, home=self.home, schema_of=self.schema_of)
        problems = list(call.problems())
        if not problems and (fault := self.fault_of(metric.spec)):
            problems = [AssertionProblem(message=fault, place=metric.place)]
        self.problems.extend(problems)
        return signature.returns

    def _history(self, history: History) -> None:
        if not (self.home.partitioned or self.home.earlier_runs):
            self.report(f"{self.home.name} has no partitions: there are no past windows", history.place)
        if history.metric.ago is not None:
            self.report("past windows are counted from this one: leave ago= out", history.metric.at("ago"))
        if history.every is not None and (fault := templates.misfit(history.every, self.home.granularity, "every")):
            self.report(fault, history.at("every"))
        if not 1 <= history.last <= MAX_LAST:
            name = "lag" if history.function is HistoryFunction.LAG else "last="
            self.report(f"{name} is from 1 to {MAX_LAST}, not {history.last}", history.at("last"))
        elif history.min is not None and not 1 <= history.min <= history.last:
            self.report(f"min= is from 1 to last={history.last}, not {history.min}", history.at("min"))
        elif fault := _fault_of_function(history):
            self.report(fault, history.place)
        elif history.function is HistoryFunction.NOVELTY:
            try:
                _ = history.country
            except ValueError as error:
                self.report(str(error), history.at("country"))


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


@dataclass(frozen=True, kw_only=True)
class _CheckedCall:
    """A call, its signature, the schema of the dataset it is taken of (None: unknown), and of the test's own."""

    metric: Metric
    signature: Signature
    schema: DatasetSchema | None
    home: DatasetSchema
    schema_of: SchemaOf

    def problems(self) -> Iterator[AssertionProblem]:
        """Everything wrong with the call: against the metric's signature, the columns and the places of the data."""
        yield from self._columns()
        kinds, values = self.signature.arguments, self.metric.spec.arguments
        # a text without its quotes, or a column with them, is reported already
        is_reported = (self.signature.max_columns == 0 and self.metric.spec.columns) or self._without_quotes
        if not is_reported and len(kinds) != len(values):
            expected = f"({', '.join(kinds)}) " if kinds else "no argument "
            yield self._problem(f"{self.signature.name} takes {expected}after its columns, not {len(values)} arguments")
        elif not is_reported:
            for index, (kind, argument) in enumerate(zip(kinds, values, strict=True)):
                yield from self._literal(kind, argument, f"argument {index}")
        for name, value in self.metric.spec.options:
            if name in self.signature.options:
                yield from self._literal(self.signature.options[name], value, name)
            else:
                mend = nearest(name, self.signature.options) or ": leave it out"
                yield self._problem(f"{self.signature.name} has no option {name}={mend}", name)
        where = self.metric.spec.where
        if where is not None and not self.signature.takes_where:
            yield self._problem(f"{self.signature.name} takes no where=: leave it out", "where")
        elif where is not None and not where.strip():
            yield self._problem("where= is empty: write a condition on rows, or leave it out", "where")
        elif where is not None:
            yield from self._templates(where, "where")
        schema, datacenter, ago = self.schema, self.metric.datacenter, self.metric.ago
        if schema is None and self.metric.dataset is not None:
            yield self._problem(_no_dataset(self.metric.dataset), "dataset")
        if datacenter is None and self.signature.needs_datacenter:
            yield self._problem(f"{self.signature.name} needs the other side: give datacenter='…'")
        elif datacenter is not None and schema is not None and datacenter not in schema.datacenters:
            mend = nearest(datacenter, schema.datacenters)
            yield self._problem(f"{schema.name} has no replica in {datacenter!r}{mend}", "datacenter")
        if ago is not None and schema is not None and not schema.partitioned:
            yield self._problem(f"{schema.name} has no partitions: there is no ago", "ago")
        if ago is not None and (message := templates.misfit(ago, self.home.granularity, "ago")):
            yield self._problem(message, "ago")

    def _problem(self, message: str, part: str = "") -> AssertionProblem:
        return AssertionProblem(message=message, place=self.metric.at(part))

    def _columns(self) -> Iterator[AssertionProblem]:
        name, least, most = self.signature.name, self.signature.min_columns, self.signature.max_columns
        columns = self.metric.spec.columns
        if most == 0 and columns:
            hint = " (a text goes in quotes)" if self.signature.arguments else ""
            yield self._problem(f"{name} takes no columns: leave them out{hint}", "column 0")
        elif len(columns) < least or (most is not None and len(columns) > most):
            numbers = str(least) if least == most else f"{least} to {most}"
            expected = f"{least} or more columns" if most is None else f"{numbers} column{'' if most == 1 else 's'}"
            yield self._problem(f"{name} takes {expected}, not {len(columns)}{self._without_quotes}")
        if self.schema is None or self.schema.columns is None or most == 0:
            return
        kind_wanted = self.signature.column_kind
        for index, column in enumerate(columns):
            kind = self.schema.kind_of(column)
            if kind is None:
                message = f"{self.schema.name} has no column {column}{nearest(column, self.schema.columns)}"
                yield self._problem(message, f"column {index}")
            elif kind_wanted is not ColumnKind.ANY and kind not in (kind_wanted, ColumnKind.ANY):
                message = f"{name} needs a {kind_wanted} column, and {column} is {kind}: take another"
                yield self._problem(message, f"column {index}")

    @property
    def _without_quotes(self) -> str:
        """What to write for a text that stands where a column is wanted."""
        texts = [value for value in self.metric.spec.arguments if isinstance(value, str)]
        enough = len(self.metric.spec.columns) >= self.signature.min_columns
        if len(texts) <= len(self.signature.arguments) or enough:
            return ""
        columns = (self.schema and self.schema.columns) or ()
        column = written(texts[0]) if written(texts[0]) in columns else named(texts[0])
        return f": a column stands without quotes, {column}"

    def _literal(self, kind: ArgumentType, value: Literal, part: str) -> Iterator[AssertionProblem]:
        if isinstance(value, str) is (kind is ArgumentType.NUMBER):
            expected = "a number" if kind is ArgumentType.NUMBER else "a text in quotes"
            yield self._problem(f"{self.signature.name} needs {expected} here, not {value!r}", part)
        elif kind in TEMPLATED:
            yield from self._templates(str(value), part)
        elif kind is ArgumentType.DATASET and value != self.home.name and self.schema_of(str(value)) is None:
            yield self._problem(_no_dataset(str(value)), part)

    def _templates(self, sql: str, part: str) -> Iterator[AssertionProblem]:
        faults = list(templates.faults(sql))
        yield from (self._problem(fault, part) for fault in faults)
        if not faults and templates.templates(sql) and not self.home.partitioned:
            yield self._problem(f"{self.home.name} has no partitions, so there is no window to fill in", part)


def _no_dataset(name: str) -> str:
    return f"there is no dataset {name!r}: write its full name, such as 'raw.trips', once it is in the catalog"
