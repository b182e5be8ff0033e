"""On a standalone cluster kernels and Spark agree too, and a scan outlives an executor and a worker that are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .cluster import Cluster, cluster

CLIENT = Path(__file__).with_name("cluster_client.py")
ROOT = CLIENT.parents[3]
PATIENCE = 60.0  # seconds for two tasks to begin

pytestmark = pytest.mark.only_on_spark("local", why="it starts a cluster of its own")


@pytest.mark.timeout(600)
def test_a_cluster_measures_the_same_and_outlives_who_is_killed_in_mid_scan(tmp_path: Path) -> None:
    """Its Pythons cannot import the project: the kernels are sent with their tasks."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}", "SPARK_LOCAL_IP": "127.0.0.1"}
    with (
        cluster(tmp_path) as running,
        (tmp_path / "client.log").open("w") as said,
        subprocess.Popen(
            [sys.executable, str(CLIENT), str(tmp_path), running.master],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=environment,
        ) as client,
    ):
        assert client.stdout is not None
        lines = [_answered(line, running, tmp_path) for line in client.stdout]
    assert client.returncode == 0, (tmp_path / "client.log").read_text()[-4000:]
    differing, undisturbed, without_executor, without_worker = [line for line in lines if line is not None]
    assert differing == []
    assert undisturbed == without_executor == without_worker
    assert undisturbed["left"] == [[]]
    assert undisturbed["told"]["sum(id)"] == sum(range(80_000))
    assert undisturbed["told"]["completeness(city)"] == pytest.approx(6 / 7, abs=1e-5)


def _answered(line: str, running: Cluster, root: Path) -> Any:
    """What the client says; where it begins a scan that shall lose something, that is killed."""
    if not line.startswith("scanning "):
        return json.loads(line)
    lost = line.split()[1]
    if lost != "nothing":
        deadline = time.monotonic() + PATIENCE
        while len(list((root / lost).iterdir())) < 2:  # both executors are at work
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(running.executors()[0] if lost == "executor" else running.workers[0].pid, signal.SIGKILL)
    return None
