"""CSV, JSON and ORC: what ``assay verify`` and runs read of them, and what they say of damaged ones."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from assay import clock
from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from tests.fixture_types import Capture
from tests.integration.verification.rides import RIDES

CHECKS = "checks:\n  - row_count() = 5\n  - uniqueness(id) = 0.6\n  - completeness(city) = 0.8\n  - mean(fare) = 4\n"
CATALOG = """
datasets:
  - name: shop.rides
    owner: rita@example.com
    tier: 3
    columns: {{id: bigint, city: varchar(20), fare: "decimal(6,2)", datestr: date}}
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: {storage}, location: rides, options: {options}}}]
tests:
  - {{dataset: shop.rides, name: rows, assertion: "row_count() = 5 and mean(fare) = 4 and completeness(city) = 0.8"}}
"""
DAY = "rides/datestr=2026-03-09/part-0"


@pytest.fixture(autouse=True)
def here(spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty folder of work."""
    monkeypatch.chdir(tmp_path)
    Path("checks.yaml").write_text(CHECKS)
    with storage.using(spark_engine):
        yield tmp_path


def write_csv(path: str, delimiter: str = ",") -> None:
    rows = [delimiter.join("" if value is None else str(value) for value in row.values()) for row in RIDES]
    _text(path + ".csv", [delimiter.join(RIDES[0]), *rows])


def write_json(path: str) -> None:
    _text(path + ".json", [json.dumps(row) for row in RIDES])


def write_orc(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    orc.write_table(pa.Table.from_pylist(RIDES), path + ".orc")


def _text(path: str, lines: list[str]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[str], None]] = {"csv": write_csv, "json": write_json, "orc": write_orc}


def verify(capsys: Capture, table: str, *options: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run_command(["verify", table, "--checks", "checks.yaml", "--json", *options])
    told = json.loads(capsys.readouterr().out)
    return code, " ".join(str(row["message"]) for row in told["constraints"])


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("table", ["file", "folder", "partitions"])
def test_a_file_or_a_folder_is_read_as_what_its_names_say(capsys: Capture, kind: str, table: str) -> None:
    WRITERS[kind](DAY if table == "partitions" else "rides/part-0")
    assert verify(capsys, f"rides/part-0.{kind}" if table == "file" else "rides")[0] == ExitCode.HELD


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(("kind", "options"), [("csv", "{delimiter: ';'}"), ("json", "{}"), ("orc", "{}")])
def test_a_run_reads_one_partition_by_its_declared_columns(capsys: Capture, kind: str, options: str) -> None:
    clock.simulate(datetime(2026, 3, 10, 12, tzinfo=UTC))
    if kind == "csv":
        write_csv(DAY, delimiter=";")
    else:
        WRITERS[kind](DAY)
    WRITERS[kind]("rides/datestr=2026-03-08/part-0")
    Path("catalog.yaml").write_text(CATALOG.format(storage=kind, options=options))
    assert run_command(["sync", "catalog.yaml"]) == ExitCode.HELD
    capsys.readouterr()
    code = run_command(["run", "shop.rides", "--window", "2026-03-09", "--data-test", "rows", "--json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (code, run["outcome"]) == (ExitCode.HELD, "held"), run["sentence"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("part-0.csv", "id,city,fare\n1,rome,2\n2,oslo,3,4,5\n", "cannot be read as csv: a record or the header"),
        ("part-0.csv", 'id,city,fare\n1,"ro\nme",2\n', "multiLine: 'true' if its texts hold line breaks"),
        ("part-0.csv", "", "names no columns"),
        ("part-0.json", '[{"id": 1,\n"city": "rome"}]', "multiLine: 'true'"),
        ("part-0.json", '{"id": 1, "city": "rome", "fare": 2}\n{"id": ', "cannot be read as json"),
        ("part-0.orc", "hello", "part-0.orc cannot be read: it is cut or damaged"),
        ("part-0.parquet", "hello", "is cut or damaged"),
        ("part-0.xlsx", "hello", "Assay reads folders of parquet, ORC (.orc), CSV (.csv, .tsv) and JSON"),
    ],
)
def test_what_cannot_be_read_says_what_is_wrong_with_it_and_how_to_mend_it(
    capsys: Capture, name: str, content: str, said: str
) -> None:
    Path("rides").mkdir()
    Path("rides", name).write_text(content)
    code, message = verify(capsys, "rides")
    assert (code, said in message) == (ExitCode.UNABLE, True), message


def test_options_read_what_pandas_and_databases_write_quotes_doubled_and_texts_over_lines(
    capsys: Capture,
) -> None:
    Path("checks.yaml").write_text('checks: ["max_length(city) = 14 and ratio_of(city, \'the \\"old\\"\\ntown\') = 1"]')
    Path("rides.csv").write_text('id,city,fare\n1,"the ""old""\ntown",2\n')
    assert verify(capsys, "rides.csv")[0] == ExitCode.UNABLE
    given = ("--option", 'escape="', "--option", "multiLine=true")
    assert verify(capsys, "rides.csv", *given)[0] == ExitCode.HELD


def test_an_option_says_how_a_file_is_written(capsys: Capture) -> None:
    write_csv("rides", delimiter=";")
    assert verify(capsys, "rides.csv", "--option", "delimiter=;")[0] == ExitCode.HELD
    assert run_command(["verify", "rides.csv", "--checks", "checks.yaml", "-o", "delimitr=;"]) == ExitCode.UNABLE
    assert "csv takes no option 'delimitr': did you mean delimiter?" in capsys.readouterr().err


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("options", ["{path: /etc}", "{mode: DROPMALFORMED}", "{delimitr: ';'}"])
def test_a_catalog_may_give_only_options_that_say_how_a_file_is_written(capsys: Capture, options: str) -> None:
    Path("catalog.yaml").write_text(CATALOG.format(storage="csv", options=options))
    assert run_command(["plan", "catalog.yaml"]) == ExitCode.UNABLE
    assert "catalog.yaml:8: datasets[0].replicas[0]" in capsys.readouterr().err
