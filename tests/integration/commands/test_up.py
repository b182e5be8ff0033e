"""``assay up`` from an empty home: what it says, what it writes, and what it says the next time."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.command_line.exit_codes import ExitCode
from assay.config import Config

ASSAY = (sys.executable, "-c", "from assay.command_line.cli import main; main()")


@contextmanager
def started(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command under way, with a home of its own; it is stopped at the end."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environ |= {"ASSAY_HOME": str(home)}
    running = subprocess.Popen(
        [*ASSAY, *arguments], env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


@pytest.fixture
def taken() -> Iterator[str]:
    """A port on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield str(other.getsockname()[1])


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as other:
        return str(other.getsockname()[1])


def output_of_up(home: Path, port: str = "") -> str:
    """What the command says up to its line about passwords."""
    said = ""
    with started(home, "up", "--port", port or free_port()) as running:
        assert running.stdout is not None
        for line in running.stdout:
            said += line
            if "password" in line and "shown only now" not in line:
                return said
    return said


def test_on_a_taken_port_nothing_is_up_and_no_password_is_spent(tmp_path: Path, taken: str) -> None:
    with started(tmp_path / "home", "up", "--port", taken) as running:
        said, _ = running.communicate(timeout=120)
    assert "Assay is up" not in said
    assert "password" not in said
    assert "Traceback" not in said
    assert running.returncode == ExitCode.UNABLE
    assert re.search(rf"cannot listen at 127\.0\.0\.1:{taken}: .*--port", said)


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    with started(tmp_path / "home", "up", "--port", "99999") as running:
        said, _ = running.communicate(timeout=120)
    assert (running.returncode, "'99999' is no port" in said) == (ExitCode.UNABLE, True)


def test_the_password_is_shown_once_and_each_start_says_how_to_set_another(tmp_path: Path) -> None:
    first, second = output_of_up(tmp_path / "home"), output_of_up(tmp_path / "home")
    assert ("shown only now" in first, "shown only now" in second) == (True, False)
    assert "assay changepassword admin" in second


def test_links_lead_to_the_port_that_it_listens_on_unless_the_operator_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_PUBLIC_URL", raising=False)
    assert Config(home=tmp_path).public_url == "http://127.0.0.1:8000"
    for port in (free_port(), free_port()):
        output_of_up(tmp_path, port)
        assert Config(home=tmp_path).public_url == f"http://127.0.0.1:{port}"
    assert Config(home=tmp_path, public_url="https://dq.example.org").public_url == "https://dq.example.org"


def test_who_asks_for_help_only_gets_nothing_written(tmp_path: Path) -> None:
    with started(tmp_path / "home", "up", "--help") as running:
        said, _ = running.communicate(timeout=120)
    assert "--port" in said
    assert not (tmp_path / "home").exists()


def test_the_list_of_commands_names_the_one_that_sets_a_password(tmp_path: Path) -> None:
    with started(tmp_path / "home", "--help") as running:
        said, _ = running.communicate(timeout=120)
    assert "changepassword" in said
