"""Patterns: a literal of bounded length against data; a match of constants runs where nothing can stop it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from sqlglot import exp

from execution_engine.guard.refusal import Refusal

from .functions import called

MAX_PATTERN = 200
MAX_WILDCARDS = 4  # the time to match grows by the length of the text with each
_ARGUMENTS = {
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "regexp_like", "regexp_count", "regexp_extract"), (1,)),
    **dict.fromkeys(("regexp_extract_all", "regexp_instr", "regexp_replace", "regexp_substr", "split"), (1,)),
    "str_to_map": (1, 2),
    "from_json": (1,),
}
_LIKE = frozenset({"like", "ilike"})
_SCHEMA = frozenset({"from_json"})


@dataclass(frozen=True, kw_only=True)
class _Match:
    """One pattern, and what is matched against it."""

    subject: exp.Expr
    pattern: exp.Expr
    kind: str


def check_patterns(tree: exp.Expr) -> Refusal | None:
    """The first pattern that is computed, too long, or matched against a constant."""
    return next((refusal.at(match.pattern) for match in _matches(tree) if (refusal := _check(match))), None)


def _matches(tree: exp.Expr) -> Iterator[_Match]:
    for node in tree.find_all(exp.Like, exp.ILike, exp.RegexpLike):
        kind = "rlike" if isinstance(node, exp.RegexpLike) else "like"
        for pattern in _alternatives(node.expression):
            yield _Match(subject=node.this, pattern=pattern, kind=kind)
    for call in tree.find_all(exp.Anonymous):
        given = list(call.expressions)
        for at in _ARGUMENTS.get(called(call), ()):
            if at < len(given):
                yield _Match(subject=given[0], pattern=given[at], kind=called(call))


def _alternatives(node: exp.Expr) -> list[exp.Expr]:
    """The patterns of ``like any ('a', 'b')``; of a plain LIKE, its own."""
    while isinstance(node, exp.Any | exp.All | exp.Paren):
        node = node.this
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _check(match: _Match) -> Refusal | None:
    if not _is_text(match.pattern):
        return Refusal(what=f"the pattern of {match.kind} is computed", mend="write it as one literal")
    text = match.pattern.name
    if match.kind in _SCHEMA:
        if text.lstrip()[:1] not in ("{", '"', "["):
            return None  # in Spark's DDL; one in JSON can name a class
        return Refusal(what="a schema in JSON is not allowed", mend="write it as 'a int, b array<string>'")
    if len(text) > MAX_PATTERN:
        return Refusal(what=f"a pattern has more than {MAX_PATTERN} characters", mend="shorten it, or use several")
    if match.kind in _LIKE and sum(letter == "%" for letter, _ in groupby(text)) > MAX_WILDCARDS:
        return Refusal(what=f"a pattern has more than {MAX_WILDCARDS} wildcards %", mend="use several, joined by AND")
    if next(match.subject.find_all(exp.Identifier), None) is None:
        return Refusal(what=f"{match.kind} is applied to a constant", mend="apply it to a column")
    return None


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string)
