"""Walking a tree with an explicit stack: linear, and no deeper in Python's stack than one call."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from .tree import And, Arithmetic, Between, By, Call, Comparison, Negative, Node, Not, Or

T = TypeVar("T")
Unfolded = Sequence[tuple[Node, int]]  # every node after the nodes below it, with the number of those right below


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below ``node``, in the order they are written."""
    match node:
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case Between(value=value, low=low, high=high):
            return (value, low, high)
        case Call(arguments=arguments):
            return arguments
        case And(terms=terms) | Or(terms=terms):
            return terms
        case Negative(value=value):
            return (value,)
        case Not(term=term):
            return (term,)
        case By(condition=condition):
            return (condition,)
    return ()


def postorder(tree: Node) -> list[Node]:
    """Every node, each after the nodes below it, left before right."""
    order: list[Node] = []
    stack: list[Node] = [tree]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(children(node))
    order.reverse()
    return order


def fold(tree: Node, combine: Callable[[Node, Sequence[T]], T]) -> T:
    """The result of ``combine(node, results of its children)`` at the root, from the leaves up."""
    return fold_again(unfolded(tree), combine)


def unfolded(tree: Node) -> Unfolded:
    """The tree as ``fold_again`` takes it, for a tree that is folded many times."""
    return [(node, len(children(node))) for node in postorder(tree)]


def fold_again(nodes: Unfolded, combine: Callable[[Node, Sequence[T]], T]) -> T:
    """``fold`` of a tree that was unfolded before."""
    results: list[T] = []
    for node, count in nodes:
        first = len(results) - count
        below = results[first:]
        del results[first:]
        results.append(combine(node, below))
    return results[0]


def depth(tree: Node) -> int:
    """How many nodes the longest way from the root to a leaf has."""
    return fold(tree, lambda _, below: 1 + max(below, default=0))
