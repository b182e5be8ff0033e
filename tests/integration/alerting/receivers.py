"""Real receivers of notices on free ports: an HTTP server and an SMTP server, each answering as it is told."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Received:
    """What came in, and the answers still to be given; the last is given from then on."""

    answers: list[int]
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def answer(self) -> int:
        """The next answer."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def webhook(*answers: int) -> Iterator[Received]:
    """A receiver of posts that answers with these statuses."""
    received = Received(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            received.headers.append(dict(self.headers.items()))
            self.send_response(received.answer())
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        received.url = f"http://127.0.0.1:{port}/notices"
        yield received


@contextmanager
def mail_server(*answers: int) -> Iterator[Received]:
    """A mail server that answers each recipient with these codes."""
    received = Received(answers=list(answers))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say(220)
            for line in self.rfile:
                word = line[:4].upper()
                if word == b"RCPT":
                    self.say(received.answer())
                elif word == b"DATA":
                    self.say(354)
                    received.bodies.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                    self.say(250)
                else:
                    self.say(221 if word == b"QUIT" else 250)

        def say(self, code: int) -> None:
            self.wfile.write(f"{code} so be it\r\n".encode())

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        received.url = f"smtp://127.0.0.1:{port}"
        yield received


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[int]:
    """The port of a server that runs meanwhile."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
