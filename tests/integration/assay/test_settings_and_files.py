"""A setting or a database file that cannot be read is one sentence and exit code 3, for every command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RUN = "import sys; from assay.command_line.cli import run; sys.exit(run(sys.argv[1:]))"


def run_program(home: Path, *arguments: str, **variables: str) -> tuple[int, list[str]]:
    """The exit code of a command, and the lines that it writes to standard error."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environ = {**kept, "PYTHONPATH": "platform:.", "ASSAY_HOME": str(home), **variables}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], env=environ, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.strip().splitlines()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("RATES", '{"gate": "often"}', "'often' is no rate"),
        ("RATES", '{"gates": "1/m"}', "no such kind of request"),
        ("RATES", "nonsense", "is no JSON"),
        ("PROXIES", "-1", "greater than or equal to 0"),
        ("ALLOWED_ROOTS", '["lake"]', "absolute folders"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path: Path, name: str, value: str, why: str) -> None:
    code, lines = run_program(tmp_path, "member", "ada", **{f"ASSAY_{name}": value})
    assert (code, len(lines)) == (3, 1), lines
    assert lines[0].startswith(f"assay: ASSAY_{name}")
    assert why in lines[0]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a database that is as it should be."""
    home = tmp_path_factory.mktemp("home")
    run_program(home, "member", "ada", "--role", "viewer")
    for end in ("-wal", "-shm"):
        assert not (home / f"assay.db{end}").exists() or (home / f"assay.db{end}").stat().st_size == 0
    return (home / "assay.db").read_bytes()


GARBLED: dict[str, Callable[[bytes], bytes]] = {
    "noise": lambda data: os.urandom(len(data)),
    "header": lambda data: b"\xff" * 100 + data[100:],
    "pages": lambda data: data[:4096] + os.urandom(len(data) - 4096),
    "schema": lambda data: data[:104] + os.urandom(3992) + data[4096:],
    "cut": lambda data: data[: len(data) // 3],
    "text": lambda data: b"hello " * 1000,
}


@pytest.mark.parametrize("how", GARBLED)
@pytest.mark.parametrize("command", ["member", "doctor"])
def test_a_garbled_file_is_one_sentence(tmp_path: Path, sound: bytes, how: str, command: str) -> None:
    (tmp_path / "assay.db").write_bytes(GARBLED[how](sound))
    code, lines = run_program(tmp_path, *([command, "ada"] if command == "member" else [command]))
    assert "Traceback" not in " ".join(lines), lines[-3:]
    assert (code, len(lines)) == (3, 1) or (command == "doctor" and code in (1, 3))
