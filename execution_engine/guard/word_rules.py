"""What is judged of a text's words before they are put together: commands, brackets, letters, literals, numbers."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest

from sqlglot.tokenizer_core import Token, TokenType

from execution_engine.guard.checks.functions import IN_QUERIES

from .characters import shown
from .dialect import Plain
from .refusal import Refusal

_COMMANDS = (Plain.Tokenizer.COMMANDS | set(Plain.Parser.STATEMENT_PARSERS)) - {TokenType.SEMICOLON}
MAX_WORDS = 6_000  # a longer text takes seconds to read, whatever it says
MAX_DEPTH = 32  # sqlglot reads by recursion, about 20 calls a bracket, of the 1,000 that Python has
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_FREE = {TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER}  # may hold any language's letters
_REFUSED = {
    TokenType.HINT: ("a hint", "leave it out"),
    TokenType.PIPE_GT: ("the pipe |>", "write a common table expression"),
    TokenType.PARAMETER: ("a parameter", "write the value, or a template such as {window.start:date}"),
    TokenType.PLACEHOLDER: ("a parameter", "write the value, or a template such as {window.start:date}"),
    TokenType.L_BRACE: ("a brace", "write the value, or a template such as {window.start:date}"),
}
MAX_DIGITS = 38  # of a number, in Spark
_NUMBER = re.compile(rf"(?:\.?\d){{1,{MAX_DIGITS}}}\.?(?:[eE][+-]?\d{{1,3}})?[a-zA-Z]{{0,2}}")
_AS = TokenType.ALIAS
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "%": "\\%", "_": "\\_"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NAMES = {TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER, TokenType.VAR, TokenType.ALL}
_UNSAID = {"nulls", "first", "last", "char"}  # Spark's own order of nulls goes without saying; char(9) is a string


def check_commands(_: str, words: Sequence[Token]) -> Refusal | None:
    """The first statement that begins with the word of a command."""
    starts = [at for at in range(len(words)) if at == 0 or words[at - 1].token_type is TokenType.SEMICOLON]
    command = next((words[at] for at in starts if words[at].token_type in _COMMANDS), None)
    if command is None:
        return None
    what = f"{shown(command.text.upper())} is a command, not a query"
    return Refusal(what=what, mend="only select … from … can be asked", offset=command.start)


def lost_word(words: Sequence[Token], written: Sequence[Token]) -> Token | None:
    """The first name or text of ``words`` that is not in ``written``: something read was not understood."""
    left = Counter(word.text.lower() for word in written)
    for word, after in zip_longest(words, words[1:]):
        if not _must_stay(word, after):
            continue
        if not left[word.text.lower()]:
            return word
        left[word.text.lower()] -= 1
    return None


def _must_stay(word: Token, after: Token | None) -> bool:
    text, is_call = word.text.lower(), after is not None and after.token_type is TokenType.L_PAREN
    return text not in _UNSAID and (word.token_type in _NAMES or (is_call and text in IN_QUERIES))


def check_words(text: str, words: Sequence[Token]) -> Refusal | None:
    """The first thing wrong with the words of ``text``."""
    checks: tuple[Callable[[str, Sequence[Token]], Refusal | None], ...] = (
        _check_count,
        check_commands,
        _check_depth,
        _check_each,
        _check_joined,
        _check_named,
    )
    return next((refusal for check in checks if (refusal := check(text, words))), None)


def _check_count(text: str, words: Sequence[Token]) -> Refusal | None:
    if len(words) <= MAX_WORDS:
        return None
    what = f"it has more than {MAX_WORDS:,} words"
    return Refusal(what=what, mend="shorten it, or join a table of the values", offset=words[MAX_WORDS].start)


def _check_depth(text: str, words: Sequence[Token]) -> Refusal | None:
    depth = 0
    for word in words:
        depth += (word.token_type in _OPEN) - (word.token_type in _CLOSE)
        if depth > MAX_DEPTH:
            what = f"brackets are nested more than {MAX_DEPTH} deep"
            return Refusal(what=what, mend="name the inner parts in a WITH", offset=word.start)
    return None


def _check_each(text: str, words: Sequence[Token]) -> Refusal | None:
    return next((refusal for word in words if (refusal := _check_word(text, word))), None)


def _check_word(text: str, word: Token) -> Refusal | None:
    kind = word.token_type
    if kind in _REFUSED:
        what, mend = _REFUSED[kind]
        return Refusal(what=f"{what} is not allowed", mend=mend, offset=word.start)
    if kind not in _FREE and not word.text.isascii():
        mend = "write it in ASCII; letters that look alike are not the same"
        return Refusal(what=f"{shown(word.text)} has letters outside ASCII", mend=mend, offset=word.start)
    if kind is TokenType.NUMBER and not _NUMBER.fullmatch(word.text):
        return Refusal(what="a number is too long", mend=f"give it at most {MAX_DIGITS} digits", offset=word.start)
    source = text[word.start : word.end + 1]
    if kind is TokenType.STRING and _as_spark_reads(source) != word.text:
        return _unclear(word, source)
    return None


def _unclear(word: Token, source: str) -> Refusal:
    what = f"the literal {shown(source)} has an escape that readers of SQL understand differently"
    mend = r"write \\ for a backslash (a pattern's digit is \\d), \' for a quote, the character itself for others"
    return Refusal(what=what, mend=mend, offset=word.start)


def _as_spark_reads(source: str) -> str | None:
    """The value of a literal; None if it has an escape whose reading differs between versions and parsers."""
    quote, inner = source[0], source[1:-1]
    if quote not in "'\"" or source[-1] != quote:
        return None
    if any(found.group(1) not in _ESCAPES for found in _ESCAPED.finditer(inner)):
        return None
    parts = re.split(r"(\\.)", inner, flags=re.DOTALL)
    return "".join(_ESCAPES[part[1]] if part.startswith("\\") else part.replace(quote * 2, quote) for part in parts)


def _check_joined(text: str, words: Sequence[Token]) -> Refusal | None:
    """Spark glues 'a' 'b' together, others take the second for a name."""
    texts = {TokenType.STRING, TokenType.RAW_STRING}
    pairs = pairwise(words)
    second = next((after for word, after in pairs if {word.token_type, after.token_type} <= texts), None)
    if second is None:
        return None
    what = "two literals follow each other"
    return Refusal(what=what, mend="join them with ||, or write '' for a quote in one", offset=second.start)


def _check_named(text: str, words: Sequence[Token]) -> Refusal | None:
    """sqlglot passes over an AS with nothing behind it, which may be a column of that name: ``coalesce(fare, as)``."""
    ends = _CLOSE | {TokenType.COMMA}
    found = (word for word, after in pairwise(words) if word.token_type is _AS and after.token_type in ends)
    bare = next(found, None)
    if bare is None:
        return None
    return Refusal(what="no name stands behind as", mend="write it, or leave as out", offset=bare.start)
