"""Servers that answer a call with any bytes, in any way, on an address of one's choice."""

import re
import socketserver
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket

from tests.integration.alerting.receivers import serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

Answer = Callable[[socket], None]


@dataclass
class Called:
    """Where a server listens, and what came in."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address by a name that no name server knows."""
        return f"http://hooks.invalid:{self.port}/notices"


@contextmanager
def raw(answer: Answer | bytes = OK, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[Called]:
    """A server that reads what comes, and answers so."""
    called = Called()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                called.requests.append(_request(self.request))
                if isinstance(answer, bytes):
                    self.request.sendall(answer)
                else:
                    answer(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

    with serving(Server((host, port), Handler)) as called.port:
        yield called


def _request(wire: socket) -> bytes:
    """What was sent, up to the end of the body that its head announces; heads and bodies may come apart."""
    read = wire.recv(65536)
    announced = re.search(rb"(?i)content-length: (\d+)", read)
    whole = read.find(b"\r\n\r\n") + 4 + (int(announced[1]) if announced else 0)
    while announced and len(read) < whole and (part := wire.recv(65536)):
        read += part
    return read


@contextmanager
def encrypted(folder: Path, name: str) -> Iterator[tuple[Called, Path]]:
    """A server with TLS, and the file of the certificate, of ``name``, that it signed itself."""
    certificate = folder / "certificate.pem"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={name}"
    files = ["-addext", f"subjectAltName=DNS:{name}", "-keyout", str(folder / "key.pem"), "-out", str(certificate)]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, folder / "key.pem")
    called = Called()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError), context.wrap_socket(self.request, server_side=True) as wire:
                called.requests.append(wire.recv(65536))
                wire.sendall(OK)

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as called.port:
        yield called, certificate
