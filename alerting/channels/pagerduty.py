"""Notices to PagerDuty by its Events API v2: an incident is triggered, acknowledged and resolved under one key."""

from dataclasses import dataclass
from hashlib import blake2s
from typing import Any
from urllib.parse import urlsplit

from .base import ChannelMessage, JsonCalls, NamedChannel, NoticePart, TransportError, read

ACTIONS = {
    "opened": "trigger",
    "also fails": "trigger",
    "assigned": "trigger",
    "updated": "trigger",
    "progress": "trigger",
    "platform": "trigger",
    "acknowledged": "acknowledge",
    "recovered": "resolve",
    "withdrawn": "resolve",
}
SEVERITIES = {0: "critical", 1: "error", 2: "warning", 3: "warning"}  # by tier; of the others info
KEY_LENGTH = 32
LONGEST_SUMMARY = 1024
LONGEST_DETAIL = 8000


@dataclass(frozen=True, kw_only=True)
class PagerDutyChannel(NamedChannel):
    """Sends to the services whose integration keys the environment names; an event under the same key changes one."""

    url: str
    calls: JsonCalls

    name = "pagerduty"
    setting = "ASSAY_PAGERDUTY_KEYS"
    has_pictures = True
    address_form = "write the name of a key in ASSAY_PAGERDUTY_KEYS"

    def takes(self, event: str) -> bool:
        """Only what wakes people: no weekly report, no word to owners of downstreams."""
        return event in ACTIONS

    def send(self, message: ChannelMessage) -> str:
        """One event for each notice; sent again, each has the same key, so PagerDuty shows it once."""
        key = self.secret(message, "key")
        for part in message.parts:
            action = ACTIONS.get(str(part.facts.get("event", "")), "trigger")
            event: dict[str, Any] = {"event_action": action, "dedup_key": dedup_key(part, message.key)}
            if action == "trigger":
                facts = part.facts
                severity = SEVERITIES.get(facts["tier"], "info") if "tier" in facts else "error"
                event["payload"] = {
                    "summary": part.title[:LONGEST_SUMMARY] or "Assay",
                    "source": str(facts.get("dataset") or "assay"),
                    "severity": severity,
                    **({"timestamp": facts["failed_at"]} if "failed_at" in facts else {}),
                    **({"class": facts["category"]} if "category" in facts else {}),
                    "custom_details": {"text": part.text[:LONGEST_DETAIL]},
                }
                if part.picture and part.picture.url:
                    event["images"] = [{"src": part.picture.url, "alt": part.picture.text}]
                event["links"] = [{"href": url, "text": name} for name, url in part.links.items()]
            answer = self.calls.post(self.url, {"routing_key": key, "client": "Assay", **event})
            if not 200 <= answer.status < 300:
                content = read(answer)
                why = "; ".join(map(str, content.get("errors") or [content.get("message", "")]))[:300]
                raise TransportError(f"pagerduty answered {answer.status}: {why}", permanent=True)
        return ""

    def try_out(self) -> None:
        """Whether keys have their length and the URL leads where it may; only an event would show more."""
        if wrong := sorted(name for name, key in self.secrets.items() if len(key) != KEY_LENGTH):
            why = f"the key {', '.join(wrong)} in ASSAY_PAGERDUTY_KEYS has not {KEY_LENGTH} characters"
            raise TransportError(f"pagerduty: {why}", permanent=True)
        self.calls.try_out(self.url)


def dedup_key(part: NoticePart, otherwise: str) -> str:
    """One key for all that is told of an incident, the installation's own; of other notices their own key."""
    facts = part.facts
    if "alert" not in facts:
        return f"assay-{blake2s(otherwise.encode(), digest_size=16).hexdigest()}"
    return f"assay-{urlsplit(str(facts.get('url', ''))).netloc}-alert-{facts['alert']}"[:255]
