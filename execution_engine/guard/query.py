"""A query that users write: one SELECT over the tables that the caller names, and over no others."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, islice

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, TokenError, UnsupportedError
from sqlglot.tokenizer_core import Token, TokenType

from execution_engine.metrics.expressions import path_of

from .functions import IN_CONDITIONS, IN_QUERIES, check_functions, check_growth, check_patterns
from .joins import check_joins, check_names_of_ctes, check_places, check_reads, name_of, places_of
from .nodes import EXPRESSION, PLAIN, QUERY, SESSION_WORDS, check_names, check_nodes
from .postgresql import write_postgresql
from .refusal import MAX_CONDITION, MAX_QUERY, Refusal, UnableToAllow, safe_excerpt
from .sql_tree import TWO_WAYS, MariaDB, Plain, Rule, judge, parse_one, read_again, unreadable, write
from .warehouses import WAREHOUSES, write_warehouse

# Columns whose names are words of SQL: those that, between backticks, would make a refused text an allowed one.

MOST_WORDS = 300  # of a text that is tried: each trial reads all of it
MOST_TRIALS = 8  # for each of the names
MOST_NAMES = 3
_FREE_WORDS = {TokenType.VAR, TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER}
_GRAMMAR = frozenset(Plain.Parser.NO_PAREN_FUNCTION_PARSERS)  # words that only the parser knows


def advise_backticks(
    refused: UnableToAllow,
    text: str,
    names: Callable[[str], Iterable[str]],
    *,
    columns: Collection[str] | None,
    before: str = "",
) -> UnableToAllow:
    """The refusal; its mending tells of backticks if words of ``text`` between them make it a text to allow.

    ``names`` gives those of a text's columns, or raises UnableToAllow; ``columns``: the only ones to try, None for any;
    ``before``: what the guard puts before the text. Where no word alone mends it, the one that moves the fault nearest
    to the end is chosen, and the others are tried then.
    """
    fault, tried_text, chosen = refused, text, list[str]()
    while len(chosen) < MOST_NAMES:
        furthest, choice = _distance_to_end(fault, tried_text), None
        for name, trial in _trials(fault, tried_text, columns, before):
            words = [*chosen, name]
            try:
                if {word.lower() for word in words} <= {column.lower() for column in names(trial)}:
                    quoted = ", ".join(f"`{word}`" for word in words)
                    if len(words) == 1:
                        advice = f"if {words[0]} is a column's name, put it between backticks: {quoted}"
                    else:
                        advice = f"if {' and '.join(words)} are names of columns, put them between backticks: {quoted}"
                    return refused.with_refusal(replace(refused.refusal, mend=f"{refused.refusal.mend}; {advice}"))
            except UnableToAllow as again:
                if (distance := _distance_to_end(again, trial)) < furthest:
                    furthest, choice = distance, (again, trial, words)
        if choice is None:
            break
        fault, tried_text, chosen = choice
    return refused


def _distance_to_end(refused: UnableToAllow, text: str) -> int:
    """Characters but backticks from the fault to the end of the text; all where its place is not known."""
    return len(text[refused.offset or 0 :].replace("`", ""))


def _trials(
    refused: UnableToAllow, text: str, columns: Collection[str] | None, before: str
) -> Iterator[tuple[str, str]]:
    """Names that are words of SQL, and the text with each between backticks; those near the fault first.

    Every place of a word at once, as of a column that is named twice; then each by itself, as in ``like like 'x%'``.
    """
    try:
        words = Plain().tokenize(f"{before}{text}")
    except TokenError:
        return
    if len(words) > MOST_WORDS:
        return
    column_names = None if columns is None else {name.lower() for name in columns}
    fault = len(before) + (refused.offset or 0)
    candidates: list[Token] = []
    for word in sorted(words[1:], key=lambda word: abs(word.start - fault)):
        is_free = word.token_type in _FREE_WORDS and word.text.upper() not in _GRAMMAR
        is_column = PLAIN.fullmatch(word.text) and (column_names is None or word.text.lower() in column_names)
        if word.start >= len(before) and is_column and not is_free:
            candidates.append(word)
    places: dict[str, list[Token]] = {}
    for word in candidates:
        places.setdefault(word.text.lower(), []).append(word)
    single = ([word] for word in candidates if len(places[word.text.lower()]) > 1)
    for same in islice(chain(places.values(), single), MOST_TRIALS):
        trial = text
        for word in sorted(same, key=lambda word: word.start, reverse=True):
            start, end = word.start - len(before), word.start - len(before) + len(same[0].text)
            trial = f"{trial[:start]}`{trial[start:end]}`{trial[end:]}"
        yield same[0].text, trial


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

    def names_in(trial: str) -> set[str]:
        """The names of its columns, their tables among them; a query that reads no table has none."""
        query = _read_query(trial, tables, columns)
        return {part.name for column in query.tree.find_all(exp.Column) for part in column.parts if query.names}

    try:
        return _read_query(text, tables, columns)
    except UnableToAllow as refused:
        raise advise_backticks(refused, text, names_in, columns=columns or None) from None


def _read_query(text: str, tables: Collection[str], columns: Collection[str]) -> Query:
    tree = parse_one(text, MAX_QUERY)
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise UnableToAllow(Refusal(what="it must be exactly one SELECT", mend="write select … from …"), text)

    def check_tables(tree: exp.Expr) -> Refusal | None:
        if not isinstance(tree, exp.Query):
            return Refusal(what="it must be exactly one SELECT", mend="write select … from …")
        return check_places(places_of(tree), tables) or check_names_of_ctes(tree) or check_reads(tree)

    rules = (
        partial(check_nodes, allowed=QUERY),
        partial(check_functions, allowed=IN_QUERIES),
        check_tables,
        partial(check_names, columns=columns, is_single_table=False),
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


def _check_width(tree: exp.Expr) -> Refusal | None:
    for select in tree.find_all(exp.Select):
        if len(select.expressions) > MAX_COLUMNS:
            what = f"a select gives more than {MAX_COLUMNS} columns"
            return Refusal(what=what, mend="name those that the test needs").at(select.expressions[MAX_COLUMNS])
    return None


# A condition that users write: one expression over the columns of one table, and nothing else.

_DIALECTS = {"mysql": MariaDB}
_BEFORE, _AFTER = "select 1 where (\n", "\n)"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition that was found to be harmless. Only ``sql`` may be run, never the text it was read from."""

    tree: exp.Expr
    sql: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, in their order; of a field of a struct, the struct."""
        return tuple(dict.fromkeys(path[0] for path in self.paths))

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The same with the fields of structs behind them: ``address.city`` is ("address", "city")."""
        columns = self.tree.find_all(exp.Column, bfs=False)
        return tuple(dict.fromkeys(tuple(part.name for part in column.parts) for column in columns))

    def into(self, dialect: str, types: Mapping[str, str | None] | None = None) -> str:
        """The same for another database, by sqlglot's name of its dialect; UnableToAllow where it has no such thing.

        ``types``: of the table's columns by their names, as the database names them.
        """
        tree = self.tree.copy()
        for name in tree.find_all(exp.Identifier):
            name.set("quoted", name.args.get("quoted") or name.name.lower() in SESSION_WORDS)
        plain = tree.sql(dialect=Plain, comments=False)
        try:
            spark_tree = sqlglot.parse_one(plain, dialect="spark")
            if dialect == "postgres":
                return write_postgresql(spark_tree, types or {})
            if dialect in WAREHOUSES:
                return write_warehouse(spark_tree, dialect, types or {})
            judge(spark_tree, (_check_indexes,), plain)
            return spark_tree.sql(
                dialect=_DIALECTS.get(dialect, dialect), comments=False, unsupported_level=ErrorLevel.RAISE
            )
        except UnableToAllow:
            raise
        except UnsupportedError as error:
            what = f"{dialect} has no such expression: {safe_excerpt(str(error).splitlines()[0])}"
            raise UnableToAllow(Refusal(what=what, mend="write it more plainly"), plain) from None
        except Exception as error:  # sqlglot raises AttributeError and the like for arguments that are missing
            raise UnableToAllow(unreadable(error, plain), plain) from None


def _check_indexes(tree: exp.Expr) -> Refusal | None:
    """The first index that is computed: databases count from 0 or from 1, and sqlglot moves only one that it can read.

    A negative one counts from the end in Spark's ``element_at``, and is NULL or nothing elsewhere.
    """
    for index in (index for bracket in tree.find_all(exp.Bracket) for index in bracket.expressions):
        if not isinstance(index, exp.Literal):
            what = "an index that is computed or negative means another element in another database"
            return Refusal(what=what, mend="write it as a number or a text").at(index)
    return None


def read_condition(text: str, columns: Collection[str] | None = None) -> Condition:
    """The condition in ``text``, in Spark's SQL; UnableToAllow if it is anything but one harmless expression.

    ``columns``: of its table. Without them the caller must check that the table has ``Condition.columns``.
    """
    return _read_of_any(text) if columns is None else _read_or_tell(text, columns)


def _read_or_tell(text: str, columns: Collection[str] | None) -> Condition:
    try:
        return _read_condition(text, columns)
    except UnableToAllow as refused:
        raise advise_backticks(
            refused, text, lambda tried: chain(*_read_condition(tried, columns).paths), columns=columns, before=_BEFORE
        ) from None


_read_of_any = lru_cache(maxsize=4096)(partial(_read_or_tell, columns=None))  # a scan of hundreds repeats a few


def _read_condition(text: str, columns: Collection[str] | None) -> Condition:
    tree = _only_expression(parse_one(text, MAX_CONDITION, before=_BEFORE, after=_AFTER))
    if tree is None:
        mend = "write one expression over the columns; a query belongs into query(…)"
        raise UnableToAllow(Refusal(what="it is not one condition", mend=mend), text)
    rules: tuple[Rule, ...] = (
        partial(check_nodes, allowed=EXPRESSION),
        partial(check_functions, allowed=IN_CONDITIONS),
        partial(check_names, columns=columns, is_single_table=True),
        check_patterns,
        check_growth,
    )
    whole = f"{_BEFORE}{text}{_AFTER}"
    judge(tree, rules, whole, skipped=len(_BEFORE))
    sql = write(tree)
    judge(read_inside(sql, whole, skipped=len(_BEFORE)), rules, sql)
    return Condition(tree=tree, sql=sql)


def read_inside(sql: str, text: str, *, skipped: int = 0) -> exp.Expr:
    """The tree of a condition that was written for ``text``; UnableToAllow if brackets around it hold it not together.

    As all that was read is written the same again, nothing but the brackets can differ.
    """
    inner = _only_expression(read_again(f"SELECT 1 WHERE ({sql})", text, skipped=skipped))
    if inner is None:
        raise UnableToAllow(TWO_WAYS, text, skipped=skipped)
    return inner


def _only_expression(tree: exp.Expr | None) -> exp.Expr | None:
    """What is in the brackets, if the text did not close them to say something else."""
    if not isinstance(tree, exp.Select):
        return None
    parts, where = {name for name, value in tree.args.items() if value}, tree.args.get("where")
    bracket = where.this if isinstance(where, exp.Where) and parts == {"expressions", "where"} else None
    inner = bracket.this if isinstance(bracket, exp.Paren) else None
    return None if isinstance(inner, exp.Alias) else inner


# How a condition names a column.

_PLACES = ("{} = ''", "not {} > 1", "abs({}) > 1", "{} - 1 > 0", "{} not in ('')")  # where words of SQL mean others


@lru_cache(maxsize=1024)
def in_sql(column: str) -> str:
    """The column as a condition names it: in backticks also where its name is a word of SQL, such as ``union``."""
    path = path_of(column)
    with suppress(UnableToAllow):
        if all(read_condition(place.format(column)).paths == (path,) for place in _PLACES):
            return column
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)
