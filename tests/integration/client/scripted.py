"""A server on a real socket that plays a part: it fails, it is busy, and then it answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

ALLOWED = {"decision": "allow", "reasons": []}


@dataclass(frozen=True)
class Part:
    """One answer; status 0 hangs up without any."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Scripted:
    """The answers that are left, the last one again and again, and the requests that came."""

    parts: list[Part] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def plays(self, *parts: Part) -> None:
        self.parts = list(parts)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.asked.append(f"{handler.command} {handler.path} {handler.headers.get('Authorization')}")
        part = self.parts.pop(0) if len(self.parts) > 1 else self.parts[0]
        if part.status:
            body = part.body if isinstance(part.body, bytes) else json.dumps(part.body).encode()
            handler.send_response(part.status)
            for name, value in {**part.headers, "Content-Length": str(len(body))}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(body)
