"""A service of real processes whose scheduler dies: who notices, and how."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
from pytest_django import DjangoDbBlocker
from sqlalchemy import create_engine, text

from alerting.models import Notice
from assay.clock import database_now
from assay.config import config
from assay.models import Beat
from tests.e2e.processes import Processes, assay
from tests.e2e.set_ups import default_database, environment
from tests.integration.assay.test_ping import outside
from tests.servers import MariaDB, Redis

LIMIT = 60.0  # seconds


@pytest.fixture
def called() -> Event:
    """Set when the service outside is called."""
    return Event()


@pytest.fixture
def service(
    tmp_path: Path, mariadb_server: MariaDB, redis_server: Redis, called: Event, django_db_blocker: DjangoDbBlocker
) -> Iterator[Processes]:
    """A service without any process yet, over a database of its own."""
    with create_engine(mariadb_server.url).begin() as connection:
        connection.execute(text("CREATE OR REPLACE DATABASE silence CHARACTER SET utf8mb4"))
    url = mariadb_server.url.replace("/assay", "/silence")
    with ExitStack() as stack:
        outer = stack.enter_context(outside(200, called))
        given = {"ASSAY_DATABASE_URL": url, "ASSAY_BROKER_URL": redis_server.url, "ASSAY_HEARTBEAT_URL": outer}
        variables = environment(tmp_path, given)
        subprocess.run([assay(), "migrate"], env=variables, check=True, capture_output=True)
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(default_database(url))
        processes = Processes(environment=variables, logs=tmp_path / "logs")
        stack.callback(processes.stop_all)
        yield processes


def test_a_scheduler_that_dies_is_missed_by_the_doctor_and_told_of_by_a_worker(
    service: Processes, called: Event
) -> None:
    service.start_sweep()
    wait_until(Beat.objects.exists, service)
    assert called.wait(LIMIT)
    assert scheduler_is_well(service)
    service.kill("sweep")
    Beat.objects.update(swept_at=database_now() - timedelta(minutes=6))
    assert not scheduler_is_well(service)
    service.start_worker("stages", "assay")
    wait_until(Notice.objects.filter(sent_at__isnull=False).exists, service)
    notice = Notice.objects.get()
    assert (notice.recipient, notice.event) == (config().on_call, "platform")


def scheduler_is_well(service: Processes) -> bool:
    """What the doctor says of the scheduler."""
    done = subprocess.run([assay(), "doctor", "--json"], env=service.environment, capture_output=True, text=True)
    (found,) = [each for each in json.loads(done.stdout)["findings"] if each["check"] == "scheduler"]
    return bool(found["is_well"])


def wait_until(is_so: Callable[[], bool], service: Processes) -> None:
    """Return once it is so."""
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert not service.dead(), service.told()
        assert time.monotonic() < deadline, service.told()
        time.sleep(0.1)
