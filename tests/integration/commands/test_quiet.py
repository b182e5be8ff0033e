"""What commands leave to the terminal when Spark runs in its own process, as it does for users: nothing of Spark's."""

import os
import re
import sqlite3
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.command_line.exit_codes import ExitCode
from tests.integration.commands.test_up import ASSAY, free_port, started

CATALOG = """
datasets:
  - name: shop.orders
    owner: ola@example.com
    tier: 1
    columns: {city: string, datestr: string}
    partition: {column: datestr, granularity: day, time_zone: UTC}
    replicas: [{datacenter: sea, storage: parquet, location: LAKE}]
tests:
  - {dataset: shop.orders, name: cities, assertion: "pattern_match(city, '^r') = 1"}
"""
MISTAKES = 'checks:\n  - row_count() = 2\n  - compliance("cast(city as int) > 1") = 1\n  - mean(city) > 1\n'
OF_SPARK = re.compile(r"WARN|log4j|spark|hadoop|jvm|incubat|slf4j", re.IGNORECASE)
NOBODY = "redis://127.0.0.1:1"  # a broker: what is requested waits for its workers
WAIT = 280.0  # seconds: of a loaded machine

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with checks, a catalog, and yesterday's orders of a test that only Spark can answer."""
    folder = tmp_path / "lake" / f"datestr={(datetime.now(UTC) - timedelta(days=1)).date()}"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"city": ["rome", "oslo"]}), folder / "a.parquet")
    (tmp_path / "checks.yaml").write_text(MISTAKES)
    (tmp_path / "catalog.yaml").write_text(CATALOG.replace("LAKE", str(tmp_path / "lake")))
    return tmp_path


def done_in(shop: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with a home of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    own |= {"ASSAY_HOME": str(shop / "home"), **environment}
    return subprocess.run([*ASSAY, *arguments], cwd=shop, env=own, capture_output=True, text=True)


def judged(shop: Path) -> int:
    """How many runs have been judged."""
    with sqlite3.connect(f"file:{shop / 'home' / 'assay.db'}?mode=ro", uri=True) as database:
        ((count,),) = database.execute("SELECT count(*) FROM execution_engine_run WHERE judged_at IS NOT NULL")
        return int(count)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("verify", "lake", "--checks", "checks.yaml"), ExitCode.UNABLE),
        (("run", "shop.orders", "--data-test", "cities"), ExitCode.FAILED),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_nothing_that_spark_or_java_prints_reaches_the_terminal_of(
    shop: Path, command: tuple[str, ...], code: int
) -> None:
    done_in(shop, "sync", "catalog.yaml")
    done = done_in(shop, *command, "--json")
    assert (done.returncode, done.stderr) == (code, "")


def test_nothing_that_spark_or_java_prints_reaches_the_terminal_of_up(shop: Path) -> None:
    done_in(shop, "sync", "catalog.yaml")
    requested = done_in(shop, "run", "shop.orders", "--data-test", "cities", "--timeout", "0", ASSAY_BROKER_URL=NOBODY)
    assert "runs are not judged after 0 s" in requested.stderr
    deadline = time.monotonic() + WAIT
    with started(shop / "home", "up", "--port", free_port()) as running:
        while judged(shop) < 1 and time.monotonic() < deadline:
            time.sleep(0.2)
        running.terminate()
        said, _ = running.communicate(timeout=60)
    assert judged(shop) == 1
    assert "Assay is up" in said
    assert OF_SPARK.findall(said) == []


def test_nothing_that_spark_or_java_prints_reaches_the_terminal_of_a_gate_that_does_what_waits(shop: Path) -> None:
    done_in(shop, "sync", "catalog.yaml")
    done_in(shop, "run", "shop.orders", "--data-test", "cities", "--timeout", "0", ASSAY_BROKER_URL=NOBODY)
    asked = done_in(shop, "gate", "shop.orders", "--json")
    assert judged(shop) == 1
    assert asked.stderr == ""


def test_what_spark_prints_is_shown_to_who_asks_for_it(shop: Path) -> None:
    done = done_in(shop, "verify", "lake", "--checks", "checks.yaml", "--json", ASSAY_SPARK_LOG="true")
    assert done.returncode == ExitCode.UNABLE
    assert OF_SPARK.findall(done.stderr) != []
