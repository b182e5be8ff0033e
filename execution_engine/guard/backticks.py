"""A column whose name is a word of SQL: the word that, between backticks, would make a refused text an allowed one."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from .dialect import Plain
from .names import PLAIN
from .refusal import UnableToAllow

MOST_WORDS = 300  # of a text that is tried: each trial reads all of it
MOST_TRIALS = 8
_FREE = {TokenType.VAR, TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER}
_GRAMMAR = frozenset(Plain.Parser.NO_PAREN_FUNCTION_PARSERS)  # words that only the parser knows


def told_of_backticks(
    refused: UnableToAllow,
    text: str,
    names: Callable[[str], Iterable[str]],
    *,
    columns: Collection[str] | None,
    before: str = "",
) -> UnableToAllow:
    """The refusal; its mending tells of backticks if one word of ``text`` between them makes it a text to allow.

    ``names`` gives those of a text's columns, or raises UnableToAllow; ``columns``: the only ones to try, None for any;
    ``before``: what the guard puts before the text.
    """
    trials = _trials(refused, text, columns, before)
    name = next((name for name, tried in trials if _is_named(name, tried, names)), None)
    if name is None:
        return refused
    mend = f"{refused.refusal.mend}; if {name} is a column's name, put it between backticks: `{name}`"
    return refused.with_refusal(replace(refused.refusal, mend=mend))


def _trials(
    refused: UnableToAllow, text: str, columns: Collection[str] | None, before: str
) -> Iterator[tuple[str, str]]:
    """Names, and the text with each between backticks; those near the fault first."""
    try:
        words = Plain().tokenize(f"{before}{text}")
    except TokenError:
        return
    if len(words) > MOST_WORDS:
        return
    known = None if columns is None else {name.lower() for name in columns}
    found = [word for word in words[1:] if word.start >= len(before) and _is_of_sql(word, known)]
    fault = len(before) + (refused.offset or 0)
    found.sort(key=lambda word: abs(word.start - fault))
    for same in islice(_chosen(found), MOST_TRIALS):
        yield same[0].text, _between_backticks(text, [word.start - len(before) for word in same], len(same[0].text))


def _is_of_sql(word: Token, known: Collection[str] | None) -> bool:
    is_free = word.token_type in _FREE and word.text.upper() not in _GRAMMAR
    return not is_free and PLAIN.fullmatch(word.text) is not None and (known is None or word.text.lower() in known)


def _chosen(words: Sequence[Token]) -> Iterator[list[Token]]:
    """Every place of a word, as of a column that is named twice; then each by itself, as in ``like like 'x%'``."""
    names: dict[str, list[Token]] = {}
    for word in words:
        names.setdefault(word.text.lower(), []).append(word)
    yield from names.values()
    yield from ([word] for word in words if len(names[word.text.lower()]) > 1)


def _between_backticks(text: str, places: Sequence[int], length: int) -> str:
    for at in sorted(places, reverse=True):
        text = f"{text[:at]}`{text[at : at + length]}`{text[at + length :]}"
    return text


def _is_named(name: str, tried: str, names: Callable[[str], Iterable[str]]) -> bool:
    """Whether the text is allowed, and has a column of the name."""
    try:
        return name.lower() in {found.lower() for found in names(tried)}
    except UnableToAllow:
        return False
