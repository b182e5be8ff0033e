"""A real Airflow on this machine: scheduler, DAG processor, API server and triggerer, each a process, over SQLite."""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

import requests

from deploy.local.process import Process, wait_until
from deploy.local.programs import UnableToStart, finish, free_port

from .assay import answers
from .environment import VENV

DAGS = Path(__file__).parent / "dags"
PROCESSES = ("api-server", "scheduler", "dag-processor", "triggerer")
ENDED = ("success", "failed")
LIMIT = 600.0  # seconds, of a wait for Airflow on a busy machine
STALE_AFTER = "10"  # seconds without a heartbeat until another triggerer takes over


@dataclass(kw_only=True)
class Airflow:
    """The processes, and what one asks their API."""

    url: str
    folder: Path
    environment: dict[str, str]
    processes: dict[str, Process]
    token: str = ""

    def trigger(self, dag: str, *, logical_date: str) -> str:
        """Begin a run; its id."""
        body = {"logical_date": logical_date}
        return str(self._asked("POST", f"dags/{dag}/dagRuns", json=body)["dag_run_id"])

    def states(self, dag: str, run: str) -> dict[str, str]:
        """The state of each task of a run, by the task's id."""
        rows = self._asked("GET", f"dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {row["task_id"]: str(row["state"]) for row in rows}

    def ended(self, dag: str, run: str) -> dict[str, str]:
        """The states once the run has ended."""
        self.wait(
            lambda: self._asked("GET", f"dags/{dag}/dagRuns/{run}")["state"] in ("success", "failed"), f"{dag} ends"
        )
        return self.states(dag, run)

    def xcom(self, dag: str, run: str, task: str) -> Any:
        """What a task left, as JSON."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value"
        return self._asked("GET", path, params={"deserialize": "false", "stringify": "false"})["value"]

    def log(self, dag: str, run: str, task: str) -> str:
        """The text of a task's last try."""
        tries = self._asked("GET", f"dags/{dag}/dagRuns/{run}/taskInstances/{task}")["try_number"]
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{tries}"
        return str(self._asked("GET", path, params={"full_content": "true"})["content"])

    def triggerer_of(self, dag: str, run: str, task: str) -> int | None:
        """The job id of the triggerer in which a deferred task waits."""
        job = self._asked("GET", f"dags/{dag}/dagRuns/{run}/taskInstances/{task}").get("triggerer_job") or {}
        return job.get("id")

    def kill(self, name: str) -> int:
        """SIGKILL a process and all that it has started; its id."""
        process = self.processes[name]
        process.signal(SIGKILL)
        process.end(10)
        return process.pid

    def start(self, name: str) -> int:
        """Start a process; its id."""
        self.processes[name].start()
        return self.processes[name].pid

    def wait(self, is_so: Callable[[], object], what: str, limit: float = LIMIT) -> None:
        """Return once it is so; raises UnableToStart with the ends of all logs."""
        end = time.monotonic() + limit
        while not is_so():
            if time.monotonic() > end:
                logs = "\n".join(f"--- {name}\n{p.log.read_text()[-2000:]}" for name, p in self.processes.items())
                raise UnableToStart(f"after {limit:.0f} s still not so: {what}\n{logs}")
            time.sleep(0.5)

    def sign_in(self) -> None:
        """Get a token of the API."""
        self.token = requests.get(f"{self.url}/auth/token", timeout=30).json()["access_token"]

    def wait_for_dags(self, names: set[str]) -> None:
        """Until these DAGs are known; those that cannot be imported are told."""
        self.wait(lambda: names <= self._dags(), f"the DAGs {sorted(names)} are known")

    def command(self, *words: str) -> str:
        """What ``airflow`` prints."""
        return finish([str(VENV / "bin" / "airflow"), *words], environment=self.environment)

    def inside(self, *words: str) -> str:
        """What ``inside.py`` prints in Airflow's Python."""
        program = [str(VENV / "bin" / "python"), str(Path(__file__).with_name("inside.py"))]
        return finish([*program, *words], environment=self.environment)

    def _dags(self) -> set[str]:
        if errors := self._asked("GET", "importErrors")["import_errors"]:
            raise UnableToStart("\n".join(each["stack_trace"] for each in errors))
        return {row["dag_id"] for row in self._asked("GET", "dags")["dags"]}

    def _asked(self, method: str, path: str, **more: Any) -> Any:
        header = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        answer = requests.request(method, f"{self.url}/api/v2/{path}", headers=header, timeout=60, **more)
        if not answer.ok:
            raise UnableToStart(f"{method} {path} answers {answer.status_code}: {answer.text[:1000]}")
        return answer.json()


@contextmanager
def airflow(folder: Path, connection: Mapping[str, str], today: datetime) -> Iterator[Airflow]:
    """All processes are up, with the connection ``assay_default`` in Airflow's own database."""
    home, port = folder / "airflow", free_port()
    home.mkdir()
    environment = _environment(home, port) | {"STORY_FOLDER": str(folder), "STORY_TODAY": today.isoformat()}
    processes = {
        name: Process(
            name=name,
            command=[str(VENV / "bin" / "airflow"), name],
            environment=environment,
            log=folder / f"{name}.log",
        )
        for name in PROCESSES
    }
    found = Airflow(url=f"http://127.0.0.1:{port}", folder=folder, environment=environment, processes=processes)
    found.command("db", "migrate")
    options = [word for name, value in connection.items() for word in (f"--conn-{name}", value)]
    found.command("connections", "add", "assay_default", *options)
    try:
        for name in PROCESSES:
            found.start(name)
        wait_until(lambda: answers(f"{found.url}/api/v2/version"), processes["api-server"])
        found.sign_in()
        yield found
    finally:
        for process in reversed(processes.values()):
            process.end(10)


def _environment(home: Path, port: int) -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "TZ")
    settings = {
        "CORE__DAGS_FOLDER": str(DAGS),
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__PARALLELISM": "4",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "API__PORT": str(port),
        "API__HOST": "127.0.0.1",
        "API__BASE_URL": f"http://127.0.0.1:{port}",
        "API__WORKERS": "1",
        "API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": STALE_AFTER,
        "SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        "USAGE_DATA_COLLECTION__ENABLED": "False",
    }
    return (
        {name: os.environ[name] for name in kept if name in os.environ}
        | {f"AIRFLOW__{name}": value for name, value in settings.items()}
        | {"AIRFLOW_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    )
