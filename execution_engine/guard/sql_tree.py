"""From a text to one tree, and back to the only text that is ever run."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from .functions import IN_QUERIES
from .refusal import Refusal, UnableToAllow, check_characters, safe_excerpt

# Spark's SQL for reading and writing it back unchanged: sqlglot's dialect without its rewriting of functions.

_CALLS_WITH_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM")
_CALLS_WITH_UNIT = ("DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")


def _with_unit(name: str) -> Callable[[list[exp.Expr]], exp.Anonymous]:
    """Builds the call; the first of three arguments is a unit such as ``day``, not a column."""

    def build(arguments: list[exp.Expr]) -> exp.Anonymous:
        unit = arguments[0] if len(arguments) == 3 else None
        if isinstance(unit, exp.Column) and len(unit.parts) == 1 and not unit.this.args.get("quoted"):
            arguments = [exp.var(unit.name), *arguments[1:]]
        return exp.Anonymous(this=name, expressions=arguments)

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


# What is judged of a text's words before they are put together: commands, brackets, letters, literals, numbers.

_COMMANDS = (Plain.Tokenizer.COMMANDS | set(Plain.Parser.STATEMENT_PARSERS)) - {TokenType.SEMICOLON}
MAX_WORDS = 6_000  # a longer text takes seconds to read, whatever it says
MAX_DEPTH = 32  # sqlglot reads by recursion, about 20 calls a bracket, of the 1,000 that Python has
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_FREE_TEXTS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER}  # may hold any language's letters
_REFUSED = {
    TokenType.HINT: ("a hint", "leave it out"),
    TokenType.PIPE_GT: ("the pipe |>", "write a common table expression"),
    TokenType.PARAMETER: ("a parameter", "write the value, or a template such as {window.start:date}"),
    TokenType.PLACEHOLDER: ("a parameter", "write the value, or a template such as {window.start:date}"),
    TokenType.L_BRACE: ("a brace", "write the value, or a template such as {window.start:date}"),
}
MAX_DIGITS = 38  # of a number, in Spark
_NUMBER = re.compile(rf"(?:\.?\d){{1,{MAX_DIGITS}}}\.?(?:[eE][+-]?\d{{1,3}})?[a-zA-Z]{{0,2}}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "%": "\\%", "_": "\\_"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NAMES = {TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER, TokenType.VAR, TokenType.ALL}
_UNSAID = {"nulls", "first", "last", "char"}  # Spark's own order of nulls goes without saying; char(9) is a string


def check_words(text: str, words: Sequence[Token]) -> Refusal | None:
    """The first thing wrong with the words of ``text``."""
    if len(words) > MAX_WORDS:
        what = f"it has more than {MAX_WORDS:,} words"
        return Refusal(what=what, mend="shorten it, or join a table of the values", offset=words[MAX_WORDS].start)
    starts = [at for at in range(len(words)) if at == 0 or words[at - 1].token_type is TokenType.SEMICOLON]
    command = next((words[at] for at in starts if words[at].token_type in _COMMANDS), None)
    if command is not None:
        what = f"{safe_excerpt(command.text.upper())} is a command, not a query"
        return Refusal(what=what, mend="only select … from … can be asked", offset=command.start)
    depth = 0
    for word in words:
        depth += (word.token_type in _OPEN) - (word.token_type in _CLOSE)
        if depth > MAX_DEPTH:
            what = f"brackets are nested more than {MAX_DEPTH} deep"
            return Refusal(what=what, mend="name the inner parts in a WITH", offset=word.start)
    for word in words:
        kind, source = word.token_type, text[word.start : word.end + 1]
        if kind in _REFUSED:
            what, mend = _REFUSED[kind]
            return Refusal(what=f"{what} is not allowed", mend=mend, offset=word.start)
        if kind not in _FREE_TEXTS and not word.text.isascii():
            mend = "write it in ASCII; letters that look alike are not the same"
            return Refusal(what=f"{safe_excerpt(word.text)} has letters outside ASCII", mend=mend, offset=word.start)
        if kind is TokenType.NUMBER and not _NUMBER.fullmatch(word.text):
            return Refusal(what="a number is too long", mend=f"give it at most {MAX_DIGITS} digits", offset=word.start)
        if kind is TokenType.STRING and _as_spark_reads(source) != word.text:
            what = f"the literal {safe_excerpt(source)} has an escape that readers of SQL understand differently"
            mend = (
                r"write \\ for a backslash (a pattern's digit is \\d), \' for a quote, the character itself for others"
            )
            return Refusal(what=what, mend=mend, offset=word.start)
    for word, after in pairwise(words):
        if {word.token_type, after.token_type} <= {TokenType.STRING, TokenType.RAW_STRING}:
            # Spark glues 'a' 'b' together, others take the second for a name
            mend = "join them with ||, or write '' for a quote in one"
            return Refusal(what="two literals follow each other", mend=mend, offset=after.start)
    for word, after in pairwise(words):
        if word.token_type is TokenType.ALIAS and after.token_type in _CLOSE | {TokenType.COMMA}:
            # sqlglot passes over an AS with nothing behind it, which may be a column: ``coalesce(fare, as)``
            return Refusal(what="no name stands behind as", mend="write it, or leave as out", offset=word.start)
    return None


def _as_spark_reads(source: str) -> str | None:
    """The value of a literal; None if it has an escape whose reading differs between versions and parsers."""
    quote, inner = source[0], source[1:-1]
    if quote not in "'\"" or source[-1] != quote:
        return None
    if any(escape.group(1) not in _ESCAPES for escape in _ESCAPED.finditer(inner)):
        return None
    parts = re.split(r"(\\.)", inner, flags=re.DOTALL)
    return "".join(_ESCAPES[part[1]] if part.startswith("\\") else part.replace(quote * 2, quote) for part in parts)


Rule = Callable[[exp.Expr], Refusal | None]
TWO_WAYS = Refusal(what="it can be read in two ways", mend="write it more plainly")
_END_OF_REASON = re.compile(r"\. Line | but got <|\n")  # behind it stand the place and sqlglot's own names


def parse_one(text: str, limit: int, *, before: str = "", after: str = "") -> exp.Expr | None:
    """The tree of the one statement in ``text``, put between ``before`` and ``after``; None if there are more."""
    if refusal := check_characters(text, limit):
        raise UnableToAllow(refusal, text)
    whole = f"{before}{text}{after}"
    try:
        words = Plain().tokenize(whole)
        if refusal := check_words(whole, words):
            raise UnableToAllow(refusal, whole, skipped=len(before))
        trees = Plain().parser().parse(words, whole)
    except UnableToAllow:
        raise
    except Exception as error:  # a parser of hostile texts has faults of its own: IndexError, AttributeError …
        raise UnableToAllow(unreadable(error, whole), whole, skipped=len(before)) from None
    return trees[0] if len(trees) == 1 else None


class UnableToTakeText(ValueError):
    """A text of more words than somebody wants to have read."""


def statements(text: str, *, dialect: str | type[Dialect] = "spark", most_words: int | None = None) -> list[exp.Expr]:
    """Every statement of a text in one of sqlglot's dialects that is looked at and never run.

    UnableToAllow where it is no SQL, UnableToTakeText where it has too many words.
    """
    spoken = Dialect.get_or_raise(dialect)
    try:
        words = spoken.tokenize(text)
        if most_words is not None and len(words) > most_words:
            raise UnableToTakeText(f"{len(words)} words, names and signs, and at most {most_words} are read")
        return [tree for tree in spoken.parser().parse(words, text) if tree is not None]
    except UnableToTakeText:
        raise
    except Exception as error:  # as above
        raise UnableToAllow(unreadable(error, text), text) from None


def judge(tree: exp.Expr, rules: Sequence[Rule], text: str, *, skipped: int = 0) -> None:
    """UnableToAllow with the refusal of the first rule that has one."""
    refusal = next((refused for rule in rules if (refused := rule(tree))), None)
    if refusal is not None:
        raise UnableToAllow(refusal, text, skipped=skipped)


def write(tree: exp.Expr) -> str:
    """The tree as Spark's SQL: no comments, every name in backticks."""
    return tree.sql(dialect=Plain, comments=False, identify=True)


def read_again(sql: str, text: str, *, skipped: int = 0) -> exp.Expr:
    """The tree of what was written for ``text``; UnableToAllow unless it says all that ``text`` says, and only that."""
    lost, tree = None, None
    try:
        lost = _lost_word(Plain().tokenize(text), Plain().tokenize(sql))
        (tree,) = sqlglot.parse(sql, dialect=Plain)
        same = tree is not None and write(tree) == sql
    except Exception:  # as above
        same = False
    if lost is not None or not same or tree is None:
        raise UnableToAllow(replace(TWO_WAYS, offset=lost.start if lost else None), text, skipped=skipped)
    return tree


def _lost_word(words: Sequence[Token], written: Sequence[Token]) -> Token | None:
    """The first name or text of ``words`` that is not in ``written``: something read was not understood."""
    remaining = Counter(word.text.lower() for word in written)
    for word, after in zip_longest(words, words[1:]):
        text, is_call = word.text.lower(), after is not None and after.token_type is TokenType.L_PAREN
        if text not in _UNSAID and (word.token_type in _NAMES or (is_call and text in IN_QUERIES)):
            if not remaining[text]:
                return word
            remaining[text] -= 1
    return None


def unreadable(error: Exception, text: str) -> Refusal:
    """Why a parser could not read a text, in words of ours."""
    if isinstance(error, RecursionError):
        return Refusal(what="it is nested too deep", mend="name the inner parts in a WITH")
    if isinstance(error, TokenError):
        return Refusal(what="a quote, a backtick or a comment is not closed", mend="close it")
    reason = _END_OF_REASON.split(str(error))[0] if isinstance(error, ParseError) else ""
    if not reason or reason.startswith("Required keyword"):
        reason = "something is missing"
    # where sqlglot stopped: it tells the line and the column of the last letter, both from 1
    place, offset = error.errors[0] if isinstance(error, ParseError) and error.errors else {}, None
    if (line := place.get("line")) is not None and (column := place.get("col")) is not None:
        start = sum(map(len, text.splitlines(keepends=True)[: line - 1]))
        offset = max(start, start + int(column) - len(place.get("highlight") or ""))
    return Refusal(what=f"it is no SQL: {safe_excerpt(reason)}", mend="mend the syntax", offset=offset)
