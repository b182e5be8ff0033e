"""Programs and ports of this machine."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
POSTGRESQL = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)  # of Debian, on nobody's path
SEARCH_PATH = ":".join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/local/sbin", *POSTGRESQL])
MOST_OUTPUT = 4000  # characters of what a program said before it failed


class UnableToStart(Exception):
    """A program is missing or did not come up."""


def program(name: str, package: str) -> str:
    """The path of a program; raises UnableToStart naming the Debian package that holds it."""
    if path := shutil.which(name, path=SEARCH_PATH):
        return path
    raise UnableToStart(f"{name} is not on this machine; install it: apt-get install {package}")


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def finish(command: list[str], *, stdin: str | None = None, environment: dict[str, str] | None = None) -> str:
    """What a command printed once it has ended; raises UnableToStart with what it said where it failed."""
    done = subprocess.run(command, input=stdin, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise UnableToStart(f"{command[0]} failed:\n{done.stdout[-MOST_OUTPUT:]}{done.stderr[-MOST_OUTPUT:]}")
    return done.stdout


def succeeds(command: list[str]) -> bool:
    """Whether a command ends with 0; what it prints is dropped."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
