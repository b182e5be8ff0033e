"""Full disks, damaged files and readers that go away: each a sentence and exit 3, never a traceback."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from assay.command_line.exit_codes import ExitCode

ASSAY = str(Path(sys.executable).parent / "assay")
CATALOG = """
datasets:
  - name: raw.trips
    owner: rita@example.com
    tier: {number}
"""
LONG = {"binary": "0b" + "1" * 100_000, "hexadecimal": "0x" + "f" * 100_000, "decimal": "1" * 100_000}


def environ(home: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")} | {
        "ASSAY_HOME": str(home)
    }


def assay(home: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A command, perhaps under another that sets its stage."""
    line = [*before, ASSAY, *arguments]
    return subprocess.run(line, env=environ(home), capture_output=True, text=True, check=False)


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """One sentence with these parts, and the exit code of what could not be done."""
    assert "Traceback" not in done.stderr
    assert [part for part in parts if part not in done.stderr] == []
    assert (done.returncode, done.stderr.count("assay: ")) == (ExitCode.UNABLE, 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with its tables, which take long to make."""
    home = tmp_path_factory.mktemp("made")
    assert assay(home, "member", "ada", "--role", "viewer").returncode == ExitCode.HELD
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """A home of one's own with its tables."""
    return shutil.copytree(made, tmp_path / "home")


@pytest.mark.parametrize("kind", LONG)
def test_a_whole_number_that_nobody_can_read_is_refused_where_it_stands(tmp_path: Path, home: Path, kind: str) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG.format(number=LONG[kind]))
    done = assay(home, "plan", str(path))
    assert_refused(done, "catalog.yaml:5", f"a whole number of {len(LONG[kind])} characters", "write at most 100")


@pytest.fixture(params=["256k", "4k"])
def full_disk(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What runs a command with ``tmp_path/home`` on a disk on which the tables do not fit, or not even the key."""
    home = tmp_path / "home"
    home.mkdir()
    fill = f"head -c 1M /dev/zero >{home}/fill 2>/dev/null;" if request.param == "4k" else ""
    stage = f'mount -t tmpfs -o size={request.param} tmpfs {home} && {{ {fill} exec "$@"; }}'
    before = ("unshare", "--map-root-user", "--mount", "sh", "-c", stage, "sh")
    if shutil.which("unshare") is None or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    return before


def test_on_a_full_disk_a_command_names_the_file_and_what_to_do(tmp_path: Path, full_disk: tuple[str, ...]) -> None:
    done = assay(tmp_path / "home", "member", "ada", "--role", "viewer", before=full_disk)
    assert_refused(done, f"{tmp_path}/home/", "room")


def test_a_key_that_a_full_disk_cut_off_is_made_anew(home: Path) -> None:
    (home / "secret_key").write_text("")
    assert assay(home, "member", "ada").returncode == ExitCode.HELD
    assert len((home / "secret_key").read_text()) > 40
    assert sorted(path.name for path in home.glob("secret_key*")) == ["secret_key"]


def test_a_home_in_which_nothing_may_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_refused(assay(tmp_path / "file" / "home", "token", "list"), f"{tmp_path}/file/home/secret_key", "ASSAY_HOME")


def garbled(home: Path, first: int, every: int = 4096) -> Path:
    """The embedded database of a home, with the beginnings of its pages overwritten from ``first`` on."""
    file = home / "assay.db"
    pages = bytearray(file.read_bytes())
    for start in range(first, len(pages), every):
        pages[start : start + 100] = b"\x55" * 100
    file.write_bytes(pages)
    return file


@pytest.mark.parametrize("first", [0, 4096])
def test_a_damaged_database_is_named_with_the_way_to_mend_it(home: Path, first: int) -> None:
    file = garbled(home, first)
    assert_refused(assay(home, "member", "ada"), f"{file} is damaged", "put a copy of it back", ".recover")


@pytest.mark.parametrize("first", [0, 4096, 40 * 4096])
def test_the_doctor_names_a_damaged_database_and_goes_on(home: Path, first: int) -> None:
    file = garbled(home, first)
    done = assay(home, "doctor")
    assert (done.returncode, "Traceback" in done.stderr) == (ExitCode.FAILED, False)
    assert f"{file} is damaged" in done.stdout
    assert "to repair it: stop every program that uses it" in done.stdout
    assert "well heartbeat" in done.stdout


@pytest.fixture
def rides(tmp_path: Path) -> tuple[str, ...]:
    """A table, and the command that finds it as its checks want it."""
    table, checks = tmp_path / "rides.parquet", tmp_path / "checks.yaml"
    parquet.write_table(pa.table({"id": list(range(100))}), table)
    checks.write_text("checks:\n  - row_count() = 100\n")
    return ("verify", str(table), "--checks", str(checks))


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reader_that_goes_away_leaves_no_traceback_and_no_verdict(
    tmp_path: Path, rides: tuple[str, ...], form: tuple[str, ...]
) -> None:
    gone, pipe = os.pipe()
    os.close(gone)
    done = subprocess.run(
        [ASSAY, *rides, *form], env=environ(tmp_path), stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(pipe)
    assert_refused(done, "the reader of this output stopped before its end")


def test_nor_does_one_that_read_the_errors_too(tmp_path: Path, rides: tuple[str, ...]) -> None:
    gone, pipe = os.pipe()
    os.close(gone)
    done = subprocess.run([ASSAY, *rides], env=environ(tmp_path), stdout=pipe, stderr=pipe, check=False)
    os.close(pipe)
    assert done.returncode == ExitCode.UNABLE


WATCH = """
from multiprocessing import Pipe
from execution_engine.engines.child.main import Host
gone, pipe = Pipe()
gone.close()
host = Host(pipe, None, "")
host.send("ready")
host.end(-15)
"""


def test_the_watch_over_java_ends_in_silence_when_whoever_asked_has_gone() -> None:
    done = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (70, "")
