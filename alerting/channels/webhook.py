"""Notices as JSON to a URL, signed, under a stable Idempotency-Key."""

import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from string import punctuation
from urllib.parse import quote

from assay.edge.destination import DestinationRules, UnableToCall
from assay.edge.outbound import call

from .base import TEMPORARY, Channel, ChannelMessage, JsonCalls, TransportError


@dataclass(frozen=True, kw_only=True)
class WebhookChannel(Channel):
    """Posts every notice to one receiver, which tells its people by ``recipient``."""

    url: str
    rules: DestinationRules
    secret: str = ""

    name = "webhook"
    setting = "ASSAY_WEBHOOK_URL"
    address_form = "write any text"
    takes_any_name = True

    def send(self, message: ChannelMessage) -> str:
        """Post; a status below 500 that is no success and no plea for patience is permanent.

        A refused address is not permanent: name servers and settings are mended, and the notice still goes out.
        """
        body = payload(message)
        headers = {"Content-Type": "application/json", "Idempotency-Key": quote(message.key, safe=punctuation)}
        if self.secret:
            headers |= signed(body, self.secret, at=int(time.time()))
        try:
            status = call("POST", self.url, rules=self.rules, headers=headers, body=body)
        except UnableToCall as unable:
            raise TransportError(f"webhook: {unable}", permanent=False) from unable
        if not 200 <= status < 300:
            hint = ": redirects are not followed, name the last address in ASSAY_WEBHOOK_URL"
            why = f"the webhook answered {status}{hint if 300 <= status < 400 else ''}"
            raise TransportError(why, permanent=not (status >= 500 or status in TEMPORARY))
        return ""

    def try_out(self) -> None:
        """Whether the URL is permitted, and its name leads where it may; nothing is posted."""
        JsonCalls(service=self.name, rules=self.rules).try_out(self.url)


def payload(message: ChannelMessage) -> bytes:
    """The JSON that is posted; the same message gives the same bytes."""
    fields = {
        "key": message.key,
        "recipient": message.recipient,
        "subject": message.subject,
        "body": message.body,
        "notices": list(message.facts),
    }
    return json.dumps(fields, sort_keys=True).encode()


def signed(body: bytes, secret: str, *, at: int) -> dict[str, str]:
    """The headers by which a receiver tells our messages: the time of sending in Unix seconds, and the signature."""
    return {"X-Assay-Timestamp": str(at), "X-Assay-Signature": signature(body, secret, at=at)}


def signature(body: bytes, secret: str, *, at: int) -> str:
    """``sha256=`` and the HMAC of time, full stop and body under the secret, in hex."""
    return "sha256=" + hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
