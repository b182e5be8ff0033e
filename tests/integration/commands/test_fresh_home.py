"""A home that nobody has made yet: every command works, or says what is missing, and leaves no traceback."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "catalog.yaml"
ASSAY = Path(sys.executable).parent / "assay"


def assay(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    given |= {"ASSAY_HOME": str(home)}
    return subprocess.run([ASSAY, *arguments], env=given, capture_output=True, text=True, check=False, input="")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["plan", str(EXAMPLE)], 0, "raw.trips"),
        (["sync", str(EXAMPLE)], 0, "5 datasets"),
        (["gate", "raw.trips"], 3, "the catalog has no dataset 'raw.trips'"),
        (["run", "raw.trips"], 3, "the catalog has no dataset 'raw.trips'"),
        (["report"], 0, "precision"),
        (["doctor"], 1, "it is empty"),
        (["member", "ada"], 3, "Nobody is called 'ada'"),
        (["token", "list"], 0, "scopes"),
        (["sweep", "--once"], 3, "there is no broker"),
        (["changepassword", "ada"], 1, "user 'ada' does not exist"),
    ],
)
def test_a_command_makes_the_embedded_database_that_it_needs(
    tmp_path: Path, command: list[str], code: int, said: str
) -> None:
    done = assay(tmp_path / "home", *command)
    told = done.stdout + done.stderr
    assert done.returncode == code, told
    assert said in told
    assert "Traceback" not in told


def test_two_commands_on_a_new_home_make_one_database(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda _: assay(tmp_path / "home", "report"), range(2)))
    assert [each.returncode for each in done] == [0, 0], [each.stderr for each in done]


def test_an_old_home_keeps_both_of_two_names_that_differ_by_case_and_the_doctor_says_so(tmp_path: Path) -> None:
    assay(tmp_path, "migrate", "assay", "0007_claims_by_dataset")
    with sqlite3.connect(tmp_path / "assay.db") as database:
        for name in ("rew", "Rew"):
            database.execute(
                """
                INSERT INTO assay_dataset (epoch, attempts, namespace, name, full_name, description, owner, team, tier,
                    columns, primary_key, partition_column, granularity, time_zone, key_format, first_partition,
                    severity, catch_up, allow_empty, gate_on, unknown_policy, source, created_at, changed_at)
                VALUES (0, 0, 't', ?, ?, '', 'ada', '', 3, '[]', '[]', '', '', 'UTC', '', '', '', '', 0, 'outcome', '',
                    'yaml:catalog.yaml', '2026-03-01', '2026-03-01')
                """,
                (name, f"t.{name}"),
            )
    doctor = assay(tmp_path, "doctor")
    assert "t.Rew-2 was t.Rew" in doctor.stdout
    with sqlite3.connect(tmp_path / "assay.db") as database:
        names = database.execute("SELECT full_name, source FROM assay_dataset ORDER BY id").fetchall()
    assert names == [("t.rew", "catalog"), ("t.Rew-2", "catalog")]
