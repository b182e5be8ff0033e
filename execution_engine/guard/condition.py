"""A condition that users write: one expression over the columns of one table, and nothing else."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from execution_engine.guard.checks.functions import IN_CONDITIONS, check_functions
from execution_engine.guard.checks.growth import check_growth
from execution_engine.guard.checks.names import SESSION_WORDS, check_names
from execution_engine.guard.checks.nodes import EXPRESSION, check_nodes
from execution_engine.guard.checks.patterns import check_patterns

from .backticks import told_of_backticks
from .characters import MAX_CONDITION
from .dialect import MariaDB, Plain
from .refusal import Refusal, UnableToAllow
from .sql_tree import TWO_WAYS, Rule, judge, parse_one, read_again, write

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
        found = self.tree.find_all(exp.Column, bfs=False)
        return tuple(dict.fromkeys(tuple(part.name for part in column.parts) for column in found))

    def into(self, dialect: str) -> str:
        """The same for another database, by sqlglot's name of its dialect; UnableToAllow where it has no such thing."""
        tree = self.tree.copy()
        for name in tree.find_all(exp.Identifier):
            name.set("quoted", name.args.get("quoted") or name.name.lower() in SESSION_WORDS)
        plain = tree.sql(dialect=Plain, comments=False)
        try:
            known = sqlglot.parse_one(plain, dialect="spark")
            judge(known, (_check_indexes,), plain)
            return known.sql(
                dialect=_DIALECTS.get(dialect, dialect), comments=False, unsupported_level=ErrorLevel.RAISE
            )
        except (SqlglotError, RecursionError):
            refusal = Refusal(what=f"{dialect} has no such expression", mend="write it more plainly")
            raise UnableToAllow(refusal, plain) from None


def _check_indexes(tree: exp.Expr) -> Refusal | None:
    """The first index that is computed: databases count from 0 or from 1, and sqlglot moves only one that it can read.

    A negative one counts from the end in Spark's ``element_at``, and is NULL or nothing elsewhere.
    """
    indexes = (index for bracket in tree.find_all(exp.Bracket) for index in bracket.expressions)
    computed = next((index for index in indexes if not isinstance(index, exp.Literal)), None)
    if computed is None:
        return None
    what = "an index that is computed or negative means another element in another database"
    return Refusal(what=what, mend="write it as a number or a text").at(computed)


def read_condition(text: str, columns: Collection[str] | None = None) -> Condition:
    """The condition in ``text``, in Spark's SQL; UnableToAllow if it is anything but one harmless expression.

    ``columns``: of its table. Without them the caller must check that the table has ``Condition.columns``.
    """
    return _read_of_any(text) if columns is None else _read_or_tell(text, columns)


@lru_cache(maxsize=4096)
def _read_of_any(text: str) -> Condition:
    """Read once: a scan of hundreds of metrics repeats a few conditions."""
    return _read_or_tell(text, None)


def _read_or_tell(text: str, columns: Collection[str] | None) -> Condition:
    try:
        return _read(text, columns)
    except UnableToAllow as refused:
        raise told_of_backticks(
            refused, text, lambda tried: chain(*_read(tried, columns).paths), columns=columns, before=_BEFORE
        ) from None


def _read(text: str, columns: Collection[str] | None) -> Condition:
    tree = _only_expression(parse_one(text, MAX_CONDITION, before=_BEFORE, after=_AFTER))
    if tree is None:
        mend = "write one expression over the columns; a query belongs into query(…)"
        raise UnableToAllow(Refusal(what="it is not one condition", mend=mend), text)
    whole = f"{_BEFORE}{text}{_AFTER}"
    judge(tree, _rules(columns), whole, skipped=len(_BEFORE))
    sql = write(tree)
    judge(read_inside(sql, whole, skipped=len(_BEFORE)), _rules(columns), sql)
    return Condition(tree=tree, sql=sql)


def read_inside(sql: str, text: str, *, skipped: int = 0) -> exp.Expr:
    """The tree of a condition that was written for ``text``; UnableToAllow if brackets around it hold it not together.

    As all that was read is written the same again, nothing but the brackets can differ.
    """
    inner = _only_expression(read_again(f"SELECT 1 WHERE ({sql})", text, skipped=skipped))
    if inner is None:
        raise UnableToAllow(TWO_WAYS, text, skipped=skipped)
    return inner


def _rules(columns: Collection[str] | None) -> tuple[Rule, ...]:
    return (
        partial(check_nodes, allowed=EXPRESSION),
        partial(check_functions, allowed=IN_CONDITIONS),
        partial(check_names, columns=columns, one_table=True),
        check_patterns,
        check_growth,
    )


def _only_expression(tree: exp.Expr | None) -> exp.Expr | None:
    """What is in the brackets, if the text did not close them to say something else."""
    if not isinstance(tree, exp.Select):
        return None
    said = {name for name, value in tree.args.items() if value}
    where = tree.args.get("where")
    bracket = where.this if isinstance(where, exp.Where) and said == {"expressions", "where"} else None
    inner = bracket.this if isinstance(bracket, exp.Paren) else None
    return None if isinstance(inner, exp.Alias) else inner
