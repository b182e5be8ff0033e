"""Small faults in a module's code, one at a time: mutmut's changes of single nodes, where a test could notice them.

Left as they are: annotations, decorators, docstrings, and texts with a space in them, as these are for people to read;
the list of names that a package offers, as mypy reads it; and ``strict=`` of zip, which guards against our mistakes.
Nor is a default of False, None or an empty text exchanged for another of the three: nothing asks which of them it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One fault: the line it is on, and the node as it was and as it becomes."""

    line: int
    was: str
    becomes: str
    module: cst.Module
    node: cst.CSTNode
    changed: cst.CSTNode

    @property
    def change(self) -> str:
        """What is changed, on one line."""
        return f"{self.was} → {self.becomes}"

    @cached_property
    def source(self) -> str:
        """The module's text with the fault; empty where that is no Python."""
        new = self.module.deep_replace(self.node, self.changed)
        assert isinstance(new, cst.Module)
        try:
            compile(new.code, "mutant", "exec")
        except (SyntaxError, ValueError):
            return ""
        return new.code


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its nodes."""
    wrapper = MetadataWrapper(cst.parse_module(path.read_text()), unsafe_skip_copy=True)
    module, positions = wrapper.module, wrapper.resolve(PositionProvider)
    for node in _nodes(module):
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                for changed in operator(node):
                    if (_is_empty(node) and _is_empty(changed)) or _is_looser(node, changed):
                        continue
                    yield Mutant(
                        line=positions[node].start.line,
                        was=_text(module, node),
                        becomes=_text(module, changed),
                        module=module,
                        node=node,
                        changed=changed,
                    )


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes that may be changed, depth first."""
    for child in _children(node):
        if isinstance(child, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom):
            continue
        if _is_prose(child) or _is_offer(child):
            continue
        yield child
        yield from _nodes(child)


def _is_prose(node: cst.CSTNode) -> bool:
    text = node.value if isinstance(node, cst.SimpleString) else ""
    return isinstance(node, cst.FormattedString | cst.ConcatenatedString) or " " in text.strip("\"'")


def _is_offer(node: cst.CSTNode) -> bool:
    targets = node.targets if isinstance(node, cst.Assign) else ()
    return any(isinstance(each.target, cst.Name) and each.target.value == "__all__" for each in targets)


def _children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a node, of a zip without its ``strict=``."""
    return [each for each in node.children if not (_is_zip(node) and _keyword(each) == "strict")]


def _is_zip(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "zip"


def _keyword(node: cst.CSTNode) -> str:
    return node.keyword.value if isinstance(node, cst.Arg) and node.keyword else ""


def _is_looser(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Whether a zip has lost nothing but its ``strict=``."""
    if not _is_zip(node) or not _is_zip(changed):
        return False
    before, after = ([arg.value for arg in call.args if _keyword(arg) != "strict"] for call in (node, changed))
    return len(before) == len(after) and all(map(cst.CSTNode.deep_equals, before, after))


def _is_empty(node: cst.CSTNode) -> bool:
    """Whether an assignment gives False, None or an empty text."""
    if not isinstance(node, cst.Assign | cst.AnnAssign) or node.value is None:
        return False
    return getattr(node.value, "value", None) in ("False", "None", '""')


def _text(module: cst.Module, node: cst.CSTNode) -> str:
    return " ".join(module.code_for_node(node).split())
