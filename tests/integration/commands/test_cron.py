"""``examples/cron.sh`` in cron's own shell and environment: a real job between a real gate and a real completion."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]
DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
CATALOG = """
datasets:
  - name: raw.orders
    owner: olga
    tier: 5
    columns: {id: bigint, datestr: string}
    partition: {column: datestr, granularity: day, time_zone: UTC, first: 2026-01-01}
    replicas: [{datacenter: ams, storage: parquet, location: "LAKE/orders of today"}]
  - name: mart.sales
    owner: max
    tier: 5
    columns: {id: bigint, datestr: string}
    partition: {column: datestr, granularity: day, time_zone: UTC, first: 2026-01-01}
    replicas: [{datacenter: ams, storage: parquet, location: LAKE/sales}]
tests:
  - {dataset: raw.orders, name: enough, category: custom, assertion: row_count() >= 10, severity: hard}
  - {dataset: mart.sales, name: enough, category: custom, assertion: row_count() >= 10, severity: hard}
"""


class Machine:
    """A folder with an installation, a job, and the environment that cron gives."""

    def __init__(self, home: Path) -> None:
        self.home, self.lake = home, home / "lake"
        assay, job = home / "assay command", home / "job"
        start = f"{sys.executable} -c 'from assay.command_line.cli import main; main()'"
        assay.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/platform:{ROOT}" exec {start} "$@"\n')
        sales = f"{self.lake}/sales/datestr=$1"
        job.write_text(f'#!/bin/sh\nmkdir -p "{sales}" && cp "{self.lake}/orders of today/datestr=$1/"* "{sales}/"\n')
        for script in (assay, job):
            script.chmod(0o755)
        self.given = {"ASSAY": str(assay), "ASSAY_HOME": str(home / "of assay"), "JOB": str(job), "PATIENCE": "1s"}
        self.cron = {"HOME": str(home), "LOGNAME": "shop", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}

    def assay(self, *words: str) -> int:
        """The exit code of a command."""
        return self._run([self.given["ASSAY"], *words]).returncode

    def starts_the_job(self) -> subprocess.CompletedProcess[str]:
        """As cron does it, with the assignments that stand before the command in a crontab."""
        given = " ".join(f"{name}='{value}'" for name, value in self.given.items())
        return self._run(["/bin/sh", "-c", f"{given} '{ROOT}/examples/cron.sh'"])

    def orders(self, rows: int) -> None:
        """Write yesterday's orders."""
        part = self.lake / "orders of today" / f"datestr={DAY}"
        part.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": list(range(rows))}), part / "part.parquet")

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {**self.cron, "ASSAY_HOME": self.given["ASSAY_HOME"]}
        return subprocess.run(words, env=environment, cwd=self.home, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose catalog is synchronised."""
    found = Machine(tmp_path)
    (tmp_path / "catalog.yaml").write_text(CATALOG.replace("LAKE", str(found.lake)))
    assert found.assay("sync", str(tmp_path / "catalog.yaml")) == 0
    return found


def test_a_job_of_cron_runs_once_its_input_is_good_and_has_its_output_judged(machine: Machine) -> None:
    machine.orders(9)
    assert machine.assay("run", "raw.orders", "--window", DAY) == 1
    refused = machine.starts_the_job()
    assert (refused.returncode, (machine.lake / "sales").exists()) == (1, False), refused
    assert f"does not run for {DAY}" in refused.stderr
    machine.orders(12)
    assert machine.assay("run", "raw.orders", "--window", DAY) == 0
    done = machine.starts_the_job()
    assert done.returncode == 0, done
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == ["allow", "allow"]
