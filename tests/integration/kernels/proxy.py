"""A proxy before a store, which a test has answer in the store's place, or act, at a request of its choice."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import urlsplit

from pyarrow.fs import S3FileSystem

ERROR = '<?xml version="1.0"?><Error><Code>{}</Code><Message>No.</Message></Error>'
_KEY_ID = re.compile(r"Credential=([^/]+)/")
Answer = tuple[int, str] | None  # a status and S3's code, in place of what the store says
_OF_CONNECTIONS = {"connection", "transfer-encoding", "content-length"}


@dataclass
class Proxy:
    """``at`` is called with the number of each request, from 1 on, before it is sent on; ``request`` is what it asks.

    ``owner`` writes to the store itself; ``key_ids`` are those that requests were signed with.
    """

    endpoint: str
    owner: S3FileSystem
    at: Callable[[int], Answer] = field(default=lambda _: None)
    seen: int = 0
    request: str = ""  # its method, path and range
    key_ids: set[str] = field(default_factory=set)

    def begin(self, at: Callable[[int], Answer] = lambda _: None) -> None:
        """Count anew."""
        self.at, self.seen, self.key_ids = at, 0, set()


@contextmanager
def before(store: str, owner: S3FileSystem) -> Iterator[Proxy]:
    """A proxy before the store with this endpoint."""
    lock, proxy = Lock(), Proxy(endpoint="", owner=owner)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            with lock:
                proxy.seen += 1
                proxy.request = f"{self.command} {self.path} {self.headers.get('Range', '')}"
                proxy.key_ids |= set(_KEY_ID.findall(self.headers.get("Authorization", "")))
                answer = proxy.at(proxy.seen)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {"Content-Type": "application/xml"}
            if answer is not None:
                status, content = answer[0], ERROR.format(answer[1]).encode()
            else:
                connection = HTTPConnection(urlsplit(store).netloc)
                connection.request(self.command, self.path, body, dict(self.headers))
                response = connection.getresponse()
                status, headers, content = response.status, dict(response.getheaders()), response.read()
                connection.close()
            length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OF_CONNECTIONS:
                    self.send_header(name, value)
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """No word of it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    proxy.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
