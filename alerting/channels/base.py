"""What a channel is: one way to reach people, with one kind of error that says whether to try again."""

from dataclasses import dataclass, field
from typing import Any, Protocol


class TransportError(Exception):
    """A message was not delivered; ``permanent`` says that trying again cannot help."""

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, kw_only=True)
class ChannelMessage:
    """One message to one recipient; whoever gets it twice can tell by the ``key``."""

    key: str
    recipient: str
    subject: str
    body: str
    facts: tuple[dict[str, Any], ...] = field(default=())  # of each notice it holds


class Channel(Protocol):
    """One way to reach people."""

    @property
    def name(self) -> str:
        """The name that notices bear."""

    def reaches(self, recipient: str) -> bool:
        """Whether a recipient can be reached this way at all."""

    def send(self, message: ChannelMessage) -> None:
        """Deliver; raises TransportError."""

    def try_out(self) -> None:
        """Go as far as can be gone without telling anybody anything; raises TransportError."""
