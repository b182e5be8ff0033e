"""Messages of somebody who got at the broker: a real worker refuses them, and goes on with ours."""

import base64
import json
import os
import pickle
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis as Client

from tests.e2e.processes import Processes, assay
from tests.e2e.set_ups import environment
from tests.servers import Redis

pytestmark = pytest.mark.timeout(180)

PICKLE, YAML, JSON = "application/x-python-serialize", "application/x-yaml", "application/json"
LIMIT = 60.0  # seconds


class Touch:
    """What makes a file when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.canary}",)


def envelope(task: str, body: bytes, content_type: str = JSON) -> str:
    """A message as kombu keeps it in Redis."""
    name = str(uuid4())
    delivery = {"exchange": "", "routing_key": "assay"}
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-type": content_type,
            "content-encoding": "utf-8" if content_type == JSON else "binary",
            "headers": {"lang": "py", "task": task, "id": name, "root_id": name, "argsrepr": "", "kwargsrepr": ""},
            "properties": {
                "correlation_id": name,
                "delivery_tag": str(uuid4()),
                "delivery_mode": 2,
                "delivery_info": delivery,
                "priority": 0,
                "body_encoding": "base64",
            },
        }
    )


def arguments(*args: object) -> bytes:
    """A body with these arguments."""
    return json.dumps([list(args), {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]).encode()


@pytest.fixture
def worker(tmp_path: Path, redis_server: Redis) -> Iterator[Path]:
    """The log of a worker of the queue."""
    broker = {"ASSAY_BROKER_URL": redis_server.url, "ASSAY_DATABASE_URL": f"sqlite:///{tmp_path}/assay.db"}
    given = environment(tmp_path, broker)
    subprocess.run([assay(), "migrate"], env=given, check=True, capture_output=True)
    processes = Processes(environment=given, logs=tmp_path / "logs")
    processes.start_worker("victim", "assay")
    yield tmp_path / "logs" / "victim.log"
    assert processes.dead() == []
    processes.stop_all()


def test_neither_pickles_nor_yaml_nor_foreign_tasks_are_run(worker: Path, tmp_path: Path, redis_server: Redis) -> None:
    canary, queue = tmp_path / "canary", Client.from_url(redis_server.url)
    command = f"touch {canary}"
    for message in (
        envelope("alerting.tasks.send", pickle.dumps(((), {"x": Touch(canary)}, {})), PICKLE),
        envelope("alerting.tasks.send", f"!!python/object/apply:os.system ['{command}']".encode(), YAML),
        envelope("os.system", arguments(command)),
        envelope("os:system", arguments(command)),
        envelope("celery.accumulate", arguments(command)),
        envelope("alerting.tasks.send", b"[" * 100_000),
        envelope("alerting.tasks.send", b"\xff\x00"),
        envelope("alerting.tasks.send", b"[]"),
        envelope("alerting.tasks.send", b"[1, 2, 3]"),
        envelope("alerting.tasks.send", b"null"),
        envelope("alerting.tasks.send", b'{"args": 1}'),
        envelope("alerting.tasks.send", arguments()),  # ours, after all the others
    ):
        queue.lpush("assay", message)
    wait_for(worker, "Task alerting.tasks.send[", "succeeded")
    said = worker.read_text()
    assert not canary.exists()
    assert "Refusing to deserialize" in said
    assert "unregistered task of type 'os.system'" in said


def wait_for(log: Path, *words: str) -> None:
    """Until a line of the log holds all these words."""
    end = time.monotonic() + LIMIT
    while not any(all(word in line for word in words) for line in log.read_text().splitlines()):
        assert time.monotonic() < end, log.read_text()[-4000:]
        time.sleep(0.2)
