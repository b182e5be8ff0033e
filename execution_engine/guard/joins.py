"""Joins that multiply: each must say what brings its rows together, or add one row only."""

from collections.abc import Iterator

from sqlglot import exp

from .functions import AGGREGATE, called
from .refusal import Refusal
from .tables import cte_of

MAX_JOINS = 16
_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def check_joins(tree: exp.Expr) -> Refusal | None:
    """The first join without a condition between columns, and without a side of one row."""
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
    if join.args.get("using"):
        return True
    said = join.args.get("on")
    if said is not None and any(_is_between_columns(node) for node in said.find_all(*_COMPARISONS)):
        return True
    return _gives_one_row(join.this) or _is_bound_by_where(join)


def _is_bound_by_where(join: exp.Join) -> bool:
    """The old way to join: ``from a, b where a.key = b.key``."""
    select, name = join.parent, join.alias_or_name.lower()
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None:
        return False
    return any(_ties(node, name) for node in _conjuncts(where.this) if isinstance(node, exp.EQ | exp.NullSafeEQ))


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


def _ties(node: exp.Binary, name: str) -> bool:
    """Whether one side names the table and the other side another."""
    left, right = ({column.table.lower() for column in side.find_all(exp.Column)} for side in (node.left, node.right))
    return (name in left and bool(right - {name, ""})) or (name in right and bool(left - {name, ""}))


def _is_between_columns(node: exp.Expr) -> bool:
    sides = list(node.iter_expressions())
    return sum(next(side.find_all(exp.Column), None) is not None for side in sides) > 1


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
