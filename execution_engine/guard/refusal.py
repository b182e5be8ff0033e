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
        places = (found.meta.get("start") for found in node.walk())
        return replace(self, offset=next((place for place in places if place is not None), None))


class UnableToAllow(ValueError):
    """The guard refuses a text; ``failure`` says what, where and how to mend it."""

    def __init__(self, refusal: Refusal, text: str, *, skipped: int = 0) -> None:
        self.refusal, self._text, self._skipped = refusal, text, skipped
        super().__init__(f"{_place(refusal.offset, text, skipped)}{refusal.what}; {refusal.mend}")

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


def _place(offset: int | None, text: str, skipped: int) -> str:
    """Line and column, from 1; ``skipped`` characters were put before the text that the user wrote."""
    if offset is None or not skipped <= offset < len(text):
        return ""
    before = text[skipped:offset]
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: "
