"""A real Assay in an empty home, embedded: what an operator types, in that order."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from assay_client import AssayClient
from deploy.local.process import Process, wait_until
from deploy.local.programs import finish, free_port

OURS = ("ASSAY_", "DJANGO_", "AIRFLOW")


@dataclass(frozen=True, kw_only=True)
class Assay:
    """The server, with a token of a pipeline and one of somebody who looks."""

    url: str
    pipeline_token: str
    reader_token: str

    def reader(self) -> AssayClient:
        """A client that may list things."""
        return AssayClient(self.url, self.reader_token)

    def rows(self, path: str, **query: str) -> list[dict[str, object]]:
        """A list of the API that the client does not know."""
        header = {"Authorization": f"Token {self.reader_token}"}
        answer = requests.get(f"{self.url}/api/v1/{path}", params=query, headers=header, timeout=30)
        answer.raise_for_status()
        found: list[dict[str, object]] = answer.json()["results"]
        return found


@contextmanager
def assay(folder: Path, catalog: Path, *, broken: str, window: str) -> Iterator[Assay]:
    """It is up, knows the catalog, and has found one window of a dataset broken."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment |= {"ASSAY_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"}
    _assay(environment, "sync", str(catalog))
    _assay(environment, "run", broken, "--window", window, "--fail-on", "never")
    _assay(environment, "member", "airflow", "--role", "producer")
    tokens = [
        _assay(environment, "token", "create", "airflow", *scopes).split()[-1]
        for scopes in (("--scope", "gate", "--scope", "ingest"), ("--scope", "read"))
    ]
    server = Process(
        name="assay",
        command=[_program(), "up", "--port", str(port)],
        environment=environment,
        log=folder / "assay.log",
    )
    server.start()
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{url}/healthz"), server)
        yield Assay(url=url, pipeline_token=tokens[0], reader_token=tokens[1])
    finally:
        server.end(10)


def answers(address: str) -> bool:
    """Whether there is a server that answers well."""
    try:
        return requests.get(address, timeout=5).ok
    except requests.RequestException:
        return False


def _program() -> str:
    return str(Path(sys.executable).with_name("assay"))


def _assay(environment: dict[str, str], *words: str) -> str:
    return finish([_program(), *words], environment=environment)
