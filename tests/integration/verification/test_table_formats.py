"""Folders of Delta, Iceberg and Hudi: their files alone are not their rows, so they are read by their logs, or not."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from tests.fixture_types import Capture

LOGS = {
    "a Delta": "_delta_log/00000000000000000000.json",
    "an Iceberg": "metadata/v1.metadata.json",
    "a Hudi": ".hoodie/hoodie.properties",
}
WAYS_OUT = {"a Delta": "with storage: delta", "an Iceberg": "with storage: iceberg", "a Hudi": "storage: table"}
CHECKS = "checks:\n  - row_count() > 0\n"
CATALOG = """
datasets:
  - name: shop.orders
    owner: rita@example.com
    tier: 1
    replicas: [{datacenter: sea, storage: parquet, location: orders}]
"""


@pytest.fixture(autouse=True)
def here(spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty folder of work."""
    monkeypatch.chdir(tmp_path)
    Path("checks.yaml").write_text(CHECKS)
    Path("catalog.yaml").write_text(CATALOG)
    with storage.using(spark_engine):
        yield tmp_path


def write_files(folder: str, log: str) -> None:
    Path(folder).mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3]}), f"{folder}/part-0.parquet")
    path = Path("orders") / log
    path.parent.mkdir(parents=True)
    path.write_text("{}")


def verify(capsys: Capture, table: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run_command(["verify", table, "--checks", "checks.yaml", "--json"])
    return code, json.loads(capsys.readouterr().out)["constraints"][0]["message"]


@pytest.mark.parametrize("table", ["orders/data", "orders/part-0.parquet"])
@pytest.mark.parametrize("format_", LOGS)
def test_a_part_of_a_table_that_has_a_log_is_not_read_as_files_and_named(
    capsys: Capture, format_: str, table: str
) -> None:
    write_files("orders/data" if table == "orders/data" else "orders", LOGS[format_])
    code, message = verify(capsys, table)
    assert (code, f"lies in {format_} table" in message, WAYS_OUT[format_] in message) == (ExitCode.UNABLE, True, True)


def test_a_table_of_hudi_is_refused_and_named(capsys: Capture) -> None:
    write_files("orders", LOGS["a Hudi"])
    code, message = verify(capsys, "orders")
    assert (code, "is a Hudi table" in message, "storage: table" in message) == (ExitCode.UNABLE, True, True)


@pytest.mark.parametrize(("format_", "reason"), [("a Delta", "has no metadata"), ("an Iceberg", "is damaged")])
def test_a_log_that_is_damaged_is_said_to_be(capsys: Capture, format_: str, reason: str) -> None:
    write_files("orders", LOGS[format_])
    code, message = verify(capsys, "orders")
    assert (code, reason in message) == (ExitCode.UNABLE, True), message


@pytest.mark.parametrize("format_", LOGS)
def test_a_folder_in_which_such_a_table_lies_is_not_read_as_files(capsys: Capture, format_: str) -> None:
    write_files("orders", LOGS[format_])
    Path("shop").mkdir()
    Path("orders").rename("shop/orders")
    code, message = verify(capsys, "shop")
    assert (code, message.endswith(f"in it lies {format_} table, orders: name its folder")) == (ExitCode.UNABLE, True)


def test_a_catalog_leaves_out_a_table_below_a_namespace_whose_log_is_damaged(capsys: Capture) -> None:
    write_files("orders", LOGS["a Delta"])
    Path("lake/shop").mkdir(parents=True)
    Path("orders").rename("lake/shop/orders")
    assert run_command(["init", "lake"]) == ExitCode.UNABLE
    assert "its log has no metadata: it is damaged" in capsys.readouterr().err


def test_a_folder_called_metadata_makes_no_table_of_another_format(capsys: Capture) -> None:
    write_files("orders", "metadata/_readme.txt")
    assert verify(capsys, "orders")[0] == ExitCode.HELD


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("command", ["plan", "sync"])
def test_a_catalog_that_gives_one_as_a_folder_of_files_is_refused(capsys: Capture, command: str) -> None:
    write_files("orders", LOGS["a Delta"])
    capsys.readouterr()
    assert run_command([command, "catalog.yaml"]) == ExitCode.UNABLE
    assert "shop.orders in sea: " in (said := capsys.readouterr().err)
    assert "is a Delta table" in said
    assert not Dataset.objects.exists()
