"""After requests that once held the whole service up, a server that is killed at once comes up again and answers."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from datetime import date, timedelta
from pathlib import Path
from urllib.error import HTTPError

from tests.integration.commands.test_up import free_port, started

WAIT = 180.0  # seconds: of a loaded machine
CATALOG = """
datasets:
  - name: raw.trips
    owner: rita@example.com
    tier: 3
    columns: {id: bigint, datestr: string}
    primary_key: [id]
    partition: {column: datestr, granularity: day, time_zone: UTC}
    replicas: [{datacenter: sea, storage: parquet, location: LAKE}]
"""
CENTURIES = "1900-01-01T00:00:00Z/2100-01-01T00:00:00Z"
DATES = ", ".join(f"'{date(2000, 1, 1) + timedelta(days=2 * number)}'" for number in range(6500))


def event(inputs: int, outputs: int, **facets: object) -> dict[str, object]:
    """An event of OpenLineage."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-10T00:00:00Z",
        "job": {"namespace": "jobs", "name": "nightly"},
        "run": {"runId": "0197a3f0-0000-7000-8000-000000000000", "facets": facets},
        "inputs": [{"namespace": "raw", "name": f"table_{number}"} for number in range(inputs)],
        "outputs": [
            {"namespace": "raw", "name": "trips"},
            *({"namespace": "b", "name": f"{n}"} for n in range(outputs)),
        ],
    }


FAR = {"nominalTime": {"nominalStartTime": "0001-01-01T00:00:00Z", "nominalEndTime": "9999-12-31T23:59:59-14:00"}}
REQUESTS = {
    "a query that its parser stumbles over": ("quality/query", {"sql": "select map(s) from raw.trips"}),
    "a completion of two centuries": (
        "pipelines/nightly/completed",
        {"outputs": [{"dataset": "raw.trips", "window": CENTURIES}]},
    ),
    "a completion of decades": (
        "pipelines/nightly/completed",
        {"outputs": [{"dataset": "raw.trips", "window": "2000-01-01T00:00:00Z/2026-01-01T00:00:00Z"}]},
    ),
    "an event at the ends of time": ("lineage", event(0, 0, **FAR)),
    "a query of 6,500 dates": ("quality/query", {"sql": f"select 1 from raw.trips where datestr in ({DATES})"}),
    "an event of thousands of tables": ("lineage", event(3000, 3000)),
    "a gate over centuries": ("gate", {"datasets": ["raw.trips"], "window": CENTURIES}),
}
STATUSES = (400, 400, 201, 400, 200, 400, 200)
NEWEST = {"outputs": [{"dataset": "raw.trips", "window": "2026-03-09"}]}


class Served:
    """The API of a server on this machine."""

    def __init__(self, port: str, token: str) -> None:
        self._port, self._token = port, token

    def ask(self, address: str, sent: object = None) -> int:
        """The status of the answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Token {self._token}"}
        data = None if sent is None else json.dumps(sent).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/{address}", data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=WAIT) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    def wait(self) -> None:
        """Until it says that it is ready."""
        end = time.monotonic() + WAIT
        while True:
            try:
                if self.ask("readyz") == 200:
                    return
            except OSError:
                pass
            assert time.monotonic() < end, "the server does not become ready"
            time.sleep(0.2)


def assay(home: Path, *arguments: str) -> str:
    """What a command prints."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    line = [str(Path(sys.executable).parent / "assay"), *arguments]
    done = subprocess.run(line, env=environ | {"ASSAY_HOME": str(home)}, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_server_that_is_killed_after_each_of_them_comes_up_and_answers(tmp_path: Path) -> None:
    home, catalog = tmp_path / "home", tmp_path / "catalog.yaml"
    catalog.write_text(CATALOG.replace("LAKE", str(tmp_path / "lake")))
    assay(home, "sync", str(catalog))
    assay(home, "member", "etl", "--role", "admin")
    scopes = ["--scope", "gate", "--scope", "ingest"]
    made = json.loads(assay(home, "token", "create", "etl", *scopes, "--name", "nightly", "--json"))
    port = free_port()
    server = Served(port, made["token"])
    answers = {}
    for name, (address, sent) in REQUESTS.items():
        with started(home, "up", "--port", port):  # which ends it by SIGKILL
            server.wait()
            answers[name] = server.ask(f"api/v1/{address}", sent)
    assert answers == {name: status for (name, _), status in zip(REQUESTS.items(), STATUSES, strict=True)}
    with started(home, "up", "--port", port):
        server.wait()
        assert server.ask("api/v1/gate", {"datasets": ["raw.trips"], "window": "2026-03-09"}) == 200
        assert server.ask("api/v1/pipelines/nightly/completed", NEWEST) == 201  # which writes
