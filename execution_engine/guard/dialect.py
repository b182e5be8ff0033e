"""Spark's SQL for reading and writing it back unchanged: sqlglot's dialect without its rewriting of functions."""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.spark import Spark
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

_CALLS_WITH_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM")
_CALLS_WITH_UNIT = ("DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")


def _with_unit(name: str) -> Callable[[list[exp.Expr]], exp.Anonymous]:
    """Builds the call; the first of three arguments is a unit such as ``day``, not a column."""

    def build(given: list[exp.Expr]) -> exp.Anonymous:
        unit = given[0] if len(given) == 3 else None
        if isinstance(unit, exp.Column) and len(unit.parts) == 1 and not unit.this.args.get("quoted"):
            given = [exp.var(unit.name), *given[1:]]
        return exp.Anonymous(this=name, expressions=given)

    return build


class Plain(Spark):
    """Every call stays what the user wrote: sqlglot's own reading turns percentile_cont into percentile_approx."""

    class Tokenizer(Spark.Tokenizer):
        """Reads '' in a literal as one quote, as Spark 4 does."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'"]

    class Parser(SparkParser):
        """Knows no function, so that each is judged, and written, under the name it was called by."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {name: _with_unit(name) for name in _CALLS_WITH_UNIT}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in _CALLS_WITH_GRAMMAR
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
        }

        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}  # or array(1)[0], an element, is read as ARRAY[0], an array

        def _warn_unsupported(self) -> None:
            """Never a command: ParseError, where sqlglot would log the user's text and let it pass unread."""
            self.raise_error("Expected a query")

    class Generator(SparkGenerator):
        """Writes literals by one rule, and operators as they were: ``~~`` is another than two ``~``."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **SparkGenerator.TRANSFORMS,
            exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
            exp.BitwiseLeftShift: lambda self, node: self.binary(node, "<<"),
            exp.BitwiseRightShift: lambda self, node: self.binary(node, ">>"),
            exp.BitwiseNot: lambda self, node: f"{'~ ' if node.this.key == node.key else '~'}{self.sql(node, 'this')}",
            exp.RawString: lambda self, node: quoted(node.name),
        }

        def literal_sql(self, expression: exp.Literal) -> str:
            """The literal; a text between quotes that nothing in it can close."""
            return quoted(expression.name) if expression.is_string else expression.name


class MariaDB(MySQL):
    """sqlglot's MySQL, save that MariaDB has no REGEXP_LIKE; both have RLIKE."""

    class Generator(MySQLGenerator):
        """Writes RLIKE."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **MySQLGenerator.TRANSFORMS,
            exp.RegexpLike: lambda self, node: self.binary(node, "RLIKE"),
        }


def quoted(text: str) -> str:
    """The text as a literal of Spark."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
