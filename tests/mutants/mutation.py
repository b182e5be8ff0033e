"""Small faults in a module's code, one at a time: mutmut's changes of single nodes, where a test could notice them.

Left as they are: annotations, decorators, docstrings, and texts with a space in them, as these are for people to read;
what mypy alone reads, which is the list of names that a package offers, the name of a type (``Rows = list[Row]``, a
``TypeVar``; but not ``Literal`` and ``Annotated``, as programs read these too) and the type that a ``cast`` names; and
what a machine answers alike: ``strict=`` of zip, which guards against our mistakes, and that a text is in UTF-8.
Nor is a default of False, None or an empty text exchanged for another of the three: nothing asks which of them it is;
nor a sentence for None. A text without a space is a name of something (a key, a field, a setting): it is changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst
import libcst.matchers as m
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
                    if (_is_empty(node) and _is_empty(changed)) or _is_alike(node, changed):
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
        if _is_prose(child) or _is_offer(child) or _is_type(child) or _is_utf_8(child):
            continue
        yield child
        yield from _nodes(child)


def _is_prose(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FormattedString | cst.ConcatenatedString) or _is_sentence(node)


def _is_sentence(node: cst.CSTNode) -> bool:
    """Whether a text has a space among its words, of a formatted one in what it holds beside values."""
    if isinstance(node, cst.ConcatenatedString):
        return _is_sentence(node.left) or _is_sentence(node.right)
    if isinstance(node, cst.FormattedString):
        return any(isinstance(part, cst.FormattedStringText) and " " in part.value.strip() for part in node.parts)
    return isinstance(node, cst.SimpleString) and " " in node.value.strip("\"'")


def _is_offer(node: cst.CSTNode) -> bool:
    targets = node.targets if isinstance(node, cst.Assign) else ()
    return any(isinstance(each.target, cst.Name) and each.target.value == "__all__" for each in targets)


def _is_type(node: cst.CSTNode) -> bool:
    """Whether this gives a type a name: ``Rows = list[Row]`` or ``T = TypeVar("T")``."""
    targets = node.targets if isinstance(node, cst.Assign) else ()
    if len(targets) != 1 or not m.matches(targets[0].target, m.Name(m.MatchRegex(r"_?[A-Z]([a-z]\w*)?$"))):
        return False
    assert isinstance(node, cst.Assign)
    if m.matches(node.value, m.Call(m.Name("TypeVar")) | m.Name("Any")):
        return True
    is_written = m.matches(node.value, m.Subscript() | m.BinaryOperation(operator=m.BitOr()))
    return is_written and not m.findall(node.value, m.Call() | m.Name("Literal") | m.Name("Annotated"))


def _is_utf_8(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and node.value == '"utf-8"'


def _children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a node, without those that nobody or every machine reads alike."""
    return [child for child in node.children if not _is_unread(node, child)]


def _is_unread(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    """Whether an argument is ``strict=`` of a zip, the type of a cast, or says that a text is in UTF-8."""
    if not isinstance(node, cst.Call) or not isinstance(part, cst.Arg):
        return False
    keyword = part.keyword.value if part.keyword else ""
    is_strict = keyword == "strict" and m.matches(node.func, m.Name("zip"))
    is_cast = part is node.args[0] and m.matches(node.func, m.Name("cast"))
    return is_strict or is_cast or (keyword == "encoding" and _is_utf_8(part.value))


def _is_alike(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Whether a call has lost nothing but an argument that is not read, or has None for a sentence."""
    if not isinstance(node, cst.Call) or not isinstance(changed, cst.Call) or node.func is not changed.func:
        return False
    after = {id(arg) for arg in changed.args}
    lost = [arg for arg in node.args if id(arg) not in after]
    is_silent = len(node.args) == len(changed.args) and any(_is_sentence(arg.value) for arg in lost)
    return is_silent or any(_is_unread(node, arg) for arg in lost)


def _is_empty(node: cst.CSTNode) -> bool:
    """Whether an assignment gives False, None or an empty text."""
    if not isinstance(node, cst.Assign | cst.AnnAssign) or node.value is None:
        return False
    return getattr(node.value, "value", None) in ("False", "None", '""')


def _text(module: cst.Module, node: cst.CSTNode) -> str:
    return " ".join(module.code_for_node(node).split())
