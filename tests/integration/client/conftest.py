"""The client beside a real server, on a stopped clock, and a catalog with one bad day."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from assay import clock
from assay.access import Role
from assay.models import AccessToken, Dataset, Member
from assay_client import AssayClient
from tests.factories import NOW, DatasetFactory, DataTestFactory, SpoiltWindowFactory, StandingFactory, day
from tests.integration.client.scripted import Scripted


@pytest.fixture
def token(transactional_db: None) -> str:
    clock.simulate(NOW)
    user = User.objects.create(username="grace")
    Member.objects.create(user=user, role=Role.ADMIN)
    return str(AccessToken.objects.create(user)[1])


@pytest.fixture
def client(live_server: LiveServer, token: str) -> Iterator[AssayClient]:
    with AssayClient(live_server.url, token, timeout=10) as client:
        yield client


@pytest.fixture
def trips(transactional_db: None) -> Dataset:
    """``raw.trips``, whose 9 March is spoilt; the two days before are good."""
    dataset = DatasetFactory.create(name="trips", first_partition="2026-01-01")
    test = DataTestFactory.create(dataset=dataset, name="rows", created_at=day("2026-03-07").start)
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken")
    for key in ("2026-03-07", "2026-03-08"):
        StandingFactory.create(data_test=test, window=day(key))
    SpoiltWindowFactory.create(incident__dataset=dataset, data_test=test, datacenter="sea")
    return dataset


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.answer(self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    yield script
    server.shutdown()
    server.server_close()
    thread.join()
