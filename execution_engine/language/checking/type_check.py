"""The type check of an assertion, made when the test is written."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from execution_engine.language.operands import operands
from execution_engine.language.problem import Problem
from execution_engine.language.step_arguments import misfit
from execution_engine.language.tree import PROFILE, By, History, HistoryFunction, Metric, Node, Text
from execution_engine.language.walk import fold, postorder
from execution_engine.metrics.columns import named
from execution_engine.metrics.signature import Signature
from execution_engine.metrics.spec import MetricSpec

from .check_call import SchemaOf, call_problems, nearest
from .schema import DatasetSchema
from .types import Mismatch, Type, type_of

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
    yield from chain.from_iterable(rule(tree, home) for rule in RULES)
    for metric in _metrics(tree):
        if metric.spec.name not in groupable:
            known = ", ".join(groupable) or "none"
            message = f"{metric.spec.name} cannot be measured by group; these can: {known}"
            yield Problem(message=message, place=metric.place)


def _columns(tree: By, home: DatasetSchema) -> Iterator[Problem]:
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


RULES: tuple[Callable[[By, DatasetSchema], Iterator[Problem]], ...] = (_columns, _share, _own_dataset)
