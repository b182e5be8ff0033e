"""JSON posted to the interface of another service, through the guarded way out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import Answer, ask, judge

from .base import TransportError

TEMPORARY = frozenset({408, 425, 429})
LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class JsonCalls:
    """Calls to one service, named in errors; no error bears the URL or a header, which may be secrets."""

    service: str
    rules: DestinationRules

    def post(self, url: str, fields: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to a post, whatever its status but one that asks for patience; raises TransportError."""
        body = json.dumps(fields).encode()
        given = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
        try:
            answer = ask("POST", url, rules=self.rules, headers=given, body=body)
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


def wait_of(answer: Answer) -> timedelta | None:
    """How long a service asks us to wait, by ``Retry-After`` in seconds; at most an hour."""
    said = answer.headers.get("retry-after", "").strip()
    return min(timedelta(seconds=int(said)), LONGEST_WAIT) if said.isascii() and said.isdigit() and said else None


def read(answer: Answer) -> dict[str, Any]:
    """The object that an answer holds; empty where it holds none."""
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
