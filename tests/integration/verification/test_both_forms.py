"""Checks in Python and in YAML come to the same, and to what was worked out by hand."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from assay.command_line.cli import run as run_command
from execution_engine import storage
from execution_engine.engines.protocol import Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import VerificationSuite
from execution_engine.verification.checks_file import RULES as RULES_OF_FILES
from tests.integration.storages import stored
from tests.integration.verification.both_forms import METRICS, NAMED, RULES, SCHEMA, TABLES

CASES = [*RULES, *METRICS, *NAMED]
STATUSES = {"s": "success", "f": "failure", "e": "error"}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, spark_engine: SparkEngine, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Its name, and where it lies."""
    folder = tmp_path / request.param
    folder.mkdir()
    pq.write_table(pa.table(TABLES[request.param], schema=SCHEMA), folder / "part-0.parquet")
    with storage.using(spark_engine):
        yield request.param, stored(Table(name="rows", storage="parquet", location=str(folder))).location


def expected(table: str) -> list[str]:
    return [STATUSES[outcomes[list(TABLES).index(table)]] for _, _, outcomes in CASES]


def differences(found: list[tuple[str, str]], wanted: list[str]) -> list[str]:
    return [message for (status, message), each in zip(found, wanted, strict=True) if status != each]


def test_checks_in_python(table: tuple[str, str], spark_engine: SparkEngine) -> None:
    name, place = table
    result = VerificationSuite(engine=spark_engine).on(place).add_check(*(check for check, _, _ in CASES)).run()
    found = [(each.status.value, str(each)) for check in result.checks for each in check.constraints]
    assert differences(found, expected(name)) == []


def test_checks_in_yaml(table: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, place = table
    checks = tmp_path / "checks.yaml"
    checks.write_text(yaml.safe_dump({"checks": [entry for _, entry, _ in CASES]}))
    capsys.readouterr()
    run_command(["verify", place, "--checks", str(checks), "--json"])
    rows = json.loads(capsys.readouterr().out)["constraints"]
    found = [(row["status"], f"{row['place']} {row['constraint']}: {row['message']}") for row in rows]
    assert differences(found, expected(name)) == []


def test_every_rule_of_files_is_among_the_cases() -> None:
    assert set(RULES_OF_FILES) == {rule for _, entry, _ in RULES for rule in entry}
