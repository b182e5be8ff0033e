"""What a channel is: one way to reach people, with one kind of error that says whether to try again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import HttpAnswer, ask, judge


class TransportError(Exception):
    """A message was not delivered; ``permanent`` says that trying again cannot help, ``wait`` how long to wait."""

    def __init__(self, message: str, *, permanent: bool, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.wait = wait


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A chart as PNG, what it shows in words, and where whoever has the address sees it; empty: nobody outside can.

    ``png`` is empty where only the address is asked for.
    """

    png: bytes = field(repr=False)
    text: str
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class NoticePart:
    """One notice of a message: a title of one line, a plain text, what a machine reads of it, and perhaps a picture."""

    title: str
    body: str
    facts: dict[str, Any] = field(default_factory=dict)
    picture: Picture | None = None

    @property
    def links(self) -> dict[str, str]:
        """What a reader may open, by what it is called."""
        urls = {"Details": self.facts.get("url"), **self.facts.get("links", {})}
        return {name: str(url) for name, url in urls.items() if url}

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
    parts: tuple[NoticePart, ...] = field(default=())  # each notice it holds
    html: str = ""
    address: str = ""
    earlier: str = ""
    reply: str = ""

    @property
    def to(self) -> str:
        """Whom or what the channel addresses."""
        return self.address or self.recipient


PROGRESS = frozenset({"progress", "acknowledged"})  # told only where a message can be changed: elsewhere it is noise


class Channel:
    """One way to reach people."""

    name: ClassVar[str]  # that notices bear
    setting: ClassVar[str] = ""  # what sets it up; none for the log, which no route names
    address_form: ClassVar[str] = ""  # how its addresses are written
    takes_any_name = False  # whether every text is an address: no name is known to be one then
    edits = False  # whether it can change a message that it sent: then one message follows an incident to its end
    has_pictures = False  # whether its messages show the picture of a part, if there is one
    brings_pictures = False  # whether a message has them in it; else the service fetches them from their addresses

    def reaches(self, recipient: str) -> bool:
        """Whether a recipient, or an address, can be reached this way at all."""
        return True

    def takes(self, event: str) -> bool:
        """Whether this event is told over this channel at all."""
        return self.edits or event not in PROGRESS

    def send(self, message: ChannelMessage) -> str:
        """Deliver; where the message lives now, empty if it cannot be changed. Raises TransportError."""
        raise NotImplementedError

    def try_out(self) -> None:
        """Go as far as can be gone without telling anybody anything; raises TransportError."""


@dataclass(frozen=True, kw_only=True)
class NamedChannel(Channel):
    """One whose addresses are names of secrets that the environment holds, such as URLs."""

    secrets: Mapping[str, str] = field(repr=False)

    def reaches(self, recipient: str) -> bool:
        """Whether there is a secret of this name."""
        return recipient in self.secrets

    def secret(self, message: ChannelMessage, noun: str) -> str:
        """The secret that a message goes to; raises TransportError."""
        if message.to not in self.secrets:
            where = f"ASSAY_{self.name.upper()}_{noun.upper()}S"
            raise TransportError(f"{self.name}: no {noun} is called {message.to!r} in {where}", permanent=True)
        return self.secrets[message.to]


# JSON posted to the interface of another service, through the guarded way out.

TEMPORARY = frozenset({408, 425, 429})
LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class JsonCalls:
    """Calls to one service, named in errors; no error bears the URL or a header, which may be secrets."""

    service: str
    rules: DestinationRules

    def post(self, url: str, fields: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """The answer to a post, whatever its status but one that asks for patience; raises TransportError."""
        body = json.dumps(fields).encode()
        all_headers = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
        try:
            answer = ask("POST", url, rules=self.rules, headers=all_headers, body=body)
        except UnableToCall as unable:
            raise TransportError(f"{self.service}: {unable}", permanent=False) from unable
        if answer.status >= 500 or answer.status in TEMPORARY:
            why = f"{self.service} answered {answer.status}"
            raise TransportError(why, permanent=False, wait=wait_of(answer))
        return answer

    def try_out(self, url: str) -> None:
        """Whether the URL is permitted, and its name leads where it may; nothing is posted."""
        try:
            judge(url, self.rules)
        except UnableToCall as unable:
            raise TransportError(f"{self.service}: {unable}", permanent=False) from unable


def calls(service: str, url: str, *, permits_private: bool) -> JsonCalls:
    """Calls to the host of a URL and to no other."""
    return JsonCalls(service=service, rules=rules_for(url, permits_private=permits_private))


def wait_of(answer: HttpAnswer) -> timedelta | None:
    """How long a service asks us to wait, by ``Retry-After`` in seconds; at most an hour."""
    seconds = answer.headers.get("retry-after", "").strip()
    is_number = seconds.isascii() and seconds.isdigit()
    return min(timedelta(seconds=int(seconds)), LONGEST_WAIT) if is_number else None


def read(answer: HttpAnswer) -> dict[str, Any]:
    """The object that an answer holds; empty where it holds none."""
    try:
        content = json.loads(answer.body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
