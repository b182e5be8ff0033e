"""Notices in Slack by its Web API: one message for an incident, changed as the incident goes on."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from .base import Channel, ChannelMessage, JsonCalls, NoticePart, TransportError, read, wait_of

log = structlog.get_logger(__name__)

# A message as Slack's blocks, within its limits; all that comes from data stands where Slack reads no markup.
#
# Limits: https://docs.slack.dev/reference/block-kit/blocks (read 2026-11).

MOST_BLOCKS = 50
LONGEST_HEADER = 150
LONGEST_TEXT = 3000
LONGEST_URL = 3000
LONGEST_ALT = 2000
LONGEST_FALLBACK = 3000  # the text that notifications show
BLOCKS_OF_A_PART = 4

Block = dict[str, Any]


def blocks_of(parts: Sequence[NoticePart]) -> list[Block]:
    """A header, the text, a picture and buttons for each notice; what does not fit is counted in a last line."""
    most = MOST_BLOCKS // BLOCKS_OF_A_PART
    visible_parts = parts if len(parts) <= most else parts[: most - 1]
    blocks: list[Block] = []
    for part in visible_parts:
        header = {"type": "plain_text", "text": cut(part.title, LONGEST_HEADER) or "…", "emoji": False}
        blocks.append({"type": "header", "text": header})
        if part.text.strip():
            blocks.append(_literal(part.text.strip()))
        if (picture := part.picture) and picture.url:
            blocks.append({"type": "image", "image_url": picture.url, "alt_text": cut(picture.text, LONGEST_ALT)})
        if buttons := [
            {
                "type": "button",
                "action_id": f"open-{number}",
                "text": {"type": "plain_text", "text": name[:75], "emoji": False},
                "url": url,
            }
            for number, (name, url) in enumerate(part.links.items())
            if len(url) <= LONGEST_URL and url.startswith(("https://", "http://"))
        ]:
            blocks.append({"type": "actions", "elements": buttons[:25]})
    if more := len(parts) - len(visible_parts):
        blocks.append(_literal(f"and {more} more"))
    return blocks


def fallback(parts: Iterable[NoticePart]) -> str:
    """What a notification shows: the titles, with the three characters escaped that Slack reads as markup."""
    return escaped(cut("; ".join(part.title for part in parts), LONGEST_FALLBACK // 5))


def escaped(text: str) -> str:
    """Text as Slack's markup has it: no mention, no link and no group can be written in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, most: int) -> str:
    """The text, cut where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _literal(text: str) -> Block:
    """Text in which nothing is markup: in rich text a mention or a link is an element of its own kind."""
    run = {"type": "text", "text": cut(text, LONGEST_TEXT)}
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [run]}]}


PLACE = re.compile(r"#[^\s#]{1,80}|[CGDUW][A-Z0-9]{8,20}", re.ASCII)  # a name, or the id of a channel or person
# https://docs.slack.dev/reference/methods/chat.postMessage#errors (read 2026-11): what passes by itself
PASSING = frozenset(
    {"ratelimited", "rate_limited", "message_limit_exceeded", "internal_error", "fatal_error", "request_timeout"}
    | {"service_unavailable", "team_added_to_org", "accesslimited"}
)
GONE = frozenset({"message_not_found"})  # deleted: it is posted anew
FIXED = frozenset({"cant_update_message", "edit_window_closed", "update_failed"})  # told in its thread instead
MENDS = {
    "not_in_channel": "invite the app to the channel",
    "channel_not_found": "correct the channel in the routes, or invite the app",
    "is_archived": "name another channel in the routes",
    "invalid_auth": "correct ASSAY_SLACK_TOKEN",
    "token_revoked": "correct ASSAY_SLACK_TOKEN",
    "missing_scope": "give the app the scope chat:write",
}


class SlackRefusal(TransportError):
    """Slack said no; ``code`` is its word for why."""

    def __init__(self, method: str, code: str, **how: Any) -> None:
        mend = f": {MENDS[code]}" if code in MENDS else ""
        super().__init__(f"slack: {method}: {code}{mend}", permanent=code not in PASSING, **how)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class SlackChannel(Channel):
    """Posts as the app that the token belongs to."""

    api: str  # ends with a slash
    token: str
    calls: JsonCalls

    name = "slack"
    setting = "ASSAY_SLACK_TOKEN"
    address_form = 'write "#channel" in quotes, or the id of a channel or a person such as C0123456789'
    edits = True
    has_pictures = True

    def reaches(self, recipient: str) -> bool:
        """Whether it is ``#channel``, or an id of a channel or a person."""
        return bool(PLACE.fullmatch(recipient))

    def send(self, message: ChannelMessage) -> str:
        """Post, or change the earlier message and say in its thread what must be heard. Where it lives: ``C1/1.2``.

        Slack refuses a message with a picture that it cannot fetch; it goes out without.
        """
        try:
            return self._tell(message, message.parts)
        except SlackRefusal as refusal:
            if refusal.code != "invalid_blocks" or not any(part.picture for part in message.parts):
                raise
            log.warning("slack cannot fetch the chart", key=message.key, mend="let it reach ASSAY_PUBLIC_URL")
            return self._tell(message, [replace(part, picture=None) for part in message.parts])

    def _tell(self, message: ChannelMessage, parts: Sequence[NoticePart]) -> str:
        content = {"text": fallback(parts), "blocks": blocks_of(parts)}
        if not message.earlier:
            return self._post({"channel": message.to, **content})
        place, _, ts = message.earlier.partition("/")
        try:
            self._call("chat.update", {"channel": place, "ts": ts, "parse": "none", **content})
        except SlackRefusal as refusal:
            if refusal.code in GONE:
                return self._post({"channel": place, **content})
            if refusal.code not in FIXED:
                raise
            self._post({"channel": place, "thread_ts": ts, **content})
            return message.earlier
        if message.reply:
            self._post({"channel": place, "thread_ts": ts, "text": escaped(cut(message.reply, 500))})
        return message.earlier

    def try_out(self) -> None:
        """Whether the token is one (``auth.test``); nothing is posted."""
        self._call("auth.test", {})

    def _post(self, fields: dict[str, Any]) -> str:
        quiet = {"unfurl_links": False, "unfurl_media": False, "parse": "none", "link_names": False}
        response = self._call("chat.postMessage", {**quiet, **fields})
        return f"{response.get('channel', fields['channel'])}/{response.get('ts', '')}"

    def _call(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        answer = self.calls.post(f"{self.api}{method}", fields, {"Authorization": f"Bearer {self.token}"})
        content = read(answer)
        if content.get("ok") is not True:
            raise SlackRefusal(method, str(content.get("error") or f"status {answer.status}"), wait=wait_of(answer))
        return content
