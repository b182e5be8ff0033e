"""Notices in Slack by its Web API: one message for an incident, changed as the incident goes on."""

import re
from dataclasses import dataclass
from typing import Any

from .base import ChannelMessage, TransportError
from .json_calls import JsonCalls, read, wait_of
from .slack_blocks import blocks_of, cut, escaped, fallback

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
class SlackChannel:
    """Posts as the app that the token belongs to."""

    api: str  # ends with a slash
    token: str
    calls: JsonCalls

    name = "slack"
    edits = True

    def reaches(self, recipient: str) -> bool:
        """Whether it is ``#channel``, or an id of a channel or a person."""
        return bool(PLACE.fullmatch(recipient))

    def takes(self, event: str) -> bool:
        """Always."""
        return True

    def send(self, message: ChannelMessage) -> str:
        """Post, or change the earlier message and say in its thread what must be heard. Where it lives: ``C1/1.2``."""
        told = {"text": fallback(message.parts), "blocks": blocks_of(message.parts)}
        if not message.earlier:
            return self._post({"channel": message.to, **told})
        place, _, ts = message.earlier.partition("/")
        try:
            self._call("chat.update", {"channel": place, "ts": ts, "parse": "none", **told})
        except SlackRefusal as refusal:
            if refusal.code in GONE:
                return self._post({"channel": place, **told})
            if refusal.code not in FIXED:
                raise
            self._post({"channel": place, "thread_ts": ts, **told})
            return message.earlier
        if message.reply:
            self._post({"channel": place, "thread_ts": ts, "text": escaped(cut(message.reply, 500))})
        return message.earlier

    def try_out(self) -> None:
        """Whether the token is one (``auth.test``); nothing is posted."""
        self._call("auth.test", {})

    def _post(self, fields: dict[str, Any]) -> str:
        quiet = {"unfurl_links": False, "unfurl_media": False, "parse": "none", "link_names": False}
        found = self._call("chat.postMessage", {**quiet, **fields})
        return f"{found.get('channel', fields['channel'])}/{found.get('ts', '')}"

    def _call(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        answer = self.calls.post(f"{self.api}{method}", fields, {"Authorization": f"Bearer {self.token}"})
        found = read(answer)
        if found.get("ok") is not True:
            raise SlackRefusal(method, str(found.get("error") or f"status {answer.status}"), wait=wait_of(answer))
        return found
