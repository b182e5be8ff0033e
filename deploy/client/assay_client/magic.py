"""``%load_ext assay_client.magic``: a cell of SQL that says first which of its tables are not good.

``%%assay`` runs the cell by what was given to ``use``; ``%assay_check`` only asks.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from .answers import QueryQuality
from .client import AssayClient
from .queries import Asker

Runner = Callable[[str], Any]
_settings: dict[str, Any] = {"runner": None, "client": None}


def use(runner: Any = None, *, client: AssayClient | None = None) -> None:
    """Cells run by ``runner``: a Spark session, an engine of SQLAlchemy, a connection of DB-API, or a function of SQL.

    Without a client, Assay is found by ASSAY_URL and ASSAY_TOKEN. Raises TypeError for a runner of another kind.
    """
    _settings.update(runner=None if runner is None else runner_of(runner), client=client)


def runner_of(source: Any) -> Runner:
    """What runs a text of SQL; raises TypeError."""
    if callable(getattr(source, "sql", None)):
        return lambda sql: source.sql(sql)
    if hasattr(source, "dialect") and callable(getattr(source, "connect", None)):
        return lambda sql: _by_engine(source, sql)
    if callable(getattr(source, "cursor", None)):
        return lambda sql: _by_cursor(source, sql)
    if callable(source):
        return lambda sql: source(sql)
    raise TypeError(f"{type(source).__name__} runs no SQL: give a Spark session, an engine, a connection or a function")


@magics_class
class AssayMagics(Magics):
    """The two magics."""

    @magic_arguments()
    @argument("--dialect", default="", help="of the SQL, such as trino, where it is not Spark's; needs sqlglot")
    @argument("--block", action="store_true", help="do not run what reads bad data")
    @argument("--fail-closed", action="store_true", help="do not run it where Assay gives no answer either")
    @line_cell_magic
    def assay(self, line: str, cell: str | None = None) -> Any:
        """Say which tables of the cell are not good, then run it; its value is what the runner returns."""
        if cell is None:
            raise UsageError("%%assay is for a whole cell; %assay_check takes a line")
        options = parse_argstring(self.assay, line)
        answer, lines = _ask_quality(cell, options.dialect, fail_closed=options.fail_closed)
        _say(lines)
        if options.block and answer is not None and answer.status == "bad":
            _say(["Not run, as it reads bad data. Without --block it runs."])
            return None
        if (runner := _settings["runner"]) is None:
            raise UsageError("nothing runs SQL yet: from assay_client.magic import use; use(spark)")
        return runner(cell)

    @line_cell_magic
    def assay_check(self, line: str, cell: str | None = None) -> None:
        """Say which tables of a line or a cell of SQL are not good, and run nothing."""
        answer, lines = _ask_quality(line if cell is None else cell, "", fail_closed=False)
        _say(lines)
        if answer is not None:
            print(f"Assay says: {answer.status}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%load_ext`` calls."""
    shell.register_magics(AssayMagics)


def _ask_quality(sql: str, dialect: str, *, fail_closed: bool) -> tuple[QueryQuality | None, list[str]]:
    answer, lines = Asker(_settings["client"], fail_closed=fail_closed).ask(_in_spark(sql, dialect) if dialect else sql)
    unknown = ", ".join(answer.unknown) if answer else ""
    return answer, [*lines, *([f"The catalog does not know {unknown}."] if unknown else [])]


def _in_spark(sql: str, dialect: str) -> str:
    """The SQL as Spark writes it, which is what Assay reads; what runs is the cell as it stands."""
    try:
        import sqlglot
    except ImportError:
        raise UsageError("--dialect needs sqlglot: pip install sqlglot") from None
    try:
        return ";\n".join(sqlglot.transpile(sql, read=dialect, write="spark"))
    except (ValueError, sqlglot.errors.SqlglotError) as error:
        raise UsageError(f"cannot read the cell as {dialect}: {error}") from None


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)


def _by_engine(engine: Any, sql: str) -> Any:
    with engine.begin() as connection:
        result = connection.exec_driver_sql(sql)
        return _table(list(result.keys()), result.fetchall()) if result.returns_rows else None


def _by_cursor(connection: Any, sql: str) -> Any:
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        return _table([column[0] for column in cursor.description], cursor.fetchall()) if cursor.description else None
    finally:
        cursor.close()


def _table(names: list[str], rows: Any) -> Any:
    """The rows as a DataFrame of pandas where that is installed, else as dictionaries."""
    values = [tuple(row) for row in rows]
    try:
        import pandas as pd
    except ImportError:
        return [dict(zip(names, row, strict=True)) for row in values]
    return pd.DataFrame(values, columns=names)
