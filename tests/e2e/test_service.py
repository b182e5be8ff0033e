"""The service as `make service` starts it: real MariaDB, Redis, gunicorn, Celery and a Spark child, at real time.

Its processes die; and a back-up, taken as docs/deploy.md says, is restored on another machine with the same secrets.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.fleet import Fleet, fleet, prepared
from tests.e2e.shop import SIZE, Shop, ended, environment, spoil_and_mend
from tests.integration.alerting.receivers import webhook

pytestmark = pytest.mark.timeout(900)
DUMP = ["--single-transaction", "--quick", "--skip-lock-tables", "assay"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop with all processes of its service, which has told of one spoilt hour and of its end."""
    folder = tmp_path_factory.mktemp("shop")
    with (
        webhook(200) as receiver,
        fleet(home=folder / "home", size=SIZE, environment=environment(receiver)) as service,
    ):
        shop = Shop(folder=folder, service=service, receiver=receiver)
        shop.open()
        shop.log_in()
        spoil_and_mend(shop, ended(hours_ago=4))
        yield shop


def test_a_fresh_service_is_well_by_its_own_doctor(shop: Shop) -> None:
    assert "ill" not in shop.service.assay("doctor", "--json").replace("is_well", "")


def test_spoilt_orders_are_told_of_mended_and_resolved_even_when_processes_die(shop: Shop) -> None:
    for name in ("worker", "worker-sea", "scheduler", "redis"):
        shop.service.kill(name)
    spoil_and_mend(shop, ended(hours_ago=3))
    assert {name for name, process in shop.service.processes.items() if process.restarts} >= {"worker", "redis"}


def test_a_restored_service_knows_what_was_and_goes_on(shop: Shop, tmp_path: Path) -> None:
    old, new = shop.service.home, tmp_path / "new"
    known = shop.incidents()
    back_up(shop.service, tmp_path / "assay.sql")
    shutil.copytree(old / "service" / "secrets", new / "service" / "secrets")
    if (old / "states").exists():
        shutil.copytree(old / "states", new / "states")
    with (
        webhook(200) as receiver,
        prepared(home=new, size=SIZE, environment=environment(receiver)) as service,
    ):
        service.start_servers()
        restore(service, tmp_path / "assay.sql")
        service.start_processes()
        service.serve_catalog()
        again = Shop(folder=shop.folder, service=service, receiver=receiver)
        again.log_in()
        assert again.incidents() == known
        spoil_and_mend(again, ended(hours_ago=2))


def back_up(service: Fleet, dump: Path) -> None:
    """All rows as they are at one instant, while everything runs."""
    command = service.database.client("mariadb-dump", "mariadb-client")
    with dump.open("wb") as file:
        subprocess.run([*command, *DUMP], stdout=file, check=True)


def restore(service: Fleet, dump: Path) -> None:
    """Into an empty database."""
    with dump.open("rb") as file:
        subprocess.run([*service.database.client(), "assay"], stdin=file, check=True)
