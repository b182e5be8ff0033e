"""Conditions that users write: one expression over the columns of one table, and nothing else."""

from collections.abc import Collection
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from execution_engine.outcome import Failure, Reason

MAX_CHARACTERS = 4_000
FORBIDDEN_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect"})
_FORBIDDEN_NODES = (exp.Query, exp.Command, exp.DDL, exp.DML, exp.Table, exp.Star)


class UnableToReadCondition(ValueError):
    """The text is no condition; the failure says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def read_condition(text: str) -> exp.Expr:
    """The tree of a Spark SQL condition; UnableToReadCondition if it is anything but one expression."""
    if len(text) > MAX_CHARACTERS or "${" in text or "\0" in text:
        raise _refused(f"a condition has at most {MAX_CHARACTERS} characters, none of them NUL, and no ${{")
    try:
        trees = sqlglot.parse(f"select 1 where (\n{text}\n)", dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise _refused(f"{text!r:.200} is no SQL condition: {str(error).splitlines()[0]}") from error
    condition = _only_condition(trees)
    if condition is None or next(condition.find_all(*_FORBIDDEN_NODES), None) is not None:
        raise _refused(f"{text!r:.200} is not one expression over the columns; a query belongs into query(…)")
    refuse_functions(condition)
    return condition


def _only_condition(trees: list[exp.Expr | None]) -> exp.Expr | None:
    """What is in the brackets, if the text did not close them to say something else."""
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        return None
    said = {name for name, value in trees[0].args.items() if value}
    where = trees[0].args.get("where")
    bracket = where.this if isinstance(where, exp.Where) and said == {"expressions", "where"} else None
    return bracket.this if isinstance(bracket, exp.Paren) else None


def refuse_functions(tree: exp.Expr) -> None:
    """UnableToReadCondition if the tree calls into the machine that evaluates it."""
    called = {str(node.this).lower() for node in tree.find_all(exp.Anonymous)}
    if called & FORBIDDEN_FUNCTIONS:
        raise _refused(f"{', '.join(sorted(called & FORBIDDEN_FUNCTIONS))} is not allowed")


def check_columns(names: Collection[str], known: Collection[str], table: str) -> Failure | None:
    """UNKNOWN_COLUMN naming the first column that the table lacks, with the nearest that it has; case is ignored."""
    lowered = {name.lower(): name for name in known}
    missing = next((name for name in names if name.lower() not in lowered), None)
    if missing is None:
        return None
    near = get_close_matches(missing.lower(), lowered, n=1)
    hint = f"; did you mean {lowered[near[0]]}?" if near else f"; it has {', '.join(sorted(known)) or 'no columns'}"
    return Failure(reason=Reason.UNKNOWN_COLUMN, detail=f"{table} has no column {missing}{hint}")


def columns_of(condition: exp.Expr) -> tuple[str, ...]:
    """The columns that the condition names; of a field of a struct, the struct."""
    columns = condition.find_all(exp.Column)
    return tuple(dict.fromkeys(column.parts[0].name for column in columns))


def _refused(detail: str) -> UnableToReadCondition:
    return UnableToReadCondition(Failure(reason=Reason.INVALID, detail=detail))
