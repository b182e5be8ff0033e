"""What holds on classic Spark holds on Connect; in a process of its own, as the two clash in one.

All that is asked of the engine is asked of Connect by ``make test-connect``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local.programs import free_port
from tests.integration.engines.trips import COLUMNS, DAY, ROWS

pytestmark = pytest.mark.only_on_spark("local", why="it starts a Connect server of its own")


@pytest.mark.timeout(600)
def test_spark_connect_measures_the_same() -> None:
    here = Path(__file__).parent
    native = here / "test_native_kernels.py::test_most_of_what_is_asked_of_plain_files_is_native"
    files = [*(str(path) for path in sorted(here.glob("test_spark_*.py"))), str(native)]
    environment = {**os.environ, "ASSAY_TEST_SPARK": "connect"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=here.parents[2], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 50


@pytest.mark.timeout(600)
def test_a_lost_server_is_transient_and_found_again(tmp_path: Path) -> None:
    client = Path(__file__).with_name("connect_client.py")
    root = client.parents[3]
    command = [sys.executable, str(client), str(tmp_path), str(free_port())]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'platform'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    before, lost, after = done.stdout.splitlines()
    cities = float(len({row[COLUMNS.index("city")] for row in ROWS[DAY]}))
    assert (before, after) == (str(cities), str(cities))
    assert lost.startswith("engine unreachable: raw.trips: ")


@pytest.mark.timeout(600)
def test_a_scan_by_connect_is_stopped_at_its_deadline(tmp_path: Path) -> None:
    client = Path(__file__).with_name("connect_deadline.py")
    root = client.parents[3]
    command = [sys.executable, str(client), str(tmp_path), str(free_port())]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'platform'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["timeout True", "399999.0"], done.stderr[-2000:]
