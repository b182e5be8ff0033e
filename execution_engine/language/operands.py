"""What an assertion needs to be measured."""

from dataclasses import replace

from execution_engine.metrics.columns import path_of

from .tree import By, History, HistoryFunction, Metric, Node, Operand
from .walk import postorder


def operands(tree: Node) -> tuple[Operand, ...]:
    """The distinct operands, in the order they are written; those of ``by`` are measured by its columns."""
    found = [node for node in postorder(tree) if isinstance(node, Metric | History)]
    if isinstance(tree, By):
        found = [grouped(operand, tree.columns) for operand in found]
    return tuple({operand.text: operand for operand in found}.values())


def compares_profiles(tree: Node) -> bool:
    """Whether it asks how novel rows are, so that it matters which batches were accepted."""
    return any(isinstance(node, History) and node.function is HistoryFunction.NOVELTY for node in postorder(tree))


def columns_named(tree: Node) -> tuple[str, ...]:
    """The columns of its own dataset that it names outside of conditions, as they are written, each once."""
    metrics = [operand.metric if isinstance(operand, History) else operand for operand in operands(tree)]
    own = [metric.spec for metric in metrics if metric.dataset is None]
    return tuple(dict.fromkeys(path_of(column)[0] for spec in own for column in (*spec.columns, *spec.by)))


def grouped(operand: Operand, columns: tuple[str, ...]) -> Operand:
    """The operand, measured once for each group."""
    if isinstance(operand, History):
        return replace(operand, metric=_grouped(operand.metric, columns))
    return _grouped(operand, columns)


def _grouped(metric: Metric, columns: tuple[str, ...]) -> Metric:
    return replace(metric, spec=replace(metric.spec, by=columns))
