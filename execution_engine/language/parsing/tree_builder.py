"""From lark's parse tree to ours: one line per rule of grammar.lark."""

from collections.abc import Callable
from typing import Any

from lark import Token, Tree

from execution_engine.language.problem import Span
from execution_engine.language.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparator,
    Comparison,
    Duration,
    Function,
    Negative,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Text,
)

from .calls import BareName, Keyword, WrittenStep, by, operand
from .literals import read_column, read_duration, read_number, read_text

Rule = Callable[[list[Any], Span], Any]  # its parts are tokens and what the rules below it made

RULES: dict[str, Rule] = {
    "by": lambda parts, at: by(parts, at),
    "or": lambda parts, at: Or(terms=tuple(parts), place=at),
    "and": lambda parts, at: And(terms=tuple(parts), place=at),
    "not": lambda parts, at: Not(term=parts[0], place=at),
    "comparison": lambda parts, at: Comparison(
        comparator=_comparator(parts[1]), left=parts[0], right=parts[2], place=at
    ),
    "between": lambda parts, at: Between(value=parts[0], low=parts[1], high=parts[2], place=at),
    "not_between": lambda parts, at: Between(value=parts[0], low=parts[1], high=parts[2], negated=True, place=at),
    "arithmetic": lambda parts, at: Arithmetic(operator=Operator(parts[1]), left=parts[0], right=parts[2], place=at),
    "negative": lambda parts, at: Negative(value=parts[1], place=at),
    "negative_literal": lambda parts, at: Negative(value=parts[1], place=at),
    "call": lambda parts, at: Call(function=Function(parts[0].lower()), arguments=tuple(parts[1:]), place=at),
    "operand": lambda parts, at: operand(parts[0].lower(), parts[1:], at),
    "column": lambda parts, at: BareName(name=read_column(parts), place=at),
    "keyword": lambda parts, at: Keyword(name=parts[0].lower(), value=parts[1], place=at),
    "step": lambda parts, at: WrittenStep(text=str(parts[0]), place=at),
    "number": lambda parts, at: Number(value=read_number(parts[0], at), place=at),
    "percentage": lambda parts, at: Percentage(percent=float(read_number(parts[0], at)), place=at),
    "duration": lambda parts, at: Duration(seconds=read_duration(parts[0], at), place=at),
    "text": lambda parts, at: Text(value=read_text(parts[0]), place=at),
}


def build(parsed: Tree[Token]) -> Any:
    """The tree of an assertion or expression; raises Refusal where the grammar allows more than the language does."""
    built: dict[int, Any] = {}
    for tree in parsed.iter_subtrees():
        parts = [built[id(child)] if isinstance(child, Tree) else child for child in tree.children]
        place = Span(start=tree.meta.start_pos, end=tree.meta.end_pos)
        built[id(tree)] = RULES[tree.data](parts, place)
    return built[id(parsed)]


def _comparator(token: Token) -> Comparator:
    return Comparator("=" if token == "==" else token)
