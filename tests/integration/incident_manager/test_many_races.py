"""Thirty-two processes fail three datasets at once: 1,000 rounds with ``ASSAY_FUZZ=full``, else a few."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import assay
from tests.e2e.set_ups import environment
from tests.servers import MariaDB, mariadb

FULL = os.environ.get("ASSAY_FUZZ") == "full"
ROUNDS = 1000 if FULL else 10
ROOT = Path(__file__).parents[3]


@pytest.fixture
def server() -> Iterator[MariaDB]:
    """A database of its own: what the rounds leave is nobody else's."""
    with mariadb() as server:
        yield server


@pytest.mark.timeout(2 * 3600)
def test_however_many_fail_at_once_each_dataset_and_category_has_one_open_incident(
    server: MariaDB, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = environment(tmp_path, {"ASSAY_DATABASE_URL": server.url, "ASSAY_BROKER_URL": ""})
    subprocess.run([assay(), "migrate"], env=given, check=True, capture_output=True)
    command = [sys.executable, "-m", "tests.integration.incident_manager.racing", str(ROUNDS)]
    path = os.pathsep.join([str(ROOT / "platform"), str(ROOT)])
    done = subprocess.run(command, env={**given, "PYTHONPATH": path}, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        rate = found["results"] / found["seconds"]
        print(
            f"\n{found['rounds']:,} rounds of 32 processes, {rate:.0f} results/s, "
            f"{found['retried']:,} transactions retried, {found['given_back']:,} given back"
        )
    assert found["wrong"] == []
    assert (found["rounds"], found["results"]) == (ROUNDS, ROUNDS * 32)
