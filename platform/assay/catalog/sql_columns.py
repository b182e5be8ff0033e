"""Which columns upstream each column of a query is made of, by its SQL (pure)."""

from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from .edges import ANY, Columns

DEEPEST = 10  # views that stand on each other
LONGEST_SQL = 50_000  # characters: what is longer takes long to resolve
# what sqlglot raises of statements that it cannot read, or knows by half
UNABLE = (SqlglotError, RecursionError, ValueError, LookupError, TypeError, AttributeError)
OWN_CLAUSES = ("expressions", "with_", "from_", "order")  # of a select: they choose no rows

Table = tuple[str, ...]  # the parts of its name in lower case, such as database, schema and table


def columns_of_query(
    sql: str, dialect: str, tables: Mapping[Table, Sequence[str]], views: Mapping[Table, str] | None = None
) -> dict[Table, Columns]:
    """Of each table that a query reads the columns behind each column of its result; of ``ANY`` those that choose rows.

    ``tables`` are the columns that are known of each table, by which stars are written out, and ``views`` the queries
    that stand for others. Empty where a part of the query cannot be resolved: then nobody knows its columns.
    """
    try:
        query = _query(sql, dialect)
        views = views or {}
        for _ in range(DEEPEST):
            if not (nodes := [table for table in query.find_all(exp.Table) if _parts(table) in views]):
                break
            for table in nodes:
                table.replace(_query(views[_parts(table)], dialect).subquery(table.alias_or_name))
        schema = _schema(query, tables) or None
        query = qualify(query, schema=schema, dialect=dialect, quote_identifiers=False)
        return _columns(query)
    except UNABLE:
        return {}


class _Unresolved(ValueError):
    """A part of a query of which nobody knows what it reads."""


def _query(sql: str, dialect: str) -> exp.Query:
    """The query of a statement that selects, creates, or inserts into columns that it names."""
    if len(sql) > LONGEST_SQL:
        raise _Unresolved
    statement = sqlglot.parse_one(sql, read=dialect)
    names = statement.this.expressions if isinstance(statement, exp.Insert) else []
    query = statement.expression if isinstance(statement, exp.Insert | exp.Create) else statement
    if not isinstance(query, exp.Query) or (isinstance(statement, exp.Insert) and len(names) != len(query.selects)):
        raise _Unresolved
    for name, selection in zip(names, query.selects if names else (), strict=True):
        selection.replace(exp.alias_(selection.unalias(), name.name))
    return query


def table_named(text: str, dialect: str) -> Table:
    """The parts of the name of a table, as SQL of this dialect writes it; none where it is no name."""
    try:
        return _parts(exp.to_table(text, dialect=dialect))
    except UNABLE:
        return ()


def _parts(table: exp.Table) -> Table:
    return tuple(part.name.lower() for part in table.parts)


def _schema(query: exp.Expr, tables: Mapping[Table, Sequence[str]]) -> dict[str, object]:
    """What is known of the tables that the query names, nested as sqlglot has it; all names have as many parts."""
    schema: dict[str, object] = {}
    for table in query.find_all(exp.Table):
        if columns := tables.get(_parts(table)):
            level = schema
            for part in table.parts[:-1]:
                level = level.setdefault(part.name, {})  # type: ignore[assignment]
            level[table.name] = dict.fromkeys(columns, "unknown")
    return schema


def _columns(query: exp.Expr) -> dict[Table, Columns]:
    scopes, results = list(traverse_scope(query)), Results()
    read = [(name, results.column(scopes[-1], place)) for place, name in enumerate(_query_of(scopes[-1]).named_selects)]
    read += [(ANY, results.origins(node, scope)) for scope in scopes for node in _choosing(scope)]
    columns: dict[Table, dict[str, dict[str, None]]] = {}
    for name, origins in read:
        for table, column in sorted(origins):
            columns.setdefault(table, {}).setdefault(name, {})[column] = None
    return {table: {name: tuple(names) for name, names in own.items()} for table, own in columns.items()}


def _query_of(scope: Scope) -> exp.Query:
    if not isinstance(scope.expression, exp.Query):
        raise _Unresolved
    return scope.expression


def _choosing(scope: Scope) -> Iterator[exp.Column]:
    """The columns that choose or join the rows of a scope; of a query within an expression all."""
    if isinstance(scope.expression, exp.Except | exp.Intersect):
        raise _Unresolved
    for node in scope.columns:
        clause: exp.Expr = node
        while clause.parent is not None and clause.parent is not scope.expression:
            clause = clause.parent
        is_cut = clause.arg_key == "order" and scope.expression.args.get("limit") is not None
        if scope.is_subquery or scope.is_udtf or is_cut or clause.arg_key not in OWN_CLAUSES:
            yield node


Origins = frozenset[tuple[Table, str]]  # columns of tables


class Results:
    """What the columns of the results of queries are made of, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Origins] = {}

    def column(self, scope: Scope, place: int) -> Origins:
        """What the column at a place of the result is made of; raises ValueError where nobody knows."""
        key = id(scope), place
        if key not in self._known:
            self._known[key] = self._column(scope, place)
        return self._known[key]

    def _column(self, scope: Scope, place: int) -> Origins:
        if parts := scope.set_operation_scopes:
            return frozenset[tuple[Table, str]]().union(*(self.column(part, place) for part in parts))
        selection = _query_of(scope).selects[place]
        if selection.is_star:
            raise _Unresolved
        inner = {id(node) for query in selection.find_all(exp.Query) for node in query.find_all(exp.Column)}
        nodes = (node for node in selection.find_all(exp.Column) if id(node) not in inner)
        return frozenset[tuple[Table, str]]().union(*(self.origins(node, scope) for node in nodes))

    def origins(self, node: exp.Column, scope: Scope) -> Origins:
        """The columns of tables behind a column that a query names; a correlated one is of a query around it."""
        at: Scope | None = scope
        while at is not None and node.table not in at.sources:
            at = at.parent
        source = at.sources[node.table] if at is not None else None
        if isinstance(source, exp.Table):
            return frozenset({(_parts(source), node.name)})
        if not isinstance(source, Scope):
            raise _Unresolved
        names = [name.lower() for name in _query_of(source).named_selects]
        return self.column(source, names.index(node.name.lower()))
