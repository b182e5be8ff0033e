"""Every table that a query reads, each with its place among the selects (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice

from sqlglot import exp

from execution_engine.guard.characters import shown
from execution_engine.guard.sql_tree import UnableToTakeText, statements
from execution_engine.guard.tables import cte_of

from .selects import Conjuncts, Level, Name, Result, Source

DIALECTS = ("spark", "trino", "presto", "mysql")
MOST_WORDS = 20_000  # of a query, names, signs and literals alike: more takes seconds to read
MOST_PLACES = 500  # where a query names a table or begins a select: what each may see grows with their square
QUIET = (  # they read nothing but by the queries in them
    exp.Set,
    exp.Use,
    exp.Refresh,
    exp.Drop,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Describe,
    exp.Semicolon,
    exp.Create,
    exp.Insert,
    exp.Values,
)
CUT = ("limit", "offset")  # what remains of rows behind these depends on the other rows
JOINS = ("", "INNER", "CROSS", "OUTER", "STRAIGHT_JOIN")


class UnableToReadQuery(ValueError):
    """A text that is no query, and where."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableUse:
    """One mention of a table, with its place; None: it is read whole, wherever it stands."""

    name: str
    source: Source | None = None


def table_uses(sql: str, dialect: str = "spark") -> tuple[TableUse, ...]:
    """Every mention of a table that the statements of a text read, in order; raises UnableToReadQuery."""
    try:
        trees = statements(sql, dialect=dialect, most_words=MOST_WORDS)
        places = (node for tree in trees for node in tree.walk() if isinstance(node, exp.Table | exp.Select))
        if next(islice(places, MOST_PLACES, None), None) is not None:
            raise UnableToReadQuery(
                f"The query names tables and begins selects at more than {MOST_PLACES} places: ask in several queries."
            )
        found = [use for tree in trees for use in _Reader(dialect).read(tree)]
    except RecursionError:
        raise UnableToReadQuery("Cannot read the query: it is nested too deep.") from None
    except UnableToReadQuery:
        raise
    except UnableToTakeText as unable:
        raise UnableToReadQuery(f"The query has {unable}: ask in several queries.") from None
    except Exception as error:  # sqlglot has faults of its own with texts that nobody means: IndexError, KeyError …
        raise UnableToReadQuery(f"Cannot read the query: {error}.") from None
    if not found and all(isinstance(tree, QUIET) for tree in trees):
        raise UnableToReadQuery("Cannot read the query: it has no select.")
    return tuple(found)


@dataclass(kw_only=True)
class _With:
    """A WITH, which is read after all that names it."""

    cte: exp.CTE
    around: "_Withs"  # those that it may name
    result: Result = field(default_factory=Result)
    is_being_read: bool = False


_Withs = Mapping[Name, _With]


class _Reader:
    """Goes through one statement from the outside in."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.found: list[TableUse] = []
        self.seen: set[int] = set()  # nodes that are read as what they are: sources, and the queries of WITHs

    def read(self, tree: exp.Expr) -> list[TableUse]:
        """Every use of a table; raises UnableToReadQuery for a statement that may read what nobody sees."""
        is_read_whole = isinstance(tree, exp.Merge | exp.Update | exp.Delete | exp.MultitableInserts)
        query = tree if isinstance(tree, exp.Query) else tree.args.get("expression") or tree.args.get("source")
        with self._withs(tree if query is not tree else None, {}) as withs:
            if isinstance(query, exp.Query | exp.Table) and not is_read_whole:
                self._query(query, withs, Result())
            elif not isinstance(tree, QUIET) and not is_read_whole:
                start = f"{tree.this} {tree.expression.name}" if isinstance(tree, exp.Command) else tree.key.upper()
                raise UnableToReadQuery(f"Cannot read the statement {shown(start[:40])}: send the SELECT in it.")
            self._inside(tree, withs)  # queries that stand elsewhere, as in the value of a variable
        targets = [insert.this.find(exp.Table) for insert in tree.find_all(exp.Insert)]
        for each in [tree] if is_read_whole else tree.find_all(exp.Query):
            self._left_over(each, targets)
        return self.found

    def _left_over(self, tree: exp.Expr, but: Sequence[exp.Expr | None] = ()) -> None:
        """Tables at places that are not understood, read whole."""
        self.seen |= {id(target) for target in but}
        for table in tree.find_all(exp.Table):
            if id(table) not in self.seen and cte_of(table) is None and (name := _name_of(table)):
                self.seen.add(id(table))
                self.found.append(TableUse(name=name))

    @contextmanager
    def _withs(self, node: exp.Expr | None, around: _Withs) -> Iterator[_Withs]:
        """The WITHs that may be named at a node; its own are read afterwards, the last first."""
        clause = node.args.get("with_") if node is not None else None
        own, known = list[_With](), dict(around)
        for cte in clause.expressions if clause is not None else ():
            named = _With(cte=cte, around=dict(known))
            named.result.columns = _columns_of(cte)
            self.seen.add(id(cte))
            if clause is not None and clause.args.get("recursive"):
                named.around = {**known, cte.alias.lower(): named}
            known[cte.alias.lower()] = named
            own.append(named)
        yield known
        for named in reversed(own):
            named.is_being_read = True
            self._query(named.cte.this, named.around, named.result)
            named.is_being_read = False

    def _query(self, query: exp.Expr, around: _Withs, result: Result) -> None:
        """Read a query: its selects become the leaves of a result, the leftmost first."""
        waiting = [(query, around, True, False)]
        with ExitStack() as stack:
            while waiting:
                node, withs, is_named, is_closed = waiting.pop()
                self.seen.add(id(node))
                if not isinstance(node, exp.Query):
                    self._bare(node, withs, result)
                    continue
                withs = stack.enter_context(self._withs(node, withs))
                is_closed = is_closed or any(node.args.get(name) for name in CUT)
                if isinstance(node, exp.Select):
                    self._select(node, withs, Level(node=node, result=result, is_named=is_named, is_closed=is_closed))
                elif isinstance(node, exp.SetOperation):
                    self.seen |= {id(node.this), id(node.expression)}
                    by_name = is_named and bool(node.args.get("by_name"))
                    waiting += [(node.expression, withs, by_name, is_closed), (node.this, withs, is_named, is_closed)]
                    self._inside(node, withs)
                else:
                    waiting.append((node.this, withs, is_named, is_closed or _is_odd(node)))
                    self._inside(node, withs, but=node.this)

    def _bare(self, node: exp.Expr, withs: _Withs, result: Result) -> None:
        """What stands for a query and is none: a table, or values."""
        level = Level(node=None, result=result, is_closed=True)
        if isinstance(node, exp.Table):
            self._relation(node, level, withs)
        self._inside(node, withs)

    def _select(self, node: exp.Select, withs: _Withs, level: Level) -> None:
        level.result.leaves.append(level)
        level.is_closed = level.is_closed or any(node.args.get(name) for name in ("match", "connect", "kind"))
        distinct, where, from_ = (node.args.get(name) for name in ("distinct", "where", "from_"))
        if distinct is not None and distinct.args.get("on"):
            level.is_closed = True
        sources = self._relation(from_.this, level, withs) if from_ is not None else []
        sources = self._joined(sources, node.args.get("joins") or (), level, withs)
        for lateral in node.args.get("laterals") or ():
            level.sources.append(Source(select=level, alias=lateral.alias.lower(), is_plain=False))
        if where is not None and not node.args.get("match"):
            conjuncts = Conjuncts(where.this)
            for source in sources:
                source.held.append((conjuncts, source.is_shown))
        self._inside(node, withs)

    def _relation(self, node: exp.Expr, level: Level, withs: _Withs) -> list[Source]:
        """What stands between two joins, with the joins inside it."""
        inner = node.this if isinstance(node, exp.Subquery | exp.Lateral) else None
        if isinstance(node, exp.Table):
            made = self._table(node, level, withs)
        elif isinstance(node, exp.Subquery) and _is_relation(inner):
            made = self._relation(node.this, level, withs)
            for source in made if node.alias or _is_odd(node) else ():
                source.alias, source.schema = node.alias.lower(), ""
                source.is_plain = source.is_plain and len(made) == 1 and not _is_odd(node) and not _columns_of(node)
        else:
            source = Source(select=level, alias=node.alias_or_name.lower(), columns=_columns_of(node))
            made = [source]
            query = node if isinstance(node, exp.Subquery) else inner
            if isinstance(query, exp.Query):
                source.is_plain = not _is_odd(node)
                self._query(query, withs, Result(readers=[source]))
            else:
                source.is_plain = False
        level.sources += [source for source in made if source not in level.sources]
        return self._joined(made, node.args.get("joins") or (), level, withs)

    def _table(self, node: exp.Table, level: Level, withs: _Withs) -> list[Source]:
        self.seen.add(id(node))
        alias, columns = node.alias_or_name.lower(), _columns_of(node)
        schema = "" if node.alias else node.db.lower()
        source = Source(select=level, alias=alias, schema=schema, columns=columns, is_plain=not _is_odd(node))
        named = None if node.args.get("db") else withs.get(node.name.lower())
        if named is not None:
            named.result.is_closed = named.result.is_closed or named.is_being_read
            named.result.readers.append(source)
        if (named is None or self._is_told_apart(node, named)) and (name := _name_of(node)):
            source.is_plain = source.is_plain and not columns
            self.found.append(TableUse(name=name, source=source if named is None else None))
        return [source]

    def _is_told_apart(self, node: exp.Table, named: _With) -> bool:
        """Whether the name may be a table's after all: MySQL may tell cases apart."""
        return self.dialect == "mysql" and node.name != named.cte.alias

    def _joined(self, first: list[Source], joins: Sequence[exp.Join], level: Level, withs: _Withs) -> list[Source]:
        """All that is joined, each with the conditions of joins that its rows must pass to count."""
        before, group = list[Source](), first  # behind a comma, columns without a table are those of what follows
        for join in joins:
            right = self._relation(join.this, level, withs)
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

    def _inside(self, node: exp.Expr, withs: _Withs, but: exp.Expr | None = None) -> None:
        """Read the queries that stand in expressions."""
        waiting = [child for child in node.iter_expressions() if child is not but]
        while waiting:
            child = waiting.pop()
            if id(child) in self.seen:
                continue
            if isinstance(child, exp.Query):
                self._query(child, withs, Result())
            else:
                waiting += child.iter_expressions()


def _held(method: str, side: str, kind: str) -> tuple[bool, bool]:
    """Whether rows of the left and of the right count only where the condition of their join is true."""
    if method not in ("", "NATURAL"):
        return False, False
    if kind in ("SEMI", "ANTI"):
        return kind == "SEMI" and side in ("", "LEFT"), side in ("", "LEFT")
    if kind not in JOINS or (kind == "OUTER" and not side):
        return False, False
    return side in ("", "RIGHT"), side in ("", "LEFT")


def _is_relation(node: exp.Expr | None) -> bool:
    """Whether brackets hold a table or joins rather than a query."""
    while isinstance(node, exp.Subquery):
        node = node.this
    return isinstance(node, exp.Table)


def _is_odd(node: exp.Expr) -> bool:
    """Whether columns become others on the way, or rows depend on the others."""
    sample = node.args.get("sample")
    return bool(node.args.get("pivots")) or (sample is not None and not sample.args.get("percent"))


def _columns_of(node: exp.Expr) -> Sequence[Name] | None:
    """The names that an alias gives to columns, if it does."""
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return [column.name.lower() for column in columns] if columns else None


def _name_of(node: exp.Table) -> str:
    """The name as it is written; empty for a function that gives rows."""
    if all(isinstance(part, exp.Identifier) for part in node.parts):
        return ".".join(part.name for part in node.parts)
    said = node.this.expressions if isinstance(node.this, exp.Anonymous) and node.name.lower() == "identifier" else []
    return said[0].name if len(said) == 1 and isinstance(said[0], exp.Literal) else ""
