"""``assay split``: good rows in one folder, bad rows in another, or neither."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from tests.fixture_types import Capture

RIDES = {"id": [1, 2, 2, 3], "city": ["rome", None, "oslo", "rome"], "fare": [5.0, 7.0, 2.0, 3.0]}


@pytest.fixture(autouse=True)
def rides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table(RIDES), tmp_path / "rides.parquet")
    monkeypatch.chdir(tmp_path)


def split(capsys: Capture, *checks: str, good: str = "good", bad: str = "bad") -> tuple[int, dict[str, Any], str]:
    Path("checks.yaml").write_text("checks:\n" + "".join(f"  - {check}\n" for check in checks))
    code = run_command(["split", "rides.parquet", "--checks", "checks.yaml", "--good", good, "--bad", bad, "--json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out or "{}"), captured.err


def test_bad_rows_say_what_they_break_and_all_others_are_good(capsys: Capture) -> None:
    code, answer, _ = split(capsys, "is_unique: id", "is_complete: city", "row_count() > 9")
    assert code == ExitCode.FAILED
    rows = pq.read_table("bad").select(["id", "city", "assay_broken"]).to_pylist()
    assert [(row["id"], row["city"], row["assay_broken"]) for row in rows] == [
        (2, None, ["uniqueness(id)", "completeness(city)"]),
        (2, "oslo", ["uniqueness(id)"]),
    ]
    assert pq.read_table("good").to_pydict() == {"id": [1, 3], "city": ["rome", "rome"], "fare": [5.0, 3.0]}
    assert (answer["good"]["rows"], answer["bad"]["rows"]) == (2, 2)
    assert answer["without_rows"] == ["row_count() > 9"]


def test_where_all_checks_hold_all_rows_are_good(capsys: Capture) -> None:
    code, answer, _ = split(capsys, "is_complete: id", "completeness(city) > 0.5")
    assert (code, answer["good"]["rows"], answer["bad"]["rows"]) == (ExitCode.HELD, 4, 0)
    assert pq.read_table("bad").num_rows == 0


@pytest.mark.parametrize(
    ("folders", "sentence"),
    [
        ({"good": "rides.parquet/in"}, "lies in the table itself"),
        ({"good": "here/in", "bad": "here"}, "lie in each other"),
        ({"good": "."}, "is there already"),
        ({"good": "checks.yaml/in"}, "cannot be written: File exists"),
        ({"good": "/proc/in"}, "/proc/in cannot be written"),
    ],
)
def test_folders_that_cannot_be_written_are_refused(capsys: Capture, folders: dict[str, str], sentence: str) -> None:
    code, _, error = split(capsys, "is_complete: id", **folders)
    assert code == ExitCode.UNABLE
    assert sentence in error


def test_nothing_is_written_where_a_check_cannot_be_judged(capsys: Capture) -> None:
    code, _, error = split(capsys, "is_complete: idd")
    assert (code, Path("good").exists(), Path("bad").exists()) == (ExitCode.UNABLE, False, False)
    assert "no rows were written" in error
    assert sorted(path.name for path in Path().iterdir()) == ["checks.yaml", "rides.parquet"]
