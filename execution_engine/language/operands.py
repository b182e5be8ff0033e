"""What an assertion needs to be measured."""

from execution_engine.language.tree import History, Metric, Node, Operand
from execution_engine.language.walk import postorder


def operands(tree: Node) -> tuple[Operand, ...]:
    """The distinct operands, in the order they are written."""
    found = (node for node in postorder(tree) if isinstance(node, Metric | History))
    return tuple({operand.text: operand for operand in found}.values())
