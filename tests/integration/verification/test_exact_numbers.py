"""Whole numbers and decimals that no float holds, from a file through Spark to what ``assay verify`` says."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine

BIG = [2**63 - 1, 2**63 - 2, -(2**63), 2**62, None]
PRICES = [Decimal("1234567890123456.1234567891"), Decimal("0.0000000001"), Decimal("-1.5"), Decimal(2), None]
CITIES = ["rome", "rome", "oslo", "oslo", "oslo"]
CHECKS = """
checks:
  - max(big) = 9223372036854775806
  - max(big) = 9223372036854775807
  - max(big, where="city = 'oslo'") = 4611686018427387904
  - max(big, where="big < 9223372036854775807") = 9223372036854775806
  - min(big) = -9223372036854775807
  - sum(big) = 13835058055282163708
  - sum(big) = 13835058055282163709
  - sum(price) = 1234567890123456.6234567892
  - sum(price) = 1234567890123456.6234567893
  - max(price) < 1234567890123456.1234567892
  - in_range(big, -9223372036854775808, 9223372036854775806) = 0.75
  - max(big) = 9223372036854775806 by city for 50 % of groups
  - query("select max(big) from numbers") = 9223372036854775806
"""
EXPECTED = [False, True, True, True, False, False, True, True, False, True, True, False, False]


def verify(capsys: pytest.CaptureFixture[str], checks: str) -> tuple[int, dict[str, Any]]:
    Path("checks.yaml").write_text(checks)
    capsys.readouterr()
    code = run_command(["verify", "numbers/", "--checks", "checks.yaml", "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def numbers(spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "numbers").mkdir()
    columns = {"big": pa.array(BIG, pa.int64()), "price": pa.array(PRICES, pa.decimal128(38, 10)), "city": CITIES}
    pq.write_table(pa.table(columns), tmp_path / "numbers" / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    with storage.using(spark_engine):
        yield


def test_every_digit_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(each for each in BIG if each) == 13835058055282163709
    assert sum(each for each in PRICES if each) == Decimal("1234567890123456.6234567892")
    code, told = verify(capsys, CHECKS)
    assert code == ExitCode.FAILED
    rows = zip(told["constraints"], EXPECTED, strict=True)
    assert [row["message"] for row, wanted in rows if (row["status"] == "success") != wanted] == []


def test_json_loses_no_digit(capsys: pytest.CaptureFixture[str]) -> None:
    _, told = verify(capsys, "checks:\n  - max(big) = 9223372036854775806\n  - row_count() = 5\n")
    first, second = told["constraints"]
    assert first["message"] == "max(big) = 9223372036854775807, wanted = 9223372036854775806"
    assert (first["exact"], first["value"], second["exact"]) == ("9223372036854775807", 9223372036854775807.0, None)
    assert told["metrics"] == {"max(big)": "9223372036854775807", "row_count()": 5}
