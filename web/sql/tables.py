"""Every table that a query reads, each with its place among the selects: which conditions hold of its rows (pure)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from sqlglot import exp

from execution_engine.guard.joins import cte_of, parts_of
from execution_engine.guard.refusal import safe_excerpt
from execution_engine.guard.sql_tree import UnableToTakeText, statements

Name = str  # of a column, in lower case
MOST_SAME = 20  # columns that are set equal, of one column


@dataclass(eq=False)
class Conjuncts:
    """A condition, cut at its ANDs; each part must be true."""

    condition: exp.Expr | None

    def naming(self, table: str, column: Name) -> Sequence[exp.Expr]:
        """Those that name a column behind a table's name; empty: without one."""
        return self._by_column.get((table, column), ())

    @cached_property
    def _by_column(self) -> dict[tuple[str, Name], list[exp.Expr]]:
        conjuncts: dict[tuple[str, Name], list[exp.Expr]] = defaultdict(list)
        for part in parts_of(self.condition) if self.condition is not None else ():
            for named in {(node.table.lower(), node.name.lower()) for node in part.find_all(exp.Column)}:
                conjuncts[named].append(part)
        return conjuncts


@dataclass(eq=False, kw_only=True)
class SelectSource:
    """A place that a select reads from: a table, or a query whose rows are read there."""

    select: "SelectLevel"
    alias: str  # in lower case
    schema: str = ""  # before the name of a table that has no alias
    columns: Sequence[Name] | None = None  # as they are named anew
    is_plain: bool = True  # its columns bear their own names
    is_shown: bool = True  # its columns can be meant where no table is named
    held: list[tuple[Conjuncts, bool]] = field(default_factory=list)  # and whether columns without a table may be its

    def conjuncts(self, of: "SelectSource | None", column: Name) -> Iterator[tuple[exp.Expr, bool]]:
        """What must be true of each of its rows that counts, as far as it names a column of a place."""
        for conjuncts, is_open in self.held:
            if of is not None or is_open:
                for part in conjuncts.naming(of.alias if of is not None else "", column):
                    yield part, is_open


Named = tuple[SelectSource | None, Name]  # a column of a place; None: it is named without a table


@dataclass(eq=False, kw_only=True)
class Result:
    """What a query gives, and the places that read it."""

    query: exp.Expr
    readers: list[SelectSource] = field(default_factory=list)
    columns: Sequence[Name] | None = None  # as a WITH names them
    is_closed: bool = False  # conditions outside say nothing of the rows inside

    def name_at(self, place: int) -> Name | None:
        """The name of the column at a place, which is that of its first select."""
        first = self.query
        while isinstance(first, exp.SetOperation | exp.Subquery):
            first = first.this
        nodes = first.expressions[: place + 1] if isinstance(first, exp.Select) else []
        if len(nodes) <= place or any(_is_star(node) for node in nodes):
            return None
        return str(nodes[place].alias_or_name.lower()) or None


@dataclass(eq=False, kw_only=True)
class SelectLevel:
    """One select."""

    node: exp.Select
    result: Result
    is_named: bool = True  # its names are those of the result; else its places are
    is_closed: bool = False
    sources: list[SelectSource] = field(default_factory=list)

    def source_of(self, column: exp.Column) -> SelectSource | None:
        """The place that a column with a table's name is of; None where it is of none here, or of several."""
        schema = column.args.get("db")
        near = self._by_alias.get(column.table.lower(), [])
        if schema is not None:
            near = [source for source in near if source.schema and source.schema == schema.name.lower()]
        return near[0] if len(near) == 1 else None

    def same_columns(self, source: SelectSource, column: Name) -> set[Named]:
        """The columns that equal a column of a place in each row that counts, as far as we look."""
        equal_columns: set[Named] = {(source, column)}
        waiting: list[Named] = [(source, column), (None, column)]
        while waiting and len(equal_columns) < MOST_SAME:
            for part, is_open in source.conjuncts(*waiting.pop()):
                sides = [part.this.unnest(), part.expression.unnest()] if isinstance(part, exp.EQ) else []
                if len(sides) < 2 or not all(isinstance(side, exp.Column) for side in sides):
                    continue
                memberships = [self.is_among(side, equal_columns, source, column, is_open=is_open) for side in sides]
                if memberships[0] is memberships[1]:
                    continue
                other = sides[memberships.index(False)]
                of = self.source_of(other) if other.table else None
                if of is not None or (not other.table and is_open):
                    equal_columns.add((of, other.name.lower()))
                    waiting.append((of, other.name.lower()))
        return equal_columns

    def is_among(
        self, node: exp.Column, columns: set[Named], source: SelectSource, column: Name, *, is_open: bool
    ) -> bool:
        """Whether a column is one of ``columns``.

        One without a table's name is the source's: it has such a column, and if another table beside it had one too,
        engines would refuse the query as ambiguous.
        """
        name = node.name.lower()
        if node.table:
            of = self.source_of(node)
            return of is not None and (of, name) in columns
        return is_open and ((None, name) in columns or (name == column and (source, name) in columns))

    def outputs(self, source: SelectSource, column: Name) -> Iterator[tuple[Name, int | None]]:
        """As what the select shows a column: name and place, where that is known."""
        if self.is_closed:
            return
        same = {(of, name) for of, name in self.same_columns(source, column) if name == column}
        is_counted = True
        names = {output.alias_or_name.lower() for output in self.node.expressions if not _is_star(output)}
        for place, output in enumerate(self.node.expressions):
            if _is_star(output):
                is_counted = False
                if (
                    column not in names
                    and self._is_all_of(output, source)
                    and self._keeps_rows_apart(exp.column(column), place=None, same=same, source=source, column=column)
                ):
                    yield column, None
                continue
            inner = output.unalias()
            if (
                isinstance(inner, exp.Column)
                and self.is_among(inner, same, source, column, is_open=source.is_shown)
                and self._keeps_rows_apart(output, place=place, same=same, source=source, column=column)
            ):
                yield output.alias_or_name.lower(), place if is_counted else None

    @cached_property
    def _by_alias(self) -> dict[str, list[SelectSource]]:
        sources_by_alias: dict[str, list[SelectSource]] = defaultdict(list)
        for source in self.sources:
            sources_by_alias[source.alias].append(source)
        return sources_by_alias

    @staticmethod
    def _is_all_of(star: exp.Expr, source: SelectSource) -> bool:
        inner = star.this if isinstance(star, exp.Column) else star
        if any(inner.args.get(name) for name in ("except_", "replace", "rename", "except")):
            return False
        if isinstance(star, exp.Column):
            return source.select.source_of(exp.column("x", table=star.table)) is source
        return source.is_shown

    def _keeps_rows_apart(
        self, output: exp.Expr, *, place: int | None, same: set[Named], source: SelectSource, column: Name
    ) -> bool:
        """Whether rows of other values of a column change nothing in the rows of one value."""

        def is_same(node: exp.Expr) -> bool:
            return isinstance(node, exp.Column) and self.is_among(node, same, source, column, is_open=source.is_shown)

        if any(not any(map(is_same, window.args.get("partition_by") or ())) for window in self._windows):
            return False
        if (group := self.node.args.get("group")) is None:
            return not self._is_one_group
        name = output.alias_or_name.lower()
        plain = not any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "totals"))
        return plain and (
            bool(group.args.get("all"))
            or any(
                is_same(expression)
                or (place is not None and isinstance(expression, exp.Literal) and expression.name == str(place + 1))
                or (isinstance(expression, exp.Column) and not expression.table and expression.name.lower() == name)
                for expression in group.expressions
            )
        )

    @cached_property
    def _windows(self) -> list[exp.Window]:
        nodes = [*self.node.expressions, self.node.args.get("qualify")]
        return [window for node in nodes if node is not None for window in node.find_all(exp.Window)]

    @cached_property
    def _is_one_group(self) -> bool:
        """Whether all rows become one: there is an aggregate and no group."""
        nodes = [*self.node.expressions, self.node.args.get("having")]
        return any(node is not None and node.find(exp.AggFunc) is not None for node in nodes)


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


DIALECTS = ("spark", "trino", "presto", "mysql")
MOST_WORDS = 20_000  # of a query, names, signs and literals alike: more takes seconds to read
MOST_PLACES = 500  # where a query names a table or begins a select: what each may see grows with their square
QUIET = (  # they read nothing but by the queries in them
    *(exp.Set, exp.Use, exp.Refresh, exp.Drop, exp.Transaction, exp.Commit, exp.Rollback),
    *(exp.Describe, exp.Semicolon, exp.Create, exp.Insert, exp.Values),
)
CUT = ("limit", "offset")  # what remains of rows behind these depends on the other rows
JOINS = ("", "INNER", "CROSS", "OUTER", "STRAIGHT_JOIN")


class UnableToReadQuery(ValueError):
    """A text that is no query, and where."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableUse:
    """One mention of a table, with its place; None: it is read whole, wherever it stands."""

    name: str
    source: SelectSource | None = None


def table_uses(sql: str, dialect: str = "spark") -> tuple[TableUse, ...]:
    """Every mention of a table that the statements of a text read, in order; raises UnableToReadQuery."""
    try:
        trees = statements(sql, dialect=dialect, most_words=MOST_WORDS)
        places = (node for tree in trees for node in tree.walk() if isinstance(node, exp.Table | exp.Select))
        if next(islice(places, MOST_PLACES, None), None) is not None:
            raise UnableToReadQuery(
                f"The query names tables and begins selects at more than {MOST_PLACES} places: ask in several queries."
            )
        uses = [use for tree in trees for use in _uses(tree, dialect)]
    except RecursionError:
        raise UnableToReadQuery("Cannot read the query: it is nested too deep.") from None
    except UnableToReadQuery:
        raise
    except UnableToTakeText as unable:
        raise UnableToReadQuery(f"The query has {unable}: ask in several queries.") from None
    except Exception as error:  # sqlglot has faults of its own with texts that nobody means: IndexError, KeyError …
        raise UnableToReadQuery(f"Cannot read the query: {error}.") from None
    if not uses and all(isinstance(tree, QUIET) for tree in trees):
        raise UnableToReadQuery("Cannot read the query: it has no select.")
    return tuple(uses)


def _uses(tree: exp.Expr, dialect: str) -> Iterator[TableUse]:
    """Every use of a table; raises UnableToReadQuery for a statement that may read what nobody sees."""
    is_read_whole = isinstance(tree, exp.Merge | exp.Update | exp.Delete | exp.MultitableInserts)
    query = tree if isinstance(tree, exp.Query) else tree.args.get("expression") or tree.args.get("source")
    if not (isinstance(query, exp.Query | exp.Table) or isinstance(tree, QUIET) or is_read_whole):
        start = f"{tree.this} {tree.expression.name}" if isinstance(tree, exp.Command) else tree.key.upper()
        raise UnableToReadQuery(f"Cannot read the statement {safe_excerpt(start[:40])}: send the SELECT in it.")

    def is_read(node: exp.Expr) -> bool:
        return is_read_whole or isinstance(node, exp.Query) or (node is query and isinstance(node, exp.Table))

    roots = [node for node in tree.walk(prune=is_read) if is_read(node)]
    targets = {id(insert.this.find(exp.Table)) for insert in tree.find_all(exp.Insert)}
    tables = [table for root in roots for table in root.find_all(exp.Table, bfs=False)]
    ctes = {id(table): cte_of(table) for table in tables}
    places = _Places(tree, ctes)
    for table in tables:
        cte = ctes[id(table)]
        is_told_apart = dialect == "mysql" and cte is not None and table.name != cte.alias  # it may tell cases apart
        name, arguments = "", table.this.expressions if isinstance(table.this, exp.Anonymous) else []
        if all(isinstance(part, exp.Identifier) for part in table.parts):
            name = ".".join(part.name for part in table.parts)
        elif table.name.lower() == "identifier" and len(arguments) == 1 and isinstance(arguments[0], exp.Literal):
            name = arguments[0].name  # any other function gives rows of its own
        if name and (cte is None or is_told_apart) and id(table) not in targets:
            yield TableUse(name=name, source=places.sources.get(id(table)) if cte is None else None)


class _Places:
    """The places that the selects of a statement read from, by their nodes."""

    def __init__(self, tree: exp.Expr, ctes: Mapping[int, exp.CTE | None]) -> None:
        self.ctes = ctes
        self.sources: dict[int, SelectSource] = {}
        self.results: dict[int, Result] = {}
        for select in tree.find_all(exp.Select):
            self._add(select)

    def _add(self, node: exp.Select) -> None:
        """Take in a select, with the query that it is a part of."""
        is_closed = any(node.args.get(name) for name in ("match", "connect", "kind"))
        is_named = True
        query: exp.Expr = node
        while True:
            is_closed = is_closed or _is_odd(query) or any(query.args.get(name) for name in CUT)
            around = query.parent
            if not isinstance(around, exp.SetOperation | exp.Subquery) or query.arg_key not in ("this", "expression"):
                break
            if query.arg_key == "expression":
                is_named = is_named and bool(around.args.get("by_name"))
            query = around
        distinct, where, from_ = (node.args.get(name) for name in ("distinct", "where", "from_"))
        is_closed = is_closed or bool(distinct is not None and distinct.args.get("on"))
        level = SelectLevel(node=node, result=self._result(query), is_named=is_named, is_closed=is_closed)
        sources = self._relation(from_.this, level) if from_ is not None else []
        sources = self._joined(sources, node.args.get("joins") or (), level)
        if where is not None and not node.args.get("match"):
            conjuncts = Conjuncts(where.this)
            for source in sources:
                source.held.append((conjuncts, source.is_shown))
        views = [lateral.alias.lower() for lateral in node.args.get("laterals") or ()]
        level.sources = [*sources, *(SelectSource(select=level, alias=view, is_plain=False) for view in views)]

    def _result(self, query: exp.Expr) -> Result:
        if id(query) not in self.results:
            columns = _columns_of(query.parent) if isinstance(query.parent, exp.CTE) else None
            self.results[id(query)] = Result(query=query, columns=columns)
        return self.results[id(query)]

    def _relation(self, node: exp.Expr, level: SelectLevel) -> list[SelectSource]:
        """What stands between two joins, with the joins inside it."""
        inner = node.this if isinstance(node, exp.Subquery | exp.Lateral) else None
        columns, alias = _columns_of(node), node.alias_or_name.lower()
        if isinstance(node, exp.Table):
            cte, schema = self.ctes[id(node)], "" if node.alias else node.db.lower()
            is_plain = not _is_odd(node) and (cte is not None or not columns)
            made = [SelectSource(select=level, alias=alias, schema=schema, columns=columns, is_plain=is_plain)]
            if cte is not None:
                result = self._result(cte.this)
                result.readers += made
                around: exp.Expr | None = node
                while around is not None and around is not cte:
                    around = around.parent
                result.is_closed = result.is_closed or around is cte
            self.sources[id(node)] = made[0]
        elif isinstance(node, exp.Subquery) and isinstance(node.unnest(), exp.Table):  # brackets around joins
            made = self._relation(node.this, level)
            for source in made if node.alias or _is_odd(node) else ():
                source.alias, source.schema = node.alias.lower(), ""
                source.is_plain = source.is_plain and len(made) == 1 and not _is_odd(node) and not columns
        else:
            query = node if isinstance(node, exp.Subquery) else inner
            is_plain = isinstance(query, exp.Query) and not _is_odd(node)
            made = [SelectSource(select=level, alias=alias, columns=columns, is_plain=is_plain)]
            if query is not None:
                self._result(query).readers += made
        return self._joined(made, node.args.get("joins") or (), level)

    def _joined(self, first: list[SelectSource], joins: Sequence[exp.Join], level: SelectLevel) -> list[SelectSource]:
        """All that is joined, each with the conditions of joins that its rows must pass to count."""
        before, group = list[SelectSource](), first  # behind a comma, columns without a table are those of what follows
        for join in joins:
            right = self._relation(join.this, level)
            method, side, kind = join.method.upper(), join.side.upper(), join.kind.upper()
            if not any((join.args.get("on"), join.args.get("using"), method, side)) and kind in ("", "CROSS"):
                before, group = before + group, right
                continue
            on = Conjuncts(join.args.get("on"))
            is_left_held, is_right_held = _held(method, side, kind)
            for source in [*before, *group] if is_left_held else ():
                source.held.append((on, source.is_shown and source in group))
            for source in right:
                if is_right_held:
                    source.held.append((on, True))
                source.is_shown = source.is_shown and kind not in ("SEMI", "ANTI")
            group = group + right
        return before + group


def _held(method: str, side: str, kind: str) -> tuple[bool, bool]:
    """Whether rows of the left and of the right count only where the condition of their join is true."""
    if method not in ("", "NATURAL"):
        return False, False
    if kind in ("SEMI", "ANTI"):
        return kind == "SEMI" and side in ("", "LEFT"), side in ("", "LEFT")
    if kind not in JOINS or (kind == "OUTER" and not side):
        return False, False
    return side in ("", "RIGHT"), side in ("", "LEFT")


def _is_odd(node: exp.Expr) -> bool:
    """Whether columns become others on the way, or rows depend on the others."""
    sample = node.args.get("sample")
    return bool(node.args.get("pivots")) or (sample is not None and not sample.args.get("percent"))


def _columns_of(node: exp.Expr) -> Sequence[Name] | None:
    """The names that an alias gives to columns, if it does."""
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return [column.name.lower() for column in columns] if columns else None
