"""Services that people are told by, on free ports: each answers as the documentation of its interface says."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integration.alerting.receivers import serving

Reply = tuple[int, dict[str, Any], dict[str, str]]
TOKEN = "xoxb-of-a-trial"
KEY = "0123456789abcdef0123456789abcdef"


@dataclass
class SlackWorkspace:
    """Messages by channel and time stamp, what was refused, and answers that stand before the usual one."""

    url: str = ""
    channels: frozenset[str] = frozenset({"#trips", "C0TRIPS01"})
    fetches: bool = True  # whether it reaches the addresses of images
    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    posts: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    next_answers: list[Reply] = field(default_factory=list)

    def answer(self, method: str, headers: dict[str, str], fields: dict[str, Any]) -> Reply:
        """As https://docs.slack.dev/reference/methods has it for three methods."""
        if self.next_answers:
            return self.next_answers.pop(0)
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return refused("invalid_auth")
        if method == "auth.test":
            return 200, {"ok": True, "team": "trial"}, {}
        if wrong := wrong_blocks(fields.get("blocks", []), fetches=self.fetches):
            return 200, {"ok": False, "error": "invalid_blocks", "errors": wrong}, {}
        if not fields.get("text") and not fields.get("blocks"):
            return refused("no_text")
        return self.post(fields) if method == "chat.postMessage" else self.update(fields)

    def post(self, fields: dict[str, Any]) -> Reply:
        """A new message, in a channel that there is."""
        if fields["channel"] not in self.channels:
            return refused("channel_not_found")
        ts = f"1710000000.{len(self.posts):06d}"
        self.posts.append(fields)
        self.messages["C0TRIPS01", ts] = fields
        return 200, {"ok": True, "channel": "C0TRIPS01", "ts": ts}, {}

    def update(self, fields: dict[str, Any]) -> Reply:
        """A message that is there, with other content; it takes no name of a channel, only the id."""
        place = (fields["channel"], fields["ts"])
        if place not in self.messages:
            return refused("message_not_found")
        self.messages[place] |= fields
        self.updates.append(fields)
        return 200, {"ok": True, "channel": place[0], "ts": place[1]}, {}


def refused(code: str) -> Reply:
    """Slack says no with status 200."""
    return 200, {"ok": False, "error": code}, {}


# https://docs.slack.dev/reference/block-kit/blocks, read 2026-11
def wrong_blocks(blocks: list[dict[str, Any]], *, fetches: bool) -> list[str]:
    """What breaks the documented limits."""
    wrong = [] if len(blocks) <= 50 else ["more than 50 blocks"]
    for block in blocks:
        match block["type"]:
            case "header":
                text = block["text"]
                if text["type"] != "plain_text" or not 1 <= len(text["text"]) <= 150:
                    wrong.append("a header is a plain text of 1 to 150 characters")
            case "rich_text":
                runs = [run for section in block["elements"] for run in section["elements"]]
                if any(set(run) - {"type", "text", "style"} or run["type"] != "text" for run in runs):
                    wrong.append("a run of rich text that is not text")
                if sum(len(run["text"]) for run in runs) > 3000 or not all(run["text"] for run in runs):
                    wrong.append("a rich text of 1 to 3000 characters")
            case "image":
                if not fetches or not block["image_url"].startswith("https://") or len(block["image_url"]) > 3000:
                    wrong.append("downloading image failed")
                if not 1 <= len(block["alt_text"]) <= 2000:
                    wrong.append("an image has a text of 1 to 2000 characters")
            case "actions":
                if not 1 <= len(block["elements"]) <= 25:
                    wrong.append("actions are 1 to 25")
                for each in block["elements"]:
                    if each["type"] != "button" or len(each["text"]["text"]) > 75 or len(each["url"]) > 3000:
                        wrong.append("a button has a text of 75 and a URL of 3000 characters at most")
                if len({each["action_id"] for each in block["elements"]}) < len(block["elements"]):
                    wrong.append("an action_id comes twice")
            case other:
                wrong.append(f"{other} is not expected")
    return wrong


@dataclass
class PagerDuty:
    """Alerts by their dedup key, with the last status of each, and all events that came."""

    url: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    alerts: dict[str, str] = field(default_factory=dict)
    next_answers: list[Reply] = field(default_factory=list)

    def answer(self, method: str, headers: dict[str, str], fields: dict[str, Any]) -> Reply:
        """As https://developer.pagerduty.com/docs/events-api-v2/trigger-events has it."""
        if self.next_answers:
            return self.next_answers.pop(0)
        if wrong := list(self.wrong(fields)):
            return 400, {"status": "invalid event", "message": "Event object is invalid", "errors": wrong}, {}
        self.events.append(fields)
        states = {"trigger": "triggered", "acknowledge": "acknowledged", "resolve": "resolved"}
        self.alerts[fields["dedup_key"]] = states[fields["event_action"]]
        return 202, {"status": "success", "message": "Event processed", "dedup_key": fields["dedup_key"]}, {}

    def wrong(self, fields: dict[str, Any]) -> Iterator[str]:
        """What the interface refuses."""
        if len(fields["routing_key"]) != 32:
            yield "Length of 'routing_key' is incorrect (should be 32 characters)"
        if len(fields["dedup_key"]) > 255:
            yield "'dedup_key' is too long"
        if fields["event_action"] == "trigger":
            payload = fields["payload"]
            if not payload["summary"] or len(payload["summary"]) > 1024 or not payload["source"]:
                yield "'payload.summary' and 'payload.source' are required"
            if payload["severity"] not in ("critical", "error", "warning", "info"):
                yield "'payload.severity' is invalid"


@dataclass
class Anything:
    """A receiver that takes all that it gets."""

    status: int = 202
    url: str = ""
    got: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, method: str, headers: dict[str, str], fields: dict[str, Any]) -> Reply:
        """Taken."""
        self.got.append(fields)
        return self.status, {}, {}


@contextmanager
def listening(service: SlackWorkspace | PagerDuty | Anything) -> Iterator[str]:
    """The address of a service that runs meanwhile, with a slash at its end."""
    answer: Callable[[str, dict[str, str], dict[str, Any]], Reply] = service.answer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            status, said, headers = answer(self.path.rpartition("/")[2], dict(self.headers.items()), body)
            told = json.dumps(said).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(told)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        service.url = f"http://127.0.0.1:{port}/"
        yield service.url
