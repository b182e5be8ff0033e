"""The kinds of node that a tree may consist of; whatever is in no list, known to us or not, is refused."""

import re
from collections.abc import Collection, Iterable, Set
from unicodedata import category

from sqlglot import exp

from .functions import called
from .refusal import Refusal, names, shown

# The names in a tree: plain ones, or stranger ones that the table really has.

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


MAX_NODES = 5_000
MAX_DEPTH = 200  # levels of the tree: Spark reads it by recursion

EXPRESSION = names(
    """
    Add Alias And Anonymous Between BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift
    BitwiseXor Boolean Bracket Case Cast Column CurrentDate CurrentTimestamp DPipe DataType DataTypeParam ColumnDef
    Distinct Div Dot EQ Escape Extract GT GTE HexString ILike Identifier If In IntDiv Interval IntervalSpan Is LT LTE
    Lambda Like Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Or Paren RawString RegexpLike Sub Trim TryCast
    Tuple Var
    """
)
QUERY = EXPRESSION | names(
    """
    All Any Array CTE Cube Except Exists Filter From Group GroupingSets Having IgnoreNulls Intersect Join Lateral
    Limit Offset Order Ordered RespectNulls Rollup Select Star Subquery Table TableAlias Union Values Where Window
    WindowSpec With WithinGroup
    """
)
_PARTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: names("expressions distinct from_ joins laterals where group having windows order limit offset with_"),
    exp.Table: names("this db catalog alias joins laterals"),
    exp.Subquery: names("this alias joins laterals"),
    exp.Join: names("this on using side kind"),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Lateral: frozenset({"this", "view", "outer", "alias"}),
    exp.Star: frozenset({"except_"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.Group: names("expressions cube rollup grouping_sets all"),
}
_LENGTHS = frozenset(
    f"{unit}{plural}"
    for unit in names("year month week day hour minute second millisecond microsecond")
    for plural in ("", "s")
)
_UNITS = _LENGTHS | names("quarter quarters dayofweek dow dayofyear doy yearofweek isoyear dayofweek_iso")
_TYPES = names(
    """
    BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL TEXT VARCHAR CHAR BINARY DATE TIMESTAMP TIMESTAMPTZ
    TIMESTAMPLTZ TIMESTAMPNTZ ARRAY MAP STRUCT INTERVAL
    """
)
_MEND = {
    "qualify": "filter in an outer SELECT",
    "pivots": "write CASE WHEN in an aggregate",
    "sample": "leave the sample out, or filter by a hash of the key",
    "method": "write ON a.key = b.key or USING (key)",
    "recursive": "only tables that are there can be read",
    "sort": "write ORDER BY",
    "distribute": "leave it out",
    "cluster": "leave it out",
    "version": "a test reads the table as it is",
    "Lateral": "join a subquery, or use LATERAL VIEW explode(…)",
    "CurrentUser": "it tells about the session",
    "SessionUser": "it tells about the session",
    **dict.fromkeys(("Subquery", "Exists"), "a query belongs into query(…)"),
    **dict.fromkeys(
        ("Window", "Star", "Filter", "WithinGroup"), "what looks at more than one row belongs into query(…)"
    ),
    "Placeholder": "write the value, or a template such as {window.start:date}",
}
_ELSE = "docs/security.md lists what is"


def check_nodes(tree: exp.Expr, allowed: frozenset[str]) -> Refusal | None:
    """The first node that is of no kind in ``allowed``, has a part that is not expected, or lies too deep."""
    waiting, seen = [(tree, 1)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MAX_NODES or depth > MAX_DEPTH:
            return Refusal(what="it is too long or too deep to be run safely", mend="split it").at(node)
        if refusal := _check_node(node, allowed):
            return refusal.at(node)
        waiting.extend((child, depth + 1) for child in node.iter_expressions(reverse=True))
    return None


def _check_node(node: exp.Expr, allowed: frozenset[str]) -> Refusal | None:
    kind = type(node).__name__
    if kind not in allowed:
        return Refusal(what=f"{kind} is not allowed", mend=_MEND.get(kind, _ELSE))
    parts = _PARTS.get(type(node))
    extra = sorted(name for name, value in node.args.items() if value and parts is not None and name not in parts)
    if extra:
        part = extra[0].rstrip("_")
        return Refusal(what=f"{kind} with {part} is not allowed", mend=_MEND.get(part, _ELSE))
    return _check_value(node)


def _check_value(node: exp.Expr) -> Refusal | None:
    """What is a plain text in the tree, and so has no node of its own."""
    if isinstance(node, exp.Var) and node.name.lower() not in _UNITS and not _is_span(node):
        return Refusal(what=f"{node.name:.40} is no unit of time", mend="write year, month, day, hour, minute, second")
    if type(node) is exp.DataType and not _is_known(node):  # a span of an interval is one of its kinds
        return Refusal(what="a cast to that type is not allowed", mend="cast to a type of Spark's own")
    if isinstance(node, exp.Var) and isinstance(node.parent, exp.Interval) and node.name.lower() not in _LENGTHS:
        what = f"{node.name:.40} is no unit of an interval"
        return Refusal(what=what, mend="write years, months, weeks, days, hours, minutes or seconds")
    if isinstance(node, exp.Alias) and not _may_be_named(node):
        return Refusal(what="a name is given in a place that has none", mend="remove it, or the words around it")
    if isinstance(node, exp.Select) and not node.expressions:
        return Refusal(what="it selects nothing", mend="name what to select")
    if isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Anonymous) and not node.expressions:
        return Refusal(what="nothing stands behind distinct", mend="name what is to be distinct")
    if isinstance(node, exp.Lateral) and not node.args.get("view"):
        return Refusal(what="a lateral subquery is not allowed", mend=_MEND["Lateral"])
    return None


def _may_be_named(node: exp.Alias) -> bool:
    """Whether Spark takes a name there: for a column of a select, or for a field of a struct."""
    call = node.parent
    return isinstance(call, exp.Select) or (isinstance(call, exp.Anonymous) and called(call) == "struct")


def _is_span(node: exp.Var) -> bool:
    """``both`` and ``all`` stand in the tree as variables in some places."""
    words = {exp.Trim: {"both", "leading", "trailing"}, exp.Ordered: {"all"}, exp.Order: {"all"}}
    return node.name.lower() in next((said for kind, said in words.items() if isinstance(node.parent, kind)), set())


def _is_known(type_: exp.DataType) -> bool:
    kind = type_.this
    return isinstance(kind, exp.Interval) or getattr(kind, "name", str(kind)) in _TYPES
