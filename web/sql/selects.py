"""Selects and what they read from: which conditions hold of the rows of a place, and where its columns go (pure)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from execution_engine.guard.joins import parts_of

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
        found: dict[tuple[str, Name], list[exp.Expr]] = defaultdict(list)
        for part in parts_of(self.condition) if self.condition is not None else ():
            for named in {(node.table.lower(), node.name.lower()) for node in part.find_all(exp.Column)}:
                found[named].append(part)
        return found


@dataclass(eq=False, kw_only=True)
class Source:
    """A place that a select reads from: a table, or a query whose rows are read there."""

    select: "Level"
    alias: str  # in lower case
    schema: str = ""  # before the name of a table that has no alias
    columns: Sequence[Name] | None = None  # as they are named anew
    is_plain: bool = True  # its columns bear their own names
    is_shown: bool = True  # its columns can be meant where no table is named
    held: list[tuple[Conjuncts, bool]] = field(default_factory=list)  # and whether columns without a table may be its

    def conjuncts(self, of: "Source | None", column: Name) -> Iterator[tuple[exp.Expr, bool]]:
        """What must be true of each of its rows that counts, as far as it names a column of a place."""
        for conjuncts, is_open in self.held:
            if of is not None or is_open:
                for part in conjuncts.naming(of.alias if of is not None else "", column):
                    yield part, is_open


Named = tuple[Source | None, Name]  # a column of a place; None: it is named without a table


@dataclass(eq=False, kw_only=True)
class Result:
    """What a query gives, and the places that read it."""

    query: exp.Expr
    readers: list[Source] = field(default_factory=list)
    columns: Sequence[Name] | None = None  # as a WITH names them
    is_closed: bool = False  # conditions outside say nothing of the rows inside

    def name_at(self, place: int) -> Name | None:
        """The name of the column at a place, which is that of its first select."""
        first = self.query
        while isinstance(first, exp.SetOperation | exp.Subquery):
            first = first.this
        nodes = first.expressions[: place + 1] if isinstance(first, exp.Select) else []
        if len(nodes) <= place or any(_is_star(each) for each in nodes):
            return None
        return str(nodes[place].alias_or_name.lower()) or None


@dataclass(eq=False, kw_only=True)
class Level:
    """One select."""

    node: exp.Select
    result: Result
    is_named: bool = True  # its names are those of the result; else its places are
    is_closed: bool = False
    sources: list[Source] = field(default_factory=list)

    def source_of(self, column: exp.Column) -> Source | None:
        """The place that a column with a table's name is of; None where it is of none here, or of several."""
        schema = column.args.get("db")
        near = self._by_alias.get(column.table.lower(), [])
        if schema is not None:
            near = [source for source in near if source.schema and source.schema == schema.name.lower()]
        return near[0] if len(near) == 1 else None

    def same_columns(self, source: Source, column: Name) -> set[Named]:
        """The columns that equal a column of a place in each row that counts, as far as we look."""
        found: set[Named] = {(source, column)}
        waiting: list[Named] = [(source, column), (None, column)]
        while waiting and len(found) < MOST_SAME:
            for part, is_open in source.conjuncts(*waiting.pop()):
                sides = [part.this.unnest(), part.expression.unnest()] if isinstance(part, exp.EQ) else []
                if len(sides) < 2 or not all(isinstance(side, exp.Column) for side in sides):
                    continue
                known = [self.is_among(side, found, source, column, is_open=is_open) for side in sides]
                if known[0] is known[1]:
                    continue
                other = sides[known.index(False)]
                of = self.source_of(other) if other.table else None
                if of is not None or (not other.table and is_open):
                    found.add((of, other.name.lower()))
                    waiting.append((of, other.name.lower()))
        return found

    def is_among(
        self,
        node: exp.Column,
        columns: set[Named],
        source: Source,
        column: Name,
        *,
        is_open: bool,
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

    def outputs(self, source: Source, column: Name) -> Iterator[tuple[Name, int | None]]:
        """As what the select shows a column: name and place, where that is known."""
        if self.is_closed:
            return
        same = {(of, name) for of, name in self.same_columns(source, column) if name == column}
        is_counted = True
        shown = {each.alias_or_name.lower() for each in self.node.expressions if not _is_star(each)}
        for place, each in enumerate(self.node.expressions):
            if _is_star(each):
                is_counted = False
                if (
                    column not in shown
                    and self._is_all_of(each, source)
                    and self._keeps_rows_apart(exp.column(column), place=None, same=same, source=source, column=column)
                ):
                    yield column, None
                continue
            inner = each.unalias()
            if (
                isinstance(inner, exp.Column)
                and self.is_among(inner, same, source, column, is_open=source.is_shown)
                and self._keeps_rows_apart(each, place=place, same=same, source=source, column=column)
            ):
                yield each.alias_or_name.lower(), place if is_counted else None

    @cached_property
    def _by_alias(self) -> dict[str, list[Source]]:
        found: dict[str, list[Source]] = defaultdict(list)
        for source in self.sources:
            found[source.alias].append(source)
        return found

    @staticmethod
    def _is_all_of(star: exp.Expr, source: Source) -> bool:
        inner = star.this if isinstance(star, exp.Column) else star
        if any(inner.args.get(name) for name in ("except_", "replace", "rename", "except")):
            return False
        if isinstance(star, exp.Column):
            return source.select.source_of(exp.column("x", table=star.table)) is source
        return source.is_shown

    def _keeps_rows_apart(
        self,
        shown: exp.Expr,
        *,
        place: int | None,
        same: set[Named],
        source: Source,
        column: Name,
    ) -> bool:
        """Whether rows of other values of a column change nothing in the rows of one value."""

        def is_same(node: exp.Expr) -> bool:
            return isinstance(node, exp.Column) and self.is_among(node, same, source, column, is_open=source.is_shown)

        if any(not any(map(is_same, window.args.get("partition_by") or ())) for window in self._windows):
            return False
        group = self._group
        if group is None:
            return not self._is_one_group
        plain = not any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "totals"))
        return plain and (
            bool(group.args.get("all"))
            or any(
                is_same(each)
                or (place is not None and isinstance(each, exp.Literal) and each.name == str(place + 1))
                or (
                    isinstance(each, exp.Column) and not each.table and each.name.lower() == shown.alias_or_name.lower()
                )
                for each in group.expressions
            )
        )

    @cached_property
    def _group(self) -> exp.Expr | None:
        return self.node.args.get("group")

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
