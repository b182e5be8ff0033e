"""Which tables a query reads and, where their partition column is compared with literals, which partitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from assay.time.stored_times import StoredTimes
from assay.time.windows import Partitioning, UnableToPartition, Window
from execution_engine.guard.sql_tree import UnableToTakeText, statements
from execution_engine.guard.tables import name_of, places_of
from incident_manager.intervals import Intervals, subtract, union

MOST_WORDS = 20_000  # of a query, names, signs and literals alike: more takes seconds to read
MOST_PLACES = 500  # where a query names a table or begins a select: what each may see grows with their square
INSTANT = timedelta(microseconds=1)
FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


class UnableToReadQuery(ValueError):
    """A text that is no query, and where."""


@dataclass(frozen=True, kw_only=True)
class ColumnComparison:
    """``column operator literals``, as it stands in a conjunction of a where-clause."""

    column: str
    operator: type[exp.Expr]
    literals: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TableUse:
    """One mention of a table, with the comparisons that its rows must pass."""

    name: str
    comparisons: tuple[ColumnComparison, ...]


def table_uses(sql: str) -> tuple[TableUse, ...]:
    """Every table that a query reads, in order; raises UnableToReadQuery.

    Only conjuncts of the where-clause beside the table count, and of several tables only qualified columns:
    whatever is not understood makes the range wider, never narrower.
    """
    try:
        trees = statements(sql, most_words=MOST_WORDS)
        places = (node for tree in trees for node in tree.walk() if isinstance(node, exp.Table | exp.Select))
        if next(islice(places, MOST_PLACES, None), None) is not None:
            raise UnableToReadQuery(
                f"The query names tables and begins selects at more than {MOST_PLACES} places: ask in several queries."
            )
        found = dict.fromkeys(use for scope in _scopes(trees) for use in _uses(scope))
        names = {use.name for use in found}
        return tuple(found) + tuple(use for use in _named(trees) if use.name not in names)
    except RecursionError:
        raise UnableToReadQuery("Cannot read the query: it is nested too deep.") from None
    except UnableToReadQuery:
        raise
    except UnableToTakeText as unable:
        raise UnableToReadQuery(f"The query has {unable}: ask in several queries.") from None
    except Exception as error:  # sqlglot has faults of its own with texts that nobody means: IndexError, KeyError …
        raise UnableToReadQuery(f"Cannot read the query: {error}.") from None


def _scopes(trees: Sequence[exp.Expr]) -> list[Scope]:
    """Every select of the statements, with what it reads."""
    scopes = [scope for tree in trees for query in _queries(tree) for scope in traverse_scope(query)]
    if not scopes:
        raise UnableToReadQuery("Cannot read the query: it has no select.")
    return scopes


def ranges(
    use: TableUse, column: str, partitioning: Partitioning, whole: Window, times: StoredTimes | None = None
) -> Intervals:
    """The parts of ``whole`` that a use reads; all of it where the partition column is not compared with keys.

    Where the column holds ``times``, it is compared with these, in the zone in which they are stored.
    """
    found: Intervals = (whole,)
    for comparison in use.comparisons:
        if comparison.column == column.lower():
            allowed = _allowed(comparison, partitioning, whole) if times is None else _at(comparison, times, whole)
            found = found if allowed is None else subtract(found, subtract(found, allowed))  # what lies in both
    return found


def _queries(statement: exp.Expr) -> Iterator[exp.Query]:
    """The outermost queries of a statement; ``create table … as`` and ``insert … select`` read too."""
    if isinstance(statement, exp.Query):
        yield statement
    elif isinstance(statement.args.get("expression"), exp.Query):
        yield statement.args["expression"]


def _named(statements: Sequence[exp.Expr]) -> Iterator[TableUse]:
    """Every table by Spark's own rule, read whole: a scope takes a table whose alias is a WITH's name for the WITH."""
    places = [place for statement in statements for query in _queries(statement) for place in places_of(query)]
    yield from dict.fromkeys(TableUse(name=name_of(place), comparisons=()) for place in places)


def _uses(scope: Scope) -> Iterator[TableUse]:
    where = scope.expression.args.get("where")
    comparisons = list(_comparisons(where.this)) if where else []
    for alias, source in scope.sources.items():
        if not isinstance(source, exp.Table) or alias not in scope.selected_sources:
            continue
        is_alone = len(scope.selected_sources) == 1
        own = [found for table, found in comparisons if table == alias.lower() or (not table and is_alone)]
        name = ".".join(part.name for part in source.parts)
        yield TableUse(name=name, comparisons=tuple(own))


def _comparisons(condition: exp.Expr) -> Iterator[tuple[str, ColumnComparison]]:
    """The comparisons of columns with literals among the conjuncts, each with its table's alias, if it has one."""
    for conjunct in condition.flatten() if isinstance(condition, exp.And) else (condition,):
        conjunct = conjunct.unnest()
        if isinstance(conjunct, exp.And):
            yield from _comparisons(conjunct)
        elif isinstance(conjunct, exp.Between):
            yield from _made(conjunct.this, exp.GTE, [conjunct.args["low"]])
            yield from _made(conjunct.this, exp.LTE, [conjunct.args["high"]])
        elif isinstance(conjunct, exp.In) and conjunct.expressions:
            yield from _made(conjunct.this, exp.EQ, conjunct.expressions)
        elif type(conjunct) in FLIPPED and isinstance(conjunct.expression, exp.Column):
            yield from _made(conjunct.expression, FLIPPED[type(conjunct)], [conjunct.this])
        elif type(conjunct) in FLIPPED:
            yield from _made(conjunct.this, type(conjunct), [conjunct.expression])


def _made(column: exp.Expr, operator: type[exp.Expr], values: list[exp.Expr]) -> Iterator[tuple[str, ColumnComparison]]:
    literals = [_literal(value) for value in values]
    if isinstance(column, exp.Column) and None not in literals:
        texts = tuple(text for text in literals if text is not None)
        yield column.table.lower(), ColumnComparison(column=column.name.lower(), operator=operator, literals=texts)


def _literal(value: exp.Expr) -> str | None:
    inner = value.this if isinstance(value, exp.Cast) else value
    return inner.name if isinstance(inner, exp.Literal) else None


def _allowed(comparison: ColumnComparison, partitioning: Partitioning, whole: Window) -> Intervals | None:
    """The time that a comparison leaves; None where a literal is no key."""
    try:
        windows = [partitioning.window(literal) for literal in comparison.literals]
    except UnableToPartition:
        return None
    if comparison.operator is exp.EQ:
        return union(windows)
    (window,) = windows
    start, end = whole.start, whole.end
    if comparison.operator in (exp.GT, exp.GTE):
        start = max(start, window.end if comparison.operator is exp.GT else window.start)
    else:
        end = min(end, window.start if comparison.operator is exp.LT else window.end)
    return _between(start, end)


def _at(comparison: ColumnComparison, times: StoredTimes, whole: Window) -> Intervals | None:
    """The same of literals that are times; one that the clocks showed twice leaves the more."""
    found = [ends for ends in map(times.instants, comparison.literals) if ends is not None]
    if len(found) < len(comparison.literals):
        return None
    if comparison.operator is exp.EQ:
        return union(times.partitioning.at(instant) for ends in found for instant in ends)
    ((first, last),) = found
    if comparison.operator in (exp.GT, exp.GTE):
        return _between(max(whole.start, first), whole.end)
    until = last if comparison.operator is exp.LT else last + INSTANT
    return _between(whole.start, min(whole.end, until))


def _between(start: datetime, end: datetime) -> Intervals:
    return (Window(start=start, end=end),) if start < end else ()
