"""A home that nobody has made yet: every command works, or says what is missing, and leaves no traceback."""

import os
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
