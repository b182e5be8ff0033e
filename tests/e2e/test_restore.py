"""A back-up as docs/deploy.md says it is taken, restored on another machine with the same secrets."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.fleet import Fleet, fleet, prepared
from tests.e2e.shop import SIZE, Shop, ended, environment, spoil_and_mend
from tests.integration.alerting.receivers import Received, webhook

pytestmark = pytest.mark.timeout(900)
DUMP = ["--single-transaction", "--quick", "--skip-lock-tables", "assay"]


@pytest.fixture
def receiver() -> Iterator[Received]:
    """Where notices are posted to."""
    with webhook(200) as received:
        yield received


def test_a_restored_service_knows_what_was_and_goes_on(tmp_path: Path, receiver: Received) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with fleet(home=old, size=SIZE, environment=environment(receiver)) as service:
        shop = Shop(folder=tmp_path, service=service, receiver=receiver)
        shop.open()
        shop.log_in()
        spoil_and_mend(shop, ended(hours_ago=4))
        known = shop.incidents()
        back_up(service, tmp_path / "assay.sql")
    shutil.copytree(old / "service" / "secrets", new / "service" / "secrets")
    if (old / "states").exists():
        shutil.copytree(old / "states", new / "states")
    with prepared(home=new, size=SIZE, environment=environment(receiver)) as service:
        service.start_servers()
        restore(service, tmp_path / "assay.sql")
        service.start_processes()
        again = Shop(folder=tmp_path, service=service, receiver=receiver)
        again.log_in()
        assert again.incidents() == known
        spoil_and_mend(again, ended(hours_ago=3))


def back_up(service: Fleet, dump: Path) -> None:
    """All rows as they are at one instant, while everything runs."""
    command = service.database.client("mariadb-dump", "mariadb-client")
    with dump.open("wb") as file:
        subprocess.run([*command, *DUMP], stdout=file, check=True)


def restore(service: Fleet, dump: Path) -> None:
    """Into an empty database."""
    with dump.open("rb") as file:
        subprocess.run([*service.database.client(), "assay"], stdin=file, check=True)
