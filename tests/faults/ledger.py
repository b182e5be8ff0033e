"""A receiver of notices that writes down every request before it answers, and answers as it is told."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

from tests.faults.facts import Request
from tests.integration.alerting.receivers import serving

Answer = Callable[[BaseHTTPRequestHandler], int]  # answers, and says with which status; 0: with none


def takes(handler: BaseHTTPRequestHandler) -> int:
    """A sound receiver."""
    return says(handler, 200)


def says(handler: BaseHTTPRequestHandler, status: int, **headers: str) -> int:
    """Answer with a status."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    return status


@dataclass
class Receiver:
    """Where notices go; ``answer`` may be changed at any time."""

    ledger: Path
    url: str = ""
    answer: Answer = takes

    def requests(self) -> list[Request]:
        """All that came so far, in their order."""
        if not self.ledger.exists():
            return []
        return [_request(json.loads(line)) for line in self.ledger.read_text().splitlines()]


def _request(line: dict[str, object]) -> Request:
    body = json.loads(str(line["body"]))
    return Request(
        key=unquote(str(line["key"])),
        digest=hashlib.sha256(str(line["body"]).encode()).hexdigest(),
        notices=tuple(notice["key"] for notice in body["notices"]),
        taken=line["status"] in (200, 201, 202, 204),
    )


@contextmanager
def receiver(ledger: Path) -> Iterator[Receiver]:
    """A receiver that runs meanwhile, outside of the service."""
    made, lock = Receiver(ledger=ledger), Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            try:
                status = made.answer(self)
            except OSError:  # the sender is gone, and has not read the answer
                status = 200
            line = json.dumps({"key": self.headers["Idempotency-Key"], "body": body, "status": status})
            with lock, made.ledger.open("a") as file:
                file.write(f"{line}\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        made.url = f"http://127.0.0.1:{port}/notices"
        yield made
