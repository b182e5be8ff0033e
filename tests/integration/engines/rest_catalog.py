"""A REST catalog of Iceberg over a SQL catalog: what pyiceberg's client asks for of tables, and no more."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

TOKEN = "token-of-the-lake"


class RestCatalog(ThreadingHTTPServer):
    """It takes the credential ``reader:secret``. ``status``: what it answers instead; ``is_silent``: it does not."""

    daemon_threads, block_on_close = True, False

    def __init__(self, catalog: SqlCatalog, view: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.catalog, self.view = catalog, view
        self.status = 200
        self.is_silent = False


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: RestCatalog

    def do_GET(self) -> None:
        """The configuration, namespaces, tables and one table."""
        path = urlsplit(self.path)
        match [unquote(step) for step in path.path.split("/")[2:]]:
            case ["config"]:
                self.answer(200, {"defaults": {}, "overrides": {}})
            case ["namespaces"]:
                parent = tuple(parse_qs(path.query).get("parent", ()))
                self.answer(200, {"namespaces": self.server.catalog.list_namespaces(parent)})
            case ["namespaces", namespace, "tables"]:
                names = [{"namespace": [namespace], "name": name} for _, name in self.tables(namespace)]
                self.answer(200, {"identifiers": names})
            case ["namespaces", namespace, "tables", name]:
                self.answer_table(namespace, name)

    def tables(self, namespace: str) -> list[tuple[str, ...]]:
        """The tables of a namespace."""
        try:
            return self.server.catalog.list_tables(namespace)
        except NoSuchNamespaceError:
            return []

    def do_HEAD(self) -> None:
        """Whether there is a view."""
        *_, namespace, _, name = self.path.split("/")
        self.answer(204 if f"{namespace}.{name}" == self.server.view else 404, None)

    def do_POST(self) -> None:
        """A token for the right credential."""
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if form["client_secret"] == ["secret"]:
            self.answer(200, {"access_token": TOKEN, "token_type": "bearer"}, is_open=True)
        else:
            self.answer(401, {"error": "invalid_client", "error_description": "Credentials given were invalid"})

    def answer_table(self, namespace: str, name: str) -> None:
        """The metadata of a table, and where they lie."""
        try:
            table = self.server.catalog.load_table((namespace, name))
        except NoSuchTableError:
            self.answer(404, {"error": {"message": "no", "type": "NoSuchTableException", "code": 404}})
            return
        metadata = json.loads(table.metadata.model_dump_json(by_alias=True))
        self.answer(200, {"metadata-location": table.metadata_location, "metadata": metadata})

    def answer(self, status: int, body: dict[str, Any] | None, *, is_open: bool = False) -> None:
        """What was asked for, or what the server answers instead."""
        if self.server.is_silent:
            sleep(60)
        if self.server.status != 200:
            status = self.server.status
        elif not is_open and status != 401 and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            status = 401
        if status >= 400 and "error" not in (body or {}):
            body = {"error": {"message": "No.", "type": "Exception", "code": status}}
        text = b"" if body is None or status == 204 else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """No word of it."""


@contextmanager
def rest_catalog(catalog: SqlCatalog, *, view: str = "") -> Iterator[RestCatalog]:
    """The server, while it runs; ``view`` is the name of a view that it says to have."""
    server = RestCatalog(catalog, view)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
