"""The kinds of node that a tree may consist of; whatever is in no list, known to us or not, is refused."""

import re
from collections.abc import Collection
from unicodedata import category

from sqlglot import exp

from .functions import called
from .refusal import Refusal, names, safe_excerpt

# The names in a tree: plain ones, or stranger ones that the table really has.

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
MAX_NAME = 128
# Spark answers these without brackets wherever no column of the name is in sight
SESSION_WORDS = frozenset({"current_user", "user", "session_user", "current_time", "localtime"})
HIDDEN = frozenset({"_metadata"})  # a file's path, beside every row that Spark reads from it
VARIABLES = frozenset({"system", "session"})


def check_names(tree: exp.Expr, columns: Collection[str] | None, *, is_single_table: bool) -> Refusal | None:
    """The first name that is neither plain nor one of ``columns`` (None: whoever asks checks the columns).

    ``is_single_table``: every column is one of these, so that none can mean Spark's own word of that name.
    """
    column_names = {name.lower() for name in columns or ()}
    for column in tree.find_all(exp.Column) if is_single_table and columns is not None else ():
        if column.parts[0].name.lower() not in column_names:
            mend = f"it has {', '.join(sorted(column_names)):.120}" if column_names else "it has none"
            return Refusal(what=f"the table has no column {safe_excerpt(column.parts[0].name)}", mend=mend).at(column)
    for node in tree.find_all(exp.Identifier):
        printable = all(char.isprintable() or category(char) == "Zs" for char in node.name)
        is_fit = 0 < len(node.name) <= MAX_NAME and printable
        if not (is_fit if columns is None else PLAIN.fullmatch(node.name) or node.name.lower() in column_names):
            mend = "use letters, digits and _, or the name of a column that the table has, in backticks"
            return Refusal(what=f"{safe_excerpt(node.name) or 'an empty text'} is no name", mend=mend).at(node)
    if columns is None:
        return None
    words = SESSION_WORDS - column_names if is_single_table else SESSION_WORDS
    for column in tree.find_all(exp.Column):
        first, *more = (part.name.lower() for part in column.parts)
        if not more and first in words:
            mend = f"for a column of that name write t.{first}, t being its table or alias"
            return Refusal(what=f"{first} is not allowed: it tells about the session", mend=mend).at(column)
        if more and first in VARIABLES - column_names:
            mend = "session variables cannot be read"
            return Refusal(what=f"{first} is not the name of a table", mend=mend).at(column)
        if hidden := next((name for name in (first, *more) if name in HIDDEN - column_names), None):
            mend = "name a column of the table"
            return Refusal(what=f"{hidden} is not allowed: it names files", mend=mend).at(column)
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
    is_call = isinstance(node.parent, exp.Anonymous)
    words = _UNITS  # and in some places ``both`` and ``all`` stand in the tree as variables
    if isinstance(node.parent, exp.Trim):
        words |= {"both", "leading", "trailing"}
    elif isinstance(node.parent, exp.Ordered | exp.Order):
        words |= {"all"}
    match node:  # what is a plain text in the tree, and so has no node of its own
        case exp.Var() if node.name.lower() not in words:
            what = f"{node.name:.40} is no unit of time"
            return Refusal(what=what, mend="write year, month, day, hour, minute, second")
        case exp.Var() if isinstance(node.parent, exp.Interval) and node.name.lower() not in _LENGTHS:
            what = f"{node.name:.40} is no unit of an interval"
            return Refusal(what=what, mend="write years, months, weeks, days, hours, minutes or seconds")
        case exp.DataType(this=kind) if (
            type(node) is exp.DataType  # a span of an interval is another
            and not isinstance(kind, exp.Interval)
            and getattr(kind, "name", str(kind)) not in _TYPES
        ):
            return Refusal(what="a cast to that type is not allowed", mend="cast to a type of Spark's own")
        case exp.Alias() if not (isinstance(node.parent, exp.Select) or (is_call and called(node.parent) == "struct")):
            return Refusal(what="a name is given in a place that has none", mend="remove it, or the words around it")
        case exp.Select() if not node.expressions:
            return Refusal(what="it selects nothing", mend="name what to select")
        case exp.Distinct() if is_call and not node.expressions:
            return Refusal(what="nothing stands behind distinct", mend="name what is to be distinct")
        case exp.Lateral() if not node.args.get("view"):
            return Refusal(what="a lateral subquery is not allowed", mend=_MEND["Lateral"])
    return None
