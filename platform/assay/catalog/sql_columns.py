"""Which columns upstream each column of a query is made of, by its SQL (pure)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from .edges import ANY, Columns

DEEPEST = 10  # views that stand on each other
LONGEST_SQL = 50_000  # characters: what is longer takes long to resolve
DEEPEST_TREE = 200  # nodes above each other, such as a chain of OR: it takes the square of them
MOST_WRITTEN_OUT = 20_000  # columns of all tables that a query names, for each of its stars
DIALECTS = {"sqlserver": "tsql", "fabric": "tsql", "synapse": "tsql"}  # databases whose SQL has another name
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
        statement = _statement(sql, dialect)
        query, views = _query(statement), views or {}
        for _ in range(DEEPEST):
            if not (nodes := [table for table in query.find_all(exp.Table) if _parts(table) in views]):
                break
            for table in nodes:
                view = _query(_statement(views[_parts(table)], dialect))
                table.replace(view.subquery(table.alias_or_name))
        schema = _schema(query, tables) or None
        query = qualify(query, schema=schema, dialect=dialect, quote_identifiers=False)
        if _is_by_place(statement) and _lower(query.named_selects) != _lower(tables.get(_target(statement), ())):
            raise _Unresolved
        return _columns(query)
    except UNABLE:
        return {}


def columns_of_job(
    sql: str, dialect: str, inputs: Mapping[str, Sequence[str]], outputs: Mapping[str, Sequence[str]]
) -> tuple[str, dict[str, Columns]]:
    """The output that the SQL of a job writes, and of each input the columns behind those of it; empty if unclear.

    ``inputs`` and ``outputs`` are datasets by full name, with the columns that are known of them. A query that names no
    target writes the only output.
    """
    dialect = dialect_named(dialect)
    try:
        statement = _statement(sql, dialect)
        target, tables = _target(statement), _tables(_query(statement))
    except UNABLE:
        return "", {}
    only = next(iter(outputs)) if len(outputs) == 1 else ""
    written = match_tables({target}, outputs).get(target, "") if target else only
    names = match_tables(tables, known := {**inputs, **outputs})
    if not written or not names:
        return "", {}
    columns_by_table = {table: known[name] for table, name in names.items()} | {target: outputs[written]}
    columns = columns_of_query(sql, dialect, columns_by_table)
    return written, {names[table]: own for table, own in columns.items() if names.get(table) in inputs}


def match_tables(tables: Collection[Table], names: Collection[str]) -> dict[Table, str]:
    """The dataset that each table can only be: all parts of the shorter of their names are the same.

    A table that may be several datasets is left out, and so is one that is not alone in being a dataset.
    """
    pairs = [(table, name) for table in tables for name in names if _is_same(table, name)]
    by_table, by_name = Counter(table for table, _ in pairs), Counter(name for _, name in pairs)
    return {table: name for table, name in pairs if by_table[table] == by_name[name] == 1}


def _is_same(table: Table, name: str) -> bool:
    of_table, of_name = ".".join(table).split("."), name.lower().split(".")
    count = min(len(of_table), len(of_name))
    return of_table[-count:] == of_name[-count:]


def dialect_named(name: str) -> str:
    """By what name sqlglot knows the SQL of a database; empty where it does not."""
    name = DIALECTS.get(name.lower(), name.lower())
    return name if Dialect.get(name) else ""


class _Unresolved(ValueError):
    """A part of a query of which nobody knows what it reads."""


def _statement(sql: str, dialect: str) -> exp.Expr:
    """The only statement of a text."""
    if len(sql) > LONGEST_SQL:
        raise _Unresolved
    statements = [node for node in sqlglot.parse(sql, read=dialect) if node and not isinstance(node, exp.Semicolon)]
    if len(statements) != 1:
        raise _Unresolved
    depths: dict[int, int] = {}
    for node in statements[0].bfs():
        depths[id(node)] = depths.get(id(node.parent), 0) + 1
    if max(depths.values()) > DEEPEST_TREE:
        raise _Unresolved
    return statements[0]


def _target(statement: exp.Expr) -> Table:
    """The table that a statement creates or inserts into; none where it only selects."""
    table = statement.this if isinstance(statement, exp.Insert | exp.Create) else None
    table = table.this if isinstance(table, exp.Schema) else table
    return _parts(table) if isinstance(table, exp.Table) else ()


def _is_by_place(statement: exp.Expr) -> bool:
    """Whether a statement inserts into columns that it does not name."""
    return isinstance(statement, exp.Insert) and not statement.this.expressions


def _query(statement: exp.Expr) -> exp.Query:
    """The query of a statement that selects, creates or inserts; its columns have the names that the statement says."""
    is_writing = isinstance(statement, exp.Insert | exp.Create)
    query = statement.expression if is_writing else statement
    if not isinstance(query, exp.Query):
        raise _Unresolved
    if is_writing and (parts := statement.args.get("with_")):
        if query.args.get("with_"):
            raise _Unresolved
        query.set("with_", parts)
    names = statement.this.expressions if is_writing and isinstance(statement.this, exp.Schema) else []
    if names and len(names) != len(query.selects):
        raise _Unresolved
    for name, selection in zip(names, query.selects if names else (), strict=True):
        selection.replace(exp.alias_(selection.unalias(), name.name))
    return query


def _tables(query: exp.Expr) -> set[Table]:
    """The tables that a query reads, without the parts that it names itself."""
    sources = (source for scope in traverse_scope(query) for source in scope.sources.values())
    return {_parts(source) for source in sources if isinstance(source, exp.Table)}


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def table_named(text: str, dialect: str) -> Table:
    """The parts of the name of a table, as SQL of this dialect writes it; none where it is no name."""
    try:
        return _parts(exp.to_table(text, dialect=dialect))
    except UNABLE:
        return ()


def _parts(table: exp.Table) -> Table:
    return tuple(part.name.lower() for part in table.parts)


def _schema(query: exp.Expr, tables: Mapping[Table, Sequence[str]]) -> dict[str, object]:
    """What is known of the tables that the query names, nested as sqlglot has it: all names have as many parts."""
    schema: dict[str, object] = {}
    nodes = list(query.find_all(exp.Table))
    stars = sum(1 for _ in query.find_all(exp.Star))
    if stars * sum(len(tables.get(_parts(table), ())) for table in nodes) > MOST_WRITTEN_OUT:
        raise _Unresolved
    depth = max((len(table.parts) for table in nodes), default=0)
    for table in nodes:
        if columns := tables.get(_parts(table)):
            level = schema
            for name in (*[""] * (depth - len(table.parts)), *(part.name for part in table.parts[:-1])):
                level = level.setdefault(name, {})  # type: ignore[assignment]
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
        self._places: dict[int, dict[str, int]] = {}  # of each scope its columns by name

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
        if id(source) not in self._places:
            names = _lower(_query_of(source).named_selects)
            self._places[id(source)] = {name: place for place, name in reversed([*enumerate(names)])}
        return self.column(source, self._places[id(source)][node.name.lower()])
