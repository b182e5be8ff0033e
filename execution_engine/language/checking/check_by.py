"""Whether the groups of an assertion can be made, and its operands measured for each."""

from collections.abc import Callable, Collection, Iterator
from itertools import chain

from execution_engine.language.problem import Problem
from execution_engine.language.tree import By, History, Metric
from execution_engine.language.walk import postorder

from .check_call import nearest
from .schema import DatasetSchema

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
