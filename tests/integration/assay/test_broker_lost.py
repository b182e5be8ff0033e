"""Redis goes away while a worker has its hands full, and comes back: the worker must take work again."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis as Client

from deploy.local.programs import free_port
from deploy.local.servers import Broker
from tests.e2e.processes import Processes, assay
from tests.e2e.set_ups import environment
from tests.integration.assay.test_hostile_messages import arguments, envelope, wait_for
from tests.servers import running

pytestmark = pytest.mark.timeout(180)

BUSY = 4.0  # seconds of the task during which Redis dies


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    """A Redis that is not running yet."""
    folder = tmp_path / "redis"
    folder.mkdir()
    return Broker(folder=folder, port=free_port())


@pytest.fixture(params=["prefork", "threads"])
def processes(request: pytest.FixtureRequest, tmp_path: Path, broker: Broker) -> Iterator[Processes]:
    """A worker of each kind, with a task that takes its time."""
    given = {"ASSAY_BROKER_URL": broker.url, "ASSAY_DATABASE_URL": f"sqlite:///{tmp_path}/assay.db"}
    processes = Processes(environment=environment(tmp_path, given), logs=tmp_path / "logs")
    subprocess.run([assay(), "migrate"], env=processes.environment, check=True, capture_output=True)
    try:
        with running(broker.command(), ready=broker.is_ready):
            how = ("full", "assay", "--without-heartbeat")  # else that, not the end of the task, may be what asks first
            processes.start_worker(*how, app="tests.integration.assay.slow_worker", pool=request.param)
            wait_for(processes.logs / "full.log", send(broker, seconds=BUSY), "received")
        yield processes
    finally:
        processes.stop_all()


def test_a_worker_whose_hands_were_full_when_redis_died_takes_work_again(processes: Processes, broker: Broker) -> None:
    log = processes.logs / "full.log"
    wait_for(log, "Couldn't ack")
    with running(broker.command(), ready=broker.is_ready):
        wait_for(log, send(broker, seconds=0.0), "succeeded")
    assert processes.dead() == []


def send(broker: Broker, *, seconds: float) -> str:
    """A message of the task; its id."""
    message = envelope("tests.take", arguments(seconds))
    Client.from_url(broker.url).lpush("assay", message)
    return str(json.loads(message)["headers"]["id"])
