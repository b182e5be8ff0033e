"""Notices in Microsoft Teams, as Adaptive Cards posted to the webhook of a workflow; it cannot change them later."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .base import ChannelMessage, NamedChannel, NoticePart, TransportError, calls

MOST_BYTES = 24_000  # of a message; Teams refuses more than 28 KB
LONGEST_TEXT = 4000
STYLES = {
    "opened": "attention",
    "assigned": "attention",
    "downstream": "warning",
    "followed": "warning",
    "updated": "warning",
    "recovered": "good",
}


@dataclass(frozen=True, kw_only=True)
class TeamsChannel(NamedChannel):
    """Posts to the workflows whose URLs the environment names; a URL is a secret, as whoever has it can post."""

    permits_private: bool = False

    name = "teams"
    setting = "ASSAY_TEAMS_URLS"
    address_form = "write the name of a URL in ASSAY_TEAMS_URLS"
    has_pictures = True

    def send(self, message: ChannelMessage) -> str:
        """Post one card."""
        url = self.secret(message, "URL")
        answer = calls("teams", url, permits_private=self.permits_private).post(url, message_of(message.parts))
        if not 200 <= answer.status < 300:
            raise TransportError(f"teams answered {answer.status}: is the workflow still there?", permanent=True)
        return ""

    def try_out(self) -> None:
        """Whether each URL leads where it may; nothing is posted."""
        for url in self.secrets.values():
            calls("teams", url, permits_private=self.permits_private).try_out(url)


def message_of(parts: Sequence[NoticePart]) -> dict[str, Any]:
    """The message with one card, as many notices in it as fit; the others are counted."""
    containers = []
    for part in parts:
        items: list[dict[str, Any]] = [_literal(part.title, weight="Bolder", size="Medium")]
        items += [_literal(line) for line in part.text[:LONGEST_TEXT].splitlines() if line.strip()]
        if part.picture and part.picture.url:
            items.append({"type": "Image", "url": part.picture.url, "altText": part.picture.text})
        urls = {name: url for name, url in part.links.items() if url.startswith(("https://", "http://"))}
        if actions := [{"type": "Action.OpenUrl", "title": name, "url": url} for name, url in urls.items()]:
            items.append({"type": "ActionSet", "actions": actions})
        style = STYLES.get(str(part.facts.get("event")), "default")
        containers.append({"type": "Container", "style": style, "separator": True, "items": items})
    for count in range(max(len(parts), 1), 0, -1):
        more = [_literal(f"and {len(parts) - count} more")] if count < len(parts) else []
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "msteams": {"width": "Full"},
            "body": [*containers[:count], *more],
        }
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        message = {"type": "message", "attachments": [attachment]}
        if len(json.dumps(message)) <= MOST_BYTES:
            break
    return message


def _literal(text: str, **how: str) -> dict[str, Any]:
    """Text in which nothing is markup: unlike a TextBlock, a TextRun knows no markdown."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **how}]}
