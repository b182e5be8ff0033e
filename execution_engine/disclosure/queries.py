"""What a query reads, and how it comes by a sensitive column (pure)."""

from sqlglot import exp

from execution_engine.guard.checks.joins import name_of, places_of
from execution_engine.guard.refusal import UnableToAllow
from execution_engine.guard.sql_tree import Plain, statements


def tables_of(text: str) -> list[str]:
    """The tables that a text names, once for each place; none of one that cannot be read."""
    return [name_of(place) for tree in _read(text) for place in places_of(tree)]


def way_to(sensitive: frozenset[str], text: str) -> str | None:
    """How a query reads, or may read, a column of ``sensitive``; None if it cannot.

    By its name, by a star, or by new names for all columns of a table.
    """
    trees = _read(text)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return "it cannot be read"
    for node in trees[0].walk():
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


def _read(text: str) -> list[exp.Expr]:
    try:
        return statements(text, dialect=Plain)
    except UnableToAllow:
        return []  # the guard refuses it, and says why
