"""``assay verify``: what it prints, and how it exits, without server and database."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Check, VerificationSuite
from tests.fixture_types import Capture
from tests.integration.verification.rides import RIDERS, RIDES, write

CHECKS = """
tables: {riders: riders/}
checks:
  - row_count() between 1 and 100
  - {is_complete: [id, tip], level: warning, where: id < 3}
  - {assertion: "mean({column}) > 1", for_each_column: [fare, tip]}
  - {completeness: {email: ">= 0.5"}}
  - {assertion: completeness(city) = 1, level: warning, name: cities, hint: ask the dispatchers}
  - row_count() / row_count(dataset='riders') > 1
  - referential_integrity(rider_id, 'riders') > 0.7
  - query("select count(*) from rides where fare > 4") = 2
"""
BROKEN = "checks:\n  - {is_unique: id}\n  - {is_non_negative: fare, level: warning}\n"


@pytest.fixture(autouse=True)
def here(spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    write(tmp_path / "rides")
    write(tmp_path / "riders", RIDERS)
    monkeypatch.chdir(tmp_path)
    with storage.using(spark_engine):
        yield tmp_path


def verify(capsys: Capture, checks: str, *options: str, table: str = "rides/") -> tuple[int, dict[str, Any]]:
    Path("checks.yaml").write_text(checks)
    capsys.readouterr()
    code = run_command(["verify", table, "--checks", "checks.yaml", "--json", *options])
    return code, json.loads(capsys.readouterr().out or "{}")


def test_who_read_the_values_is_told_as_json_and_in_a_line(capsys: Capture) -> None:
    text = "checks:\n  - row_count() > 0\n  - max(fare) > 0\n  - approx_quantile(fare, 0.5) > 0\n"
    read_by = verify(capsys, text)[1]["read_by"]
    beside = {"kind": "beside", "why": "it shares a job with what is Spark's", "values": 1}
    left = [beside, {"kind": "unknown", "why": "kll is Spark's to gather", "values": 1}]
    assert read_by == {"footers": 1, "kernels": 0, "spark": 2, "left": left}
    run_command(["verify", "rides/", "--checks", "checks.yaml"])
    said = f'1 value by footers, 2 by Spark: 1 "{beside["why"]}", 1 "kll is Spark\'s to gather"'
    assert said in " ".join(capsys.readouterr().out.split())


def test_warnings_alone_exit_with_their_own_code(capsys: Capture) -> None:
    code, told = verify(capsys, CHECKS)
    assert (code, told["status"], told["table"]) == (ExitCode.WARNED, "warning", "rides")
    failed = [row for row in told["constraints"] if row["status"] != "success"]
    assert [(row["constraint"], row["hint"]) for row in failed] == [("cities", "ask the dispatchers")]
    assert [row["place"] for row in told["constraints"]] == [
        f"checks.yaml:{line}" for line in (4, 5, 5, 6, 6, 7, 8, 9, 10, 11)
    ]


def test_from_which_result_on_it_fails_is_for_its_caller_to_say(capsys: Capture) -> None:
    assert verify(capsys, CHECKS, "--fail-on", "fail")[0] == ExitCode.HELD
    assert verify(capsys, BROKEN, "--fail-on", "never")[0] == ExitCode.HELD


def test_an_error_that_fails_exits_with_1_and_shows_rows(capsys: Capture) -> None:
    code, told = verify(capsys, BROKEN, "--failing-rows", "5")
    assert (code, told["status"]) == (ExitCode.FAILED, "error")
    rows = {each["row"]["fare"]: len(each["breaks"]) for each in told["failing_rows"]["rows"]}
    assert rows == {"-2.0": 2, "6.0": 1}


def test_people_see_a_table_of_constraints_and_rows(capsys: Capture) -> None:
    Path("checks.yaml").write_text(BROKEN)
    assert run_command(["verify", "rides/", "--checks", "checks.yaml", "--failing-rows", "5"]) == ExitCode.FAILED
    shown = capsys.readouterr().out
    assert "uniqueness(id) = 0.6, wanted = 1" in shown
    assert "error: 2 failure" in shown
    assert "2 rows that fail" in shown


def test_an_unknown_column_could_not_be_checked_and_its_line_is_told(capsys: Capture) -> None:
    code, told = verify(capsys, "checks:\n  - row_count() > 0\n  - completeness(fair) = 1\n")
    assert (code, told["status"]) == (ExitCode.UNABLE, "unable")
    assert told["constraints"][1]["message"].startswith("checks.yaml:3: unknown column: rides has no column fair; did")


def test_everything_wrong_in_the_file_is_told_by_line_before_anything_is_read(
    capsys: Capture,
) -> None:
    Path("checks.yaml").write_text("checks:\n  - completness(id) = 1\n  - row_count() >\n  - {levle: error}\n")
    assert run_command(["verify", "nowhere/", "--checks", "checks.yaml"]) == ExitCode.UNABLE
    said = capsys.readouterr().err
    assert "checks.yaml:2: Cannot accept the assertion: there is no metric completness: did you mean" in said
    assert "checks.yaml:3: Cannot read the assertion: expected" in said
    assert "checks.yaml:4:" in said


def test_a_table_that_is_not_there_could_not_be_checked(capsys: Capture) -> None:
    code, told = verify(capsys, BROKEN, table="nowhere/")
    assert code == ExitCode.UNABLE
    assert told["constraints"][0]["reason"] == "table cannot be read"


def test_the_metrics_of_each_day_are_kept_where_they_are_asked_for(capsys: Capture) -> None:
    for day in ("2026-03-09", "2026-03-10"):
        assert verify(capsys, BROKEN, "--repository", "metrics.jsonl", "--date", day)[0] == ExitCode.FAILED
    kept = [json.loads(line) for line in Path("metrics.jsonl").read_text().splitlines()]
    assert [(each["at"][:10], each["values"]["uniqueness(id)"]) for each in kept] == [
        ("2026-03-09", 0.6),
        ("2026-03-10", 0.6),
    ]


def test_assertions_and_anomalies_look_back_to_the_earlier_days_of_the_repository(capsys: Capture) -> None:
    checks = "checks:\n  - row_count() >= 0.75 * mean(row_count(), last=2)\n"
    checks += "  - anomaly(row_count(), last=5, strategy='batch_normal') <= 1\n"
    days = []
    for day, rows in enumerate((5, 4, 5, 1), start=1):
        write(Path("rides"), RIDES[:rows])
        code, result = verify(capsys, checks, "--repository", "metrics.jsonl", "--date", f"2026-03-0{day}")
        days.append((code, *(each["status"] for each in result["constraints"])))
    assert days == [
        (ExitCode.HELD, "learning", "learning"),
        (ExitCode.HELD, "success", "learning"),
        (ExitCode.HELD, "success", "learning"),
        (ExitCode.FAILED, "failure", "failure"),
    ]
    assert "row_count() = 1, expected 2.93462 to 6.39872 after 3 windows" in result["constraints"][1]["message"]


def test_a_past_without_a_repository_could_not_be_checked(capsys: Capture) -> None:
    code, told = verify(capsys, "checks:\n  - row_count() >= lag(row_count(), 7, every=1d)\n  - row_count() = 5\n")
    assert (code, [each["status"] for each in told["constraints"]]) == (ExitCode.UNABLE, ["error", "success"])
    assert "--repository FILE --date DAY" in told["constraints"][0]["message"]


@pytest.mark.parametrize("rule", ["is_unique: id", "is_complete: id", "is_primary_key: id", "is_non_negative: fare"])
def test_a_rule_holds_of_no_rows_as_it_does_in_python(capsys: Capture, rule: str) -> None:
    name, column = rule.split(": ")
    pq.write_table(pa.Table.from_pylist(RIDES).slice(0, 0), "rides/part-0.parquet")
    code, told = verify(capsys, f"checks:\n  - {{{rule}}}\n")
    in_python = (
        VerificationSuite(engine=storage.engine_of_storage("parquet"))
        .on(Path("rides"), "rides")
        .add_check(getattr(Check(), name)(column))
        .run()
    )
    assert (code, told["status"], in_python.status.value) == (ExitCode.HELD, "success", "success")


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{is_non_negative: code}", "column code of rides is text; take another column, or cast it in a condition"),
        ("{min_length: {id: 1}}", "needs a text column: column id of rides is numeric"),
        ("pattern_match(id, 'integer') = 1", "needs a text column: column id of rides is numeric"),
        ("correlation(id, one) > 0", "the column one is constant: correlation is not defined"),
        ("min(odd) >= 0", "min(odd) is nan; leave such values out with where="),
        ("max(odd) >= 0", "max(odd) is nan; leave such values out with where="),
    ],
)
def test_a_column_that_does_not_fit_is_told_with_its_reason(capsys: Capture, check: str, said: str) -> None:
    write(Path("rides"), [{**row, "one": 1.0, "odd": math.nan if row["id"] == 1 else 2.0} for row in RIDES])
    code, told = verify(capsys, f"checks:\n  - {check}\n")
    assert (code, told["constraints"][0]["status"]) == (ExitCode.UNABLE, "error")
    assert said in told["constraints"][0]["message"]


def test_a_nan_is_neither_negative_nor_not(capsys: Capture) -> None:
    write(Path("rides"), [{"fare": math.nan}, {"fare": 1.0}])
    code, told = verify(capsys, "checks:\n  - {is_non_negative: fare}\n  - {is_positive: fare}\n")
    assert (code, [row["value"] for row in told["constraints"]]) == (ExitCode.FAILED, [0.5, 0.5])
