"""Fill a database with years, serve it with gunicorn, and ask it with four clients at once, and pages with one too."""

import argparse
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from knox.models import get_token_model
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay import clock
from assay.models import Dataset
from benchmarks.service.clients import ask_at_once, percentile
from deploy.local.fleet import web
from deploy.local.programs import free_port
from incident_manager.models import Incident

from .bulk import analyze, insert
from .company import Company, load_company
from .figures import measured_on, show, write_docs
from .past import Past, tables

CLIENTS = 4
START_LIMIT = 60.0  # seconds
LONGEST_ASKED = 60  # days of a look-up
HEADINGS = ("", "clients", "n", "p50 ms", "p99 ms", "most ms", "limit ms")

Paths = Callable[[random.Random], str]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, and how long the 99th of a hundred answers may take with so many clients at once."""

    name: str
    path: Paths
    headers: Mapping[str, str]
    clients: Mapping[int, float | None]  # each number of them with its limit in ms, if there is one


def main() -> None:
    """Fills, asks and shows."""
    asked, console = _arguments(), Console()
    company = Company(datasets=asked.datasets)
    call_command("migrate", verbosity=0)
    fill(company, runs=asked.runs, incidents=asked.incidents, console=console)
    on = measured_on()
    console.print(on, soft_wrap=True)
    rows = list[Sequence[str]]()
    with serving() as port:
        for question in (each for each in questions(company) if asked.only in each.name):
            for clients in question.clients:
                rows.append(_row(port, question, clients, asked.requests))
                console.print("  ".join(rows[-1]))  # told at once: a later question may find no answer
    show(console, HEADINGS, rows)
    if asked.docs:
        write_docs("latency", on, HEADINGS, rows)


def fill(company: Company, *, runs: int, incidents: int, console: Console) -> None:
    """Write the company and its past."""
    now = clock.now()
    past = tables(Past(company=company, now=now), runs_=runs, incidents_=incidents)
    columns = (TextColumn("{task.description:35}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        load_company(company, now)
        for label, (values, total) in past.items():
            bar = progress.add_task(label, total=total)
            insert(label, values, total, done=lambda rows, bar=bar: progress.advance(bar, rows))  # type: ignore[misc]
        progress.console.print("analyzing")
        analyze(past)


def questions(company: Company) -> Sequence[Question]:
    """The look-up and the pages that list everything, each as a known user."""
    user = User.objects.create_superuser("bench")
    token = get_token_model().objects.create(user)[1]
    browser = Client()
    browser.force_login(user)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    pages = -(-company.datasets // 50)
    return (
        Question(
            name="`GET /api/v1/quality`",
            path=lambda random: f"/api/v1/quality?{urlencode(_range(company, random))}",
            headers={"Authorization": f"Token {token}"},
            clients={CLIENTS: 50},
        ),
        Question(
            name="catalogue page",
            path=lambda random: f"/?page={random.randint(1, pages)}",
            headers={"Cookie": cookies},
            clients={1: 300, CLIENTS: None},
        ),
        Question(
            name="page of all incidents",
            path=lambda _: "/incidents",
            headers={"Cookie": cookies},
            clients={1: 300, CLIENTS: None},
        ),
        *(
            Question(name=name, path=path, headers={"Cookie": cookies}, clients={1: 300})
            for name, path in _pages(company).items()
        ),
    )


def _pages(company: Company) -> Mapping[str, Paths]:
    """The other pages that grow with the company or with its past."""

    def table(random: random.Random) -> str:
        return f"/datasets/lake.table_{random.randint(1, company.datasets):04}"

    newest = Incident.objects.order_by("-pk").values_list("pk", flat=True)[:1000]
    incidents, teams = list(newest), sorted(set(Dataset.objects.values_list("team", flat=True)) - {""})
    return {
        "page of a dataset": table,
        "page of a dataset, 28 partitions asked": lambda random: f"{table(random)}?span=28",
        "page of an incident": lambda random: f"/incidents/{random.choice(incidents)}",
        "incidents, filtered": lambda random: (
            f"/incidents?q=table_{random.randint(1, company.datasets):04}&state=resolved"
        ),
        "scores by category": lambda _: "/scores",
        "scores by team": lambda _: "/scores?by=team",
        "scores by dimension": lambda _: "/scores?by=dimension",
        "page of a team": lambda random: f"/teams/{random.choice(teams)}",
        "coverage": lambda _: "/coverage",
    }


def _range(company: Company, random: random.Random) -> dict[str, str]:
    midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    end = midnight - timedelta(days=random.randint(0, 30))
    start = end - timedelta(days=random.randint(1, LONGEST_ASKED))
    name = f"lake.table_{random.randint(1, company.datasets):04}"
    return {"dataset": name, "from": start.isoformat(), "to": end.isoformat()}


@contextmanager
def serving() -> Iterator[int]:
    """The service's own web server, started as the service starts it; the port it listens on."""
    port = free_port()
    server = subprocess.Popen([*web(port), "--log-level=warning"])
    try:
        _wait(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def _wait(port: int) -> None:
    end = time.monotonic() + START_LIMIT
    while True:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _row(port: int, question: Question, clients: int, requests: int) -> Sequence[str]:
    """One line of the table; what the first tenth takes warms up."""
    dice, limit = random.Random(7), question.clients[clients]
    each = [[question.path(dice) for _ in range(requests // CLIENTS)] for _ in range(clients)]
    ask_at_once(port, question.headers, [paths[: max(1, len(paths) // 10)] for paths in each])
    took = ask_at_once(port, question.headers, each)
    figures = (percentile(took, 0.5), percentile(took, 0.99), percentile(took, 1.0))
    times = (f"{figure:.1f}" for figure in figures)
    return (question.name, str(clients), str(len(took)), *times, f"{limit:.0f}" if limit else "")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.latency")
    parser.add_argument("--datasets", type=int, default=Company().datasets, help="tables (default 2,000)")
    parser.add_argument("--runs", type=int, default=10_000_000, help="runs that there have been (default 10 million)")
    parser.add_argument("--incidents", type=int, default=1_000_000, help="incidents (default 1 million)")
    parser.add_argument("--requests", type=int, default=2000, help="of each kind, by four clients (default 2,000)")
    parser.add_argument("--only", default="", help="ask only what has this text in its name, such as quality")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
