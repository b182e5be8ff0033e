"""What is judged of a text before anything tries to understand it."""

from collections.abc import Callable
from functools import partial

from .refusal import Refusal

MAX_QUERY = 20_000  # bytes of UTF-8
MAX_CONDITION = 4_000
SHOWN = 60  # characters of a name that an error repeats


def check_characters(text: str, limit: int) -> Refusal | None:
    """Its length, and the characters that mean something else one layer further down."""
    checks: tuple[Callable[[str], Refusal | None], ...] = (
        _check_encoding,
        partial(_check_length, limit=limit),
        _check_nul,
        _check_variables,
    )
    return next((refusal for check in checks if (refusal := check(text))), None)


def names(text: str) -> frozenset[str]:
    """The words of the text, as a set."""
    return frozenset(text.split())


def shown(text: str) -> str:
    """The text as an error may repeat it: short, and without a character that a terminal or a log obeys."""
    safe = "".join(letter if letter.isprintable() else "�" for letter in text[:SHOWN])
    return safe + ("…" if len(text) > SHOWN else "")


def _check_encoding(text: str) -> Refusal | None:
    lone = next((at for at, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), None)
    if lone is None:
        return None
    return Refusal(what="it holds half a character (a lone surrogate)", mend="write it as UTF-8", offset=lone)


def _check_length(text: str, *, limit: int) -> Refusal | None:
    size = len(text.encode())
    if size <= limit:
        return None
    return Refusal(what=f"it has {size:,} bytes, more than {limit:,}", mend="shorten it, or write a view of it")


def _check_nul(text: str) -> Refusal | None:
    if "\0" not in text:
        return None
    return Refusal(what="it holds a NUL character", mend="remove it", offset=text.index("\0"))


def _check_variables(text: str) -> Refusal | None:
    """Spark puts settings and the environment in place of ``${…}``, inside literals and comments too."""
    if "${" not in text:
        return None
    return Refusal(
        what="no ${ may stand in it, as Spark puts a variable there",
        mend="write concat('$', '{') for the text itself",
        offset=text.index("${"),
    )
