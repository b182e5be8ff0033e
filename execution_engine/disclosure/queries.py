"""What a query reads, and how it comes by a sensitive column (pure)."""

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from execution_engine.guard.dialect import Plain
from execution_engine.guard.tables import name_of, places_of


def tables_of(text: str) -> list[str]:
    """The tables that a query names; none of one that cannot be read."""
    tree = _read(text)
    return [] if tree is None else [name_of(place) for place in places_of(tree)]


def way_to(sensitive: frozenset[str], text: str) -> str | None:
    """How a query reads, or may read, a column of ``sensitive``; None if it cannot.

    By its name, by a star, or by new names for all columns of a table.
    """
    tree = _read(text)
    if tree is None:
        return "it cannot be read"
    for node in tree.walk():
        if isinstance(node, exp.Identifier) and node.name.casefold() in sensitive:
            return node.name
        if isinstance(node, exp.Star) and not _is_counted(node):
            return "*"
        if isinstance(node, exp.TableAlias) and node.columns and isinstance(node.parent, exp.Table):
            return node.name
    return None


def _is_counted(star: exp.Star) -> bool:
    """``count(*)`` looks at no column."""
    return isinstance(star.parent, exp.Anonymous) and star.parent.name.lower() == "count"


def _read(text: str) -> exp.Query | None:
    try:
        tree = sqlglot.parse_one(text, dialect=Plain)
    except (SqlglotError, RecursionError, IndexError, AttributeError):
        return None  # the guard refuses it, and says why
    return tree if isinstance(tree, exp.Query) else None
