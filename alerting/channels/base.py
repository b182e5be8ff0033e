"""What a channel is: one way to reach people, with one kind of error that says whether to try again."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol


class TransportError(Exception):
    """A message was not delivered; ``permanent`` says that trying again cannot help, ``wait`` how long to wait."""

    def __init__(self, message: str, *, permanent: bool, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.wait = wait


@dataclass(frozen=True, kw_only=True)
class Part:
    """One notice of a message: a title of one line, a plain text, and what a machine reads of it."""

    title: str
    body: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def links(self) -> dict[str, str]:
        """What a reader may open, by what it is called."""
        found = {"Details": self.facts.get("url"), **self.facts.get("links", {})}
        return {name: str(url) for name, url in found.items() if url}

    @property
    def text(self) -> str:
        """The body without the line that repeats a link."""
        return "\n".join(line for line in self.body.splitlines() if line != f"Details: {self.facts.get('url')}")


@dataclass(frozen=True, kw_only=True)
class ChannelMessage:
    """One message to one recipient; whoever gets it twice can tell by the ``key``.

    ``address``: where the channel reaches the recipient, if that is not their name. ``earlier``: where the message
    lives that this one takes the place of, as ``send`` gave it; ``reply`` is what is said beside it then, as a changed
    message rings for nobody.
    """

    key: str
    recipient: str
    subject: str
    body: str
    facts: tuple[dict[str, Any], ...] = field(default=())  # of each notice it holds
    parts: tuple[Part, ...] = field(default=())  # each notice it holds
    html: str = ""
    address: str = ""
    earlier: str = ""
    reply: str = ""

    @property
    def to(self) -> str:
        """Whom or what the channel addresses."""
        return self.address or self.recipient


class Channel(Protocol):
    """One way to reach people."""

    @property
    def name(self) -> str:
        """The name that notices bear."""

    @property
    def edits(self) -> bool:
        """Whether it can change a message that it sent: then one message follows an incident to its end."""

    def reaches(self, recipient: str) -> bool:
        """Whether a recipient, or an address, can be reached this way at all."""

    def takes(self, event: str) -> bool:
        """Whether this event is told over this channel at all."""

    def send(self, message: ChannelMessage) -> str:
        """Deliver; where the message lives now, empty if it cannot be changed. Raises TransportError."""

    def try_out(self) -> None:
        """Go as far as can be gone without telling anybody anything; raises TransportError."""


class TellsAll:
    """Of a channel that takes every event and cannot change what it sent."""

    edits = False

    def takes(self, event: str) -> bool:
        """All but how an incident goes on."""
        return event not in PROGRESS


PROGRESS = frozenset({"progress", "acknowledged"})  # told only where a message can be changed: elsewhere it is noise
