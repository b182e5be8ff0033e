"""A store that speaks S3 and counts: requests by method, and the bytes of objects that it sent.

``python -m benchmarks.lake.server PORT`` serves it. The path ``/counts`` gives the counts since it was last asked.
"""

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Any

from deploy.local.programs import free_port

HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class StoreServer:
    """A running server: its endpoint, and its process."""

    endpoint: str
    pid: int

    def counts(self) -> Counter[str]:
        """Requests by method, and ``bytes``, since this was last asked."""
        with urllib.request.urlopen(f"{self.endpoint}/counts") as answer:
            return Counter(json.load(answer))


@contextmanager
def store_server() -> Iterator[StoreServer]:
    """A fresh, empty store, until the context ends."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", __name__, str(port)], stderr=subprocess.DEVNULL)
    server = StoreServer(endpoint=f"http://{HOST}:{port}", pid=process.pid)
    try:
        while process.poll() is None:
            try:
                server.counts()
                break
            except OSError:
                sleep(0.1)
        yield server
    finally:
        process.kill()
        process.wait()


def _serve(port: int) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    store = DomainDispatcherApplication(create_backend_app)
    run_simple(HOST, port, _counting(store), threaded=True)


def _counting(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The application, with the counts at a path of their own."""
    counts: Counter[str] = Counter()

    def counted(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/counts":
            start("200 OK", [("Content-Type", "application/json")])
            body = json.dumps(counts).encode()
            counts.clear()
            return [body]
        is_list = environ["REQUEST_METHOD"] == "GET" and "list-type" in environ.get("QUERY_STRING", "")
        counts["LIST" if is_list else environ["REQUEST_METHOD"]] += 1
        parts = list(application(environ, start))
        counts["bytes"] += sum(map(len, parts))
        return parts

    return counted


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
