"""The service as `make service` starts it: real MariaDB, Redis, gunicorn, Celery and a Spark child, at real time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.fleet import Fleet, fleet
from tests.e2e.shop import SIZE, Shop, ended, environment, spoil_and_mend
from tests.integration.alerting.receivers import Received, webhook

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def receiver() -> Iterator[Received]:
    """Where notices are posted to."""
    with webhook(200) as received:
        yield received


@pytest.fixture
def service(tmp_path: Path, receiver: Received) -> Iterator[Fleet]:
    """All processes."""
    with fleet(home=tmp_path / "home", size=SIZE, environment=environment(receiver)) as started:
        yield started


def test_spoilt_orders_are_told_of_mended_and_resolved_even_when_processes_die(
    service: Fleet, receiver: Received, tmp_path: Path
) -> None:
    shop = Shop(folder=tmp_path, service=service, receiver=receiver)
    shop.open()
    shop.log_in()
    spoil_and_mend(shop, ended(hours_ago=4))
    for name in ("worker", "worker-sea", "scheduler", "redis"):
        service.kill(name)
    spoil_and_mend(shop, ended(hours_ago=3))
    assert {name for name, process in service.processes.items() if process.restarts} >= {"worker", "redis"}
