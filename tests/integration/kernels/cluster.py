"""A standalone cluster of Spark on this machine: a master and two workers, Javas of their own, of PySpark's jars."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from execution_engine.engines.spark.session import find_java

PATIENCE = 60.0  # seconds for a master or a worker to come up
_CLASSES = "org.apache.spark.deploy"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")
_SAYS = """
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
"""

_PROJECT = ("execution_engine", "assay", "tests", "sqlglot", "datasketches")
_BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in %r:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


class UnableToStartCluster(Exception):
    """A master or a worker did not come up."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """``master``: its URL; ``workers``: the processes of the two, whose logs, and executors' too, are in ``folder``."""

    master: str
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    def executors(self) -> list[int]:
        """The ids of the processes that run tasks, children of our workers."""
        ours = {worker.pid for worker in self.workers}
        return [pid for pid, parent, command in _processes() if parent in ours and _EXECUTOR in command]


@contextmanager
def cluster(folder: Path, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A master and two workers of some cores and some ``memory`` each.

    They are killed at the end, and their executors with them.
    """
    (folder / "log4j2.properties").write_text(_SAYS)
    with ExitStack() as stack:
        anywhere = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = folder / "master.log"
        stack.enter_context(_running(folder, log, "master.Master", *anywhere))
        master = _told(log, _MASTER)
        workers = []
        for at in range(2):
            log, work = folder / f"worker-{at}.log", str(folder / f"work-{at}")
            own = ("--cores", str(cores), "--memory", memory, "-d", work, master)
            workers.append(stack.enter_context(_running(folder, log, "worker.Worker", *anywhere, *own)))
        for at in range(2):
            _told(folder / f"worker-{at}.log", _REGISTERED)
        yield Cluster(master=master, folder=folder, workers=tuple(workers))


def of_a_driver(folder: Path, memory: str, *missing: str) -> dict[str, str]:
    """Settings of a session with two executors of one core and some ``memory`` each.

    Their Pythons can import neither the project nor the packages that are ``missing`` there.
    """
    block = folder / "block"
    block.mkdir()
    (block / "sitecustomize.py").write_text(_BLOCK % ((*_PROJECT, *missing),))
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": memory,
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.executorEnv.PYTHONPATH": str(block),
    }


@contextmanager
def _running(folder: Path, log: Path, role: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Java in a session of its own, as its executors are its children and die with the session."""
    home = Path(pyspark.__file__).parent
    quiet = f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}"
    own = {
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {quiet}",
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    command = [str(home / "bin" / "spark-class"), f"{_CLASSES}.{role}", *arguments]
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=clean | own, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        _end(process)


def _told(log: Path, wanted: re.Pattern[str]) -> str:
    """What a process said of itself; UnableToStartCluster where it does not."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := wanted.search(log.read_text(errors="replace")):
            return found[found.lastindex or 0]
        time.sleep(0.05)
    raise UnableToStartCluster(log.read_text(errors="replace")[-4000:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and all of its session, such as executors and their Pythons."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _processes() -> Iterator[tuple[int, int, str]]:
    """The id, the parent's id and the command of each process of this machine."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(folder.name), parent, (folder / "cmdline").read_text(errors="replace")
            except OSError:  # it has ended
                continue
