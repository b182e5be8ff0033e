"""Why a text is refused, in words that its writer can act upon."""

from dataclasses import dataclass, replace

from sqlglot import exp

from execution_engine.outcome import Failure, Reason


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What is refused, how to mend it, and where it stands: an offset into the text, if it is known."""

    what: str
    mend: str
    offset: int | None = None

    def at(self, node: exp.Expr) -> "Refusal":
        """The same, at the place of the node or of the first thing in it that has a place."""
        places = (part.meta.get("start") for part in node.walk())
        return replace(self, offset=next((place for place in places if place is not None), None))


class UnableToAllow(ValueError):
    """The guard refuses a text; ``failure`` says what, where and how to mend it.

    ``skipped`` characters were put before the text that the user wrote.
    """

    def __init__(self, refusal: Refusal, text: str, *, skipped: int = 0) -> None:
        self.refusal, self._text, self._skipped = refusal, text, skipped
        place = ""
        if refusal.offset is not None and skipped <= refusal.offset < len(text):
            before = text[skipped : refusal.offset]
            place = f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: "
        super().__init__(f"{place}{refusal.what}; {refusal.mend}")

    def with_refusal(self, refusal: Refusal) -> "UnableToAllow":
        """The same of the same text, in other words."""
        return UnableToAllow(refusal, self._text, skipped=self._skipped)

    @property
    def offset(self) -> int | None:
        """Where it stands in what the user wrote, if it is known."""
        return None if self.refusal.offset is None else self.refusal.offset - self._skipped

    @property
    def failure(self) -> Failure:
        """The refusal as data; the same text is refused again, so that it is never transient."""
        return Failure(reason=Reason.INVALID, detail=str(self))


# What is judged of a text before anything tries to understand it.

MAX_QUERY = 20_000  # bytes of UTF-8
MAX_CONDITION = 4_000
SHOWN = 60  # characters of a name that an error repeats


def check_characters(text: str, limit: int) -> Refusal | None:
    """Its length, and the characters that mean something else one layer further down."""
    lone = next((at for at, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), None)
    if lone is not None:
        return Refusal(what="it holds half a character (a lone surrogate)", mend="write it as UTF-8", offset=lone)
    if (size := len(text.encode())) > limit:
        return Refusal(what=f"it has {size:,} bytes, more than {limit:,}", mend="shorten it, or write a view of it")
    if "\0" in text:
        return Refusal(what="it holds a NUL character", mend="remove it", offset=text.index("\0"))
    if "${" in text:  # Spark puts settings and the environment in its place, inside literals and comments too
        what = "no ${ may stand in it, as Spark puts a variable there"
        return Refusal(what=what, mend="write concat('$', '{') for the text itself", offset=text.index("${"))
    return None


def names(text: str) -> frozenset[str]:
    """The words of the text, as a set."""
    return frozenset(text.split())


def safe_excerpt(text: str) -> str:
    """The text as an error may repeat it: short, and without a character that a terminal or a log obeys."""
    safe = "".join(letter if letter.isprintable() else "�" for letter in text[:SHOWN])
    return safe + ("…" if len(text) > SHOWN else "")
