"""The names in a tree: plain ones, or stranger ones that the table really has."""

import re
from collections.abc import Collection, Iterable, Set
from unicodedata import category

from sqlglot import exp

from execution_engine.guard.characters import shown
from execution_engine.guard.refusal import Refusal

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
MAX_NAME = 128
# Spark answers these without brackets wherever no column of the name is in sight
SESSION_WORDS = frozenset({"current_user", "user", "session_user", "current_time", "localtime"})
HIDDEN = frozenset({"_metadata"})  # a file's path, beside every row that Spark reads from it
VARIABLES = frozenset({"system", "session"})


def check_names(tree: exp.Expr, columns: Collection[str] | None, *, one_table: bool) -> Refusal | None:
    """The first name that is neither plain nor one of ``columns`` (None: whoever asks checks the columns).

    ``one_table``: every column is one of these, so that none can mean Spark's own word of that name.
    """
    if columns is None:
        return _first(_check_printable(node) for node in tree.find_all(exp.Identifier))
    known = {name.lower() for name in columns}
    words = SESSION_WORDS - known if one_table else SESSION_WORDS
    if one_table and (strange := _first(_check_there(node, known) for node in tree.find_all(exp.Column))):
        return strange
    for node in tree.find_all(exp.Identifier):
        if not PLAIN.fullmatch(node.name) and node.name.lower() not in known:
            return _no_name(node)
    return _first(_check_column(node, known, words) for node in tree.find_all(exp.Column))


def _first(refusals: Iterable[Refusal | None]) -> Refusal | None:
    return next((refusal for refusal in refusals if refusal), None)


def _check_printable(node: exp.Identifier) -> Refusal | None:
    printable = all(char.isprintable() or category(char) == "Zs" for char in node.name)
    return None if 0 < len(node.name) <= MAX_NAME and printable else _no_name(node)


def _check_there(node: exp.Column, known: set[str]) -> Refusal | None:
    name = node.parts[0].name
    if name.lower() in known:
        return None
    mend = f"it has {', '.join(sorted(known)):.120}" if known else "it has none"
    return Refusal(what=f"the table has no column {shown(name)}", mend=mend).at(node)


def _no_name(node: exp.Identifier) -> Refusal:
    mend = "use letters, digits and _, or the name of a column that the table has, in backticks"
    return Refusal(what=f"{shown(node.name) or 'an empty text'} is no name", mend=mend).at(node)


def _check_column(node: exp.Column, known: set[str], words: Set[str]) -> Refusal | None:
    first, *more = (part.name.lower() for part in node.parts)
    if not more and first in words:
        mend = f"for a column of that name write t.{first}, t being its table or alias"
        return Refusal(what=f"{first} is not allowed: it tells about the session", mend=mend).at(node)
    if more and first in VARIABLES - known:
        return Refusal(what=f"{first} is not the name of a table", mend="session variables cannot be read").at(node)
    hidden = next((name for name in (first, *more) if name in HIDDEN - known), None)
    if hidden:
        return Refusal(what=f"{hidden} is not allowed: it names files", mend="name a column of the table").at(node)
    return None
