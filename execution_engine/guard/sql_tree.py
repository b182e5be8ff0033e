"""From a text to one tree, and back to the only text that is ever run."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from .characters import check_characters, shown
from .dialect import Plain
from .refusal import Refusal, UnableToAllow
from .word_rules import check_words, lost_word

Rule = Callable[[exp.Expr], Refusal | None]
TWO_WAYS = Refusal(what="it can be read in two ways", mend="write it more plainly")
_END_OF_TOLD = re.compile(r"\. Line | but got <|\n")  # behind it stand the place and sqlglot's own names


def parse_one(text: str, limit: int, *, before: str = "", after: str = "") -> exp.Expr | None:
    """The tree of the one statement in ``text``, put between ``before`` and ``after``; None if there are more."""
    if refusal := check_characters(text, limit):
        raise UnableToAllow(refusal, text)
    whole = f"{before}{text}{after}"
    try:
        words = Plain().tokenize(whole)
        if refusal := check_words(whole, words):
            raise UnableToAllow(refusal, whole, skipped=len(before))
        trees = Plain().parser().parse(words, whole)
    except UnableToAllow:
        raise
    except Exception as error:  # a parser of hostile texts has faults of its own: IndexError, AttributeError …
        raise UnableToAllow(_unreadable(error, whole), whole, skipped=len(before)) from None
    return trees[0] if len(trees) == 1 else None


class UnableToTakeText(ValueError):
    """A text of more words than somebody wants to have read."""


def statements(text: str, *, dialect: str | type[Dialect] = "spark", most_words: int | None = None) -> list[exp.Expr]:
    """Every statement of a text in one of sqlglot's dialects that is looked at and never run.

    UnableToAllow where it is no SQL, UnableToTakeText where it has too many words.
    """
    spoken = Dialect.get_or_raise(dialect)
    try:
        words = spoken.tokenize(text)
        if most_words is not None and len(words) > most_words:
            raise UnableToTakeText(f"{len(words)} words, names and signs, and at most {most_words} are read")
        return [tree for tree in spoken.parser().parse(words, text) if tree is not None]
    except UnableToTakeText:
        raise
    except Exception as error:  # as above
        raise UnableToAllow(_unreadable(error, text), text) from None


def judge(tree: exp.Expr, rules: Sequence[Rule], text: str, *, skipped: int = 0) -> None:
    """UnableToAllow with the refusal of the first rule that has one."""
    refusal = next((found for rule in rules if (found := rule(tree))), None)
    if refusal is not None:
        raise UnableToAllow(refusal, text, skipped=skipped)


def write(tree: exp.Expr) -> str:
    """The tree as Spark's SQL: no comments, every name in backticks."""
    return tree.sql(dialect=Plain, comments=False, identify=True)


def read_again(sql: str, text: str, *, skipped: int = 0) -> exp.Expr:
    """The tree of what was written for ``text``; UnableToAllow unless it says all that ``text`` says, and only that."""
    lost, tree = None, None
    try:
        lost = lost_word(Plain().tokenize(text), Plain().tokenize(sql))
        (tree,) = sqlglot.parse(sql, dialect=Plain)
        same = tree is not None and write(tree) == sql
    except Exception:  # as above
        same = False
    if lost is not None or not same or tree is None:
        raise UnableToAllow(replace(TWO_WAYS, offset=lost.start if lost else None), text, skipped=skipped)
    return tree


def _unreadable(error: Exception, text: str) -> Refusal:
    if isinstance(error, RecursionError):
        return Refusal(what="it is nested too deep", mend="name the inner parts in a WITH")
    if isinstance(error, TokenError):
        return Refusal(what="a quote, a backtick or a comment is not closed", mend="close it")
    told = _END_OF_TOLD.split(str(error))[0] if isinstance(error, ParseError) else ""
    said = "something is missing" if not told or told.startswith("Required keyword") else told
    return Refusal(what=f"it is no SQL: {shown(said)}", mend="mend the syntax", offset=_offset(error, text))


def _offset(error: Exception, text: str) -> int | None:
    """Where sqlglot stopped: it tells the line and the column of the last letter, both from 1."""
    told = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    line, column = told.get("line"), told.get("col")
    if line is None or column is None:
        return None
    start = sum(len(one) for one in text.splitlines(keepends=True)[: line - 1])
    return max(start, start + int(column) - len(told.get("highlight") or ""))
