"""A query that users write: one SELECT over the tables that the caller names, and over no others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from execution_engine.guard.checks.functions import IN_QUERIES, check_functions
from execution_engine.guard.checks.growth import check_growth
from execution_engine.guard.checks.joins import check_joins
from execution_engine.guard.checks.names import check_names
from execution_engine.guard.checks.nodes import QUERY, check_nodes
from execution_engine.guard.checks.patterns import check_patterns

from .backticks import told_of_backticks
from .characters import MAX_QUERY
from .refusal import Refusal, UnableToAllow
from .sql_tree import judge, parse_one, read_again, write
from .tables import check_names_of_ctes, check_places, check_reads, name_of, places_of

MAX_COLUMNS = 256  # of one select


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query that was found to be harmless. Only what ``over`` gives may be run, never the text it was read from."""

    tree: exp.Query
    sql: str

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that it reads, as the caller's list has them."""
        return tuple(dict.fromkeys(name_of(place) for place in places_of(self.tree)))

    def over(self, views: Mapping[str, str]) -> str:
        """Its SQL over the views, each under the name that its table had."""
        tree = self.tree.copy()
        for column in tree.find_all(exp.Column):
            if f"{column.db}.{column.table}" in views:
                column.set("db", None)
        for place in places_of(tree):
            alias = place.args.get("alias") or exp.TableAlias(this=exp.to_identifier(place.name, quoted=True))
            view = exp.to_identifier(views[name_of(place)], quoted=True)
            for part, value in {"alias": alias, "db": None, "catalog": None, "this": view}.items():
                place.set(part, value)
        return write(tree)


def read_query(text: str, tables: Collection[str], columns: Collection[str] = ()) -> Query:
    """The query in ``text``, in Spark's SQL; UnableToAllow if it is anything but one harmless SELECT over ``tables``.

    ``columns``: of these tables, where they are known; the only ones whose names may be more than letters and digits.
    """
    try:
        return _read(text, tables, columns)
    except UnableToAllow as refused:
        raise told_of_backticks(
            refused, text, lambda tried: _columns(_read(tried, tables, columns)), columns=columns or None
        ) from None


def _columns(query: Query) -> set[str]:
    """The names of its columns, their tables among them; a query that reads no table has none."""
    if not query.names:
        return set()
    return {part.name for column in query.tree.find_all(exp.Column) for part in column.parts}


def _read(text: str, tables: Collection[str], columns: Collection[str]) -> Query:
    tree = parse_one(text, MAX_QUERY)
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise UnableToAllow(Refusal(what="it must be exactly one SELECT", mend="write select … from …"), text)
    rules = (
        partial(check_nodes, allowed=QUERY),
        partial(check_functions, allowed=IN_QUERIES),
        partial(_check_tables, tables=tables),
        partial(check_names, columns=columns, one_table=False),
        _check_width,
        check_patterns,
        check_growth,
        check_joins,
    )
    judge(tree, rules, text)
    sql = write(tree)
    again = read_again(sql, text)
    judge(again, rules, sql)
    return Query(tree=tree, sql=sql)


def _check_tables(tree: exp.Expr, tables: Collection[str]) -> Refusal | None:
    if not isinstance(tree, exp.Query):
        return Refusal(what="it must be exactly one SELECT", mend="write select … from …")
    return check_places(places_of(tree), tables) or check_names_of_ctes(tree) or check_reads(tree)


def _check_width(tree: exp.Expr) -> Refusal | None:
    wide = next((select for select in tree.find_all(exp.Select) if len(select.expressions) > MAX_COLUMNS), None)
    if wide is None:
        return None
    what = f"a select gives more than {MAX_COLUMNS} columns"
    return Refusal(what=what, mend="name those that the test needs").at(wide.expressions[MAX_COLUMNS])
