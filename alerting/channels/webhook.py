"""Notices as JSON to a URL, signed, under a stable Idempotency-Key."""

import hashlib
import hmac
import json
from dataclasses import dataclass

import requests

from alerting.channels.base import Message, TransportError

TIMEOUT = 10  # seconds
TEMPORARY = frozenset({408, 425, 429})


@dataclass(frozen=True, kw_only=True)
class WebhookChannel:
    """Posts every notice to one receiver, which tells its people by ``recipient``."""

    url: str
    secret: str = ""

    name = "webhook"

    def reaches(self, recipient: str) -> bool:
        """Always: the receiver knows its people."""
        return True

    def send(self, message: Message) -> None:
        """Post; a status below 500 that is no success and no plea for patience is permanent."""
        body = payload(message)
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key}
        if self.secret:
            headers["X-Assay-Signature"] = signature(body, self.secret)
        try:
            answer = requests.post(self.url, data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False)
        except requests.RequestException as error:
            raise TransportError(f"{type(error).__name__}: {error}", permanent=False) from error
        if not 200 <= answer.status_code < 300:
            temporary = answer.status_code >= 500 or answer.status_code in TEMPORARY
            raise TransportError(f"{self.url} answered {answer.status_code}", permanent=not temporary)


def payload(message: Message) -> bytes:
    """The JSON that is posted; the same message gives the same bytes."""
    fields = {
        "key": message.key,
        "recipient": message.recipient,
        "subject": message.subject,
        "body": message.body,
        "notices": list(message.facts),
    }
    return json.dumps(fields, sort_keys=True).encode()


def signature(body: bytes, secret: str) -> str:
    """``sha256=`` and the HMAC of the body under the secret, in hex."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
