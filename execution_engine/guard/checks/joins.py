"""Joins that multiply: each must say what brings its rows together, or add one row only."""

from collections.abc import Collection, Iterator

from sqlglot import exp

from execution_engine.guard.characters import names
from execution_engine.guard.refusal import Refusal
from execution_engine.guard.tables import cte_of

from .functions import AGGREGATE, called

MAX_JOINS = 16
# functions that tell most values apart, so that what they make equal belongs together
_KEEPS_APART = names(
    """
    lower upper lcase ucase trim ltrim rtrim btrim concat concat_ws lpad coalesce ifnull nvl
    cast try_cast string bigint int date timestamp to_date try_to_date to_timestamp try_to_timestamp date_add date_sub
    add_months date_trunc trunc date_format from_utc_timestamp to_utc_timestamp make_date timestamp_micros
    timestamp_millis timestamp_seconds from_unixtime unix_timestamp hex unhex base64 unbase64 md5 sha sha1 sha2 xxhash64
    substr substring split_part regexp_replace replace
    """
)
_PLAIN = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Cast, exp.TryCast, exp.DataType, exp.Add, exp.Sub,
          exp.DPipe, exp.Interval, exp.Var, exp.Neg)  # fmt: skip


def check_joins(tree: exp.Expr) -> Refusal | None:
    """The first join whose rows no equality of columns of both sides brings together, save with a single row."""
    joins = list(tree.find_all(exp.Join))
    if len(joins) > MAX_JOINS:
        return Refusal(what=f"it has more than {MAX_JOINS} joins", mend="split it").at(joins[MAX_JOINS])
    loose = next((join for join in joins if not _is_bound(join)), None)
    if loose is None:
        return None
    what = "a join says nothing about which rows belong together"
    mend = "write ON a.key = b.key or USING (key); without either, one side must be a single row of aggregates"
    return Refusal(what=what, mend=mend).at(loose)


def _is_bound(join: exp.Join) -> bool:
    if join.args.get("using") or _gives_one_row(join.this):
        return True
    select, name = join.parent, join.alias_or_name.lower()
    if not isinstance(select, exp.Select):
        return False
    others = _sources(select) - {name}
    where = select.args.get("where")
    said = (join.args.get("on"), where.this if where else None)  # from a, b where a.key = b.key
    return any(_ties(node, name, others) for condition in said if condition for node in _conjuncts(condition))


def _sources(select: exp.Select) -> set[str]:
    """The names by which a select calls what it reads."""
    from_ = select.args.get("from_") or select.args.get("from")
    sources = [from_.this] if from_ else []
    sources += [join.this for join in select.args.get("joins") or ()]
    return {source.alias_or_name.lower() for source in sources}


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Paren):
            waiting.append(node.this)
        elif isinstance(node, exp.And):
            waiting.extend((node.left, node.right))
        else:
            yield node


def _ties(node: exp.Expr, name: str, others: set[str]) -> bool:
    """Whether it is an equality of columns of ``name`` alone on one side, and of other sources alone on the other."""
    if not isinstance(node, exp.EQ | exp.NullSafeEQ):
        return False
    left, right = (_names_in(side, {name, *others}) for side in (node.left, node.right))
    return (left == {name} and bool(right) and right <= others) or (right == {name} and bool(left) and left <= others)


def _names_in(side: exp.Expr, sources: Collection[str]) -> set[str]:
    """The sources whose columns it is made of; none where it may make different rows equal: ``id * 0``, ``id - id``."""
    columns = [[part.name.lower() for part in column.parts] for column in side.find_all(exp.Column)]
    if len({".".join(parts) for parts in columns}) < len(columns) or not all(map(_keeps_apart, side.walk())):
        return set()
    return {next((part for part in parts[:-1] if part in sources), "") for parts in columns}


def _keeps_apart(node: exp.Expr) -> bool:
    return isinstance(node, _PLAIN) or (isinstance(node, exp.Anonymous) and called(node) in _KEEPS_APART)


def _gives_one_row(source: exp.Expr) -> bool:
    """Whether it is a select of aggregates alone, in brackets or a WITH."""
    cte = cte_of(source) if isinstance(source, exp.Table) else None
    select = source.this if isinstance(source, exp.Subquery) else cte.this if cte else None
    if not isinstance(select, exp.Select) or select.args.get("group") or select.args.get("laterals"):
        return False
    return bool(select.expressions) and all(_is_aggregate(one) for one in select.expressions)


def _is_aggregate(one: exp.Expr) -> bool:
    calls = [node for node in one.find_all(exp.Anonymous) if called(node) in AGGREGATE]
    return bool(calls) and not any(isinstance(call.parent, exp.Window) for call in calls)
