"""Columns whose names are words of SQL: those that, between backticks, would make a refused text an allowed one."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from execution_engine.guard.checks.names import PLAIN

from .dialect import Plain
from .refusal import UnableToAllow

MOST_WORDS = 300  # of a text that is tried: each trial reads all of it
MOST_TRIALS = 8  # for each of the names
MOST_NAMES = 3
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
    """The refusal; its mending tells of backticks if words of ``text`` between them make it a text to allow.

    ``names`` gives those of a text's columns, or raises UnableToAllow; ``columns``: the only ones to try, None for any;
    ``before``: what the guard puts before the text.
    """
    found = _mending_words(refused, text, names, columns=columns, before=before)
    if not found:
        return refused
    quoted = ", ".join(f"`{name}`" for name in found)
    if len(found) == 1:
        advice = f"if {found[0]} is a column's name, put it between backticks: {quoted}"
    else:
        advice = f"if {' and '.join(found)} are names of columns, put them between backticks: {quoted}"
    return refused.with_refusal(replace(refused.refusal, mend=f"{refused.refusal.mend}; {advice}"))


def _mending_words(
    refused: UnableToAllow,
    text: str,
    names: Callable[[str], Iterable[str]],
    *,
    columns: Collection[str] | None,
    before: str,
    chosen: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The words that mend ``text``, in which ``chosen`` are between backticks already; none where none do.

    Where no word alone does, the one that moves the fault nearest to the end is chosen, and the others are tried then.
    """
    furthest = _left(refused, text)
    choice: tuple[UnableToAllow, str, tuple[str, ...]] | None = None
    for name, tried in _trials(refused, text, columns, before):
        words = (*chosen, name)
        try:
            if {word.lower() for word in words} <= {found.lower() for found in names(tried)}:
                return words
        except UnableToAllow as again:
            if (left := _left(again, tried)) < furthest:
                furthest, choice = left, (again, tried, words)
    if choice is None or len(choice[2]) == MOST_NAMES:
        return ()
    refused, text, words = choice
    return _mending_words(refused, text, names, columns=columns, before=before, chosen=words)


def _left(refused: UnableToAllow, text: str) -> int:
    """Characters but backticks from the fault to the end of the text; all where its place is not known."""
    return len(text[refused.offset or 0 :].replace("`", ""))


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
