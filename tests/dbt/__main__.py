"""``make dbt``: the project in ``examples/dbt`` beside a real ``assay up``: blocked by bad data, and let through once
it is mended; what it writes is judged, and a provider reads what dbt says of it.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pyarrow as pa
from pyarrow.parquet import write_table

from assay.catalog.providers import dbt

ROOT = Path(__file__).parents[2]
DBT = ROOT / ".dbt" / "bin" / "dbt"
DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
UP_WITHIN, JUDGED_WITHIN = 60, 120  # seconds
DATASET = """
  - name: {name}
    owner: olga
    tier: 5
    columns: {{order_id: bigint, amount: double, datestr: string}}
    partition: {{column: datestr, granularity: day, time_zone: UTC, first: 2026-01-01}}
    replicas: [{{datacenter: ams, storage: parquet, location: "{location}"}}]"""
TESTS = """
tests:
  - {dataset: raw.orders, name: no-refunds, category: custom, assertion: min(amount) >= 0, severity: hard}
  - {dataset: mart.sales, name: enough, category: custom, assertion: row_count() >= 10, severity: hard}
"""


class Shop:
    """A home of Assay, a lake and a dbt project that is pointed at both."""

    def __init__(self, home: Path) -> None:
        self.home, self.lake = home, home / "lake of the shop"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        path = os.pathsep.join([str(ROOT / "platform"), str(ROOT)])
        self.environment = {**os.environ, "ASSAY_HOME": str(home / "assay"), "PYTHONPATH": path}

    def assay(self, *words: str) -> str:
        """The output of a command."""
        command = [sys.executable, "-c", "from assay.command_line.cli import main; main()", *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def dbt(self, token: str) -> subprocess.CompletedProcess[str]:
        """Run the project."""
        project = ROOT / "examples" / "dbt"
        given = {
            "ASSAY_URL": f"http://127.0.0.1:{self.port}",
            "ASSAY_TOKEN": token,
            "DBT_TARGET_PATH": str(self.home / "target"),
            "DBT_LOG_PATH": str(self.home / "logs"),
            "DBT_DATABASE": str(self.home / "shop.duckdb"),
            "DBT_PROJECT_DIR": str(project),
            "DBT_PROFILES_DIR": str(project),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables = json.dumps({"day": DAY, "lake": str(self.lake)})
        words = [str(DBT), "--no-use-colors", "run", "--vars", variables]
        return subprocess.run(words, env={**plain, **given}, cwd=self.home, capture_output=True, text=True, check=False)

    def orders(self, *amounts: float) -> None:
        """Write yesterday's orders."""
        part = self.lake / "orders" / f"datestr={DAY}"
        part.mkdir(parents=True, exist_ok=True)
        rows = {"order_id": list(range(len(amounts))), "amount": list(amounts)}
        write_table(pa.table(rows), part / "part.parquet")

    def get(self, resource: str, token: str) -> Any:
        """An answer of the API."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{resource}"
        with urlopen(Request(address, headers={"Authorization": f"Token {token}"}), timeout=30) as response:
            return json.load(response)

    @contextmanager
    def up(self) -> Iterator[None]:
        """``assay up``, until it answers and as long as it is needed."""
        command = [sys.executable, "-c", "from assay.command_line.cli import main; main()", "up", "--port"]
        with (self.home / "up.log").open("w") as log:
            process = subprocess.Popen([*command, str(self.port)], env=self.environment, stdout=log, stderr=log)
            try:
                self._wait_until_up()
                yield
            finally:
                process.terminate()
                process.wait(timeout=60)

    def _wait_until_up(self) -> None:
        end = time.monotonic() + UP_WITHIN
        while True:
            try:
                urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).close()
                return
            except (URLError, OSError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)


def main() -> None:
    """The story; raises AssertionError where it goes another way."""
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(Path(folder))
        places = {"raw.orders": shop.lake / "orders", "mart.sales": shop.lake / "sales"}
        datasets = "".join(DATASET.format(name=name, location=place) for name, place in places.items())
        (shop.home / "catalog.yaml").write_text(f"datasets:{datasets}{TESTS}")
        print(shop.assay("sync", str(shop.home / "catalog.yaml")))
        shop.assay("member", "dbt", "--role", "producer")
        scopes = [word for scope in ("gate", "ingest", "read") for word in ("--scope", scope)]
        token = json.loads(shop.assay("token", "create", "dbt", *scopes, "--json"))["token"]
        with shop.up():
            tell(shop, token)
        onboard(shop)


def tell(shop: Shop, token: str) -> None:
    """Bad data, a run that is blocked, data that is mended, a run that is let through, a judged output."""
    shop.orders(*range(11), -5.0)
    print(shop.assay("run", "raw.orders", "--window", DAY))
    blocked = shop.dbt(token)
    print(blocked.stdout)
    assert blocked.returncode != 0, "dbt read bad data"
    assert "must not be read" in blocked.stdout
    assert not (shop.lake / "sales").exists()
    shop.orders(*range(12))
    print(shop.assay("run", "raw.orders", "--window", DAY))
    done = shop.dbt(token)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "completed mart.sales" in done.stdout
    end = time.monotonic() + JUDGED_WITHIN
    while not (runs := _judged(shop, token)) and time.monotonic() < end:
        time.sleep(1)
    assert [(run["reason"], run["outcome"]) for run in runs] == [("trigger", "held")], runs
    print(f"held: {runs[0]['sentence']}")
    described = dbt.read({"target": str(shop.home / "target")})
    places = {table.full_name: [replica.location for replica in table.replicas or ()] for table in described.tables}
    assert places == {"raw.orders": [], "mart.sales": [str(shop.lake / "sales")]}, places
    assert [(edge.upstream, edge.downstream) for edge in described.lineage] == [("raw.orders", "mart.sales")]
    print(f"the provider dbt reads what dbt wrote of {', '.join(places)}")


def onboard(shop: Shop) -> None:
    """The same project in an empty home, with no catalog file: dbt's own tests, one that breaks, and its end."""
    stranger = Shop(shop.home / "stranger")
    entry = {
        "name": "dbt",
        "kind": "dbt",
        "target": str(shop.home / "target"),
        "defaults": {"owner": "olga", "tier": 0},
    }
    stranger.environment["ASSAY_PROVIDERS"] = json.dumps([entry])
    print(stranger.assay("plan", "--provider", "dbt"), stranger.assay("sync", "--provider", "dbt"))
    (part,) = (shop.lake / "sales").rglob("*.parquet")
    double = part.with_name("again.parquet")
    for is_doubled in (False, True, False):
        double.write_bytes(part.read_bytes()) if is_doubled else double.unlink(missing_ok=True)
        answer = json.loads(stranger.assay("run", "mart.sales", "--json"))
        outcomes = {run["data_test"]: run["outcome"] for run in answer["runs"]}
        print(outcomes)
        (duplicates,) = (outcomes[name] for name in outcomes if name.startswith("duplicates"))
        assert duplicates == ("broken" if is_doubled else "held"), outcomes


def _judged(shop: Shop, token: str) -> list[Any]:
    found = shop.get("runs?dataset=mart.sales", token)["results"]
    return [run for run in found if run["sentence"].startswith("row_count()")]


if __name__ == "__main__":
    main()
