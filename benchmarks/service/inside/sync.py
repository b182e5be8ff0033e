"""Write a catalog as YAML; plan it, sync it, sync it again, and push single changes into it, one after another."""

import argparse
import gc
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from rich.console import Console

from assay.command_line.cli import GC_THRESHOLD
from assay.models import Dataset, DataTest, LineageEdge
from benchmarks.engine.machine import machine
from benchmarks.lineage import drawn
from benchmarks.service.clients import UnableToAsk
from test_generator import tasks
from web.warm import warm_up

from .figures import show, write_docs

FILES = 200  # of the catalog: one a namespace
ONE_TO_ONE, IN_TWO_PLACES = 8, 4  # one of so many edges keeps every row, and one of so many datasets has a replica
PUSHES = 5
HEADINGS = ("", "s", "s of CPU", "SQL statements", "most")
TYPES = ("bigint", "string", "double", "timestamp", "decimal(10,2)", "boolean")


def main() -> None:
    """Writes, plans, syncs, pushes and shows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.sync")
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=80_000)
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    options, console = parser.parse_args(), Console(soft_wrap=True)
    gc.set_threshold(*GC_THRESHOLD)  # as the commands of a shell run
    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("migrate", verbosity=0)
    warm_up()
    on = f"{machine()}; {connection.vendor}"
    console.print(on)
    with tempfile.TemporaryDirectory(prefix="bench-catalog-") as folder:
        path = Path(folder) / "lake"
        write_catalog(path, options.datasets, options.edges)
        rows = [
            _row("`assay plan` of the empty catalog", "60 s", lambda: _command("plan", path)),
            _row("first `assay sync`, with all tests", "300 s", lambda: _command("sync", path)),
            _row("`assay sync` again, nothing changed", "30 s, 100 statements", lambda: _command("sync", path)),
            _row("`assay plan`, nothing changed", "60 s", lambda: _command("plan", path)),
        ]
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    for number in range(PUSHES):
        rows.append(_row(f"push {number + 1} of a dataset, with its tests", "5 s", partial(_push, client, number)))
    show(console, HEADINGS, rows)
    counts = (Dataset.objects.count(), LineageEdge.objects.count(), DataTest.objects.filter(retired_at=None).count())
    more = " {:,} datasets, {:,} edges, {:,} tests.".format(*counts)
    console.print(more)
    if options.docs:
        write_docs(f"sync-{connection.vendor}", on, HEADINGS, rows, more)


def write_catalog(folder: Path, datasets: int, edges: int) -> None:
    """A folder of YAML: tables with ten columns and a day's partitions, and the edges between them, by namespace."""
    folder.mkdir()
    graph = drawn(datasets, edges)
    upstreams = defaultdict[int, dict[int, None]](dict)
    for up, down in zip(graph.upstreams.tolist(), graph.downstreams.tolist(), strict=True):
        upstreams[down][up] = None
    for first in range(min(FILES, datasets)):
        numbers = range(first, datasets, FILES)
        tables = "".join(_table(number, int(graph.tiers[number])) for number in numbers)
        lines = "".join(_edge(up, down) for down in numbers for up in upstreams[down])
        lineage = f"lineage:\n{lines}" if lines else ""
        (folder / f"area_{first:03}.yaml").write_text(f"datasets:\n{tables}{lineage}")


def _name(number: int) -> str:
    return f"area_{number % FILES:03}.table_{number:06}"


def _table(number: int, tier: int) -> str:
    columns = "".join(f"    column_{at}: {TYPES[at % len(TYPES)]}\n" for at in range(9))
    places = ("sea", "phx") if number % IN_TWO_PLACES == 0 else ("sea",)
    replicas = "".join(
        f"  - {{datacenter: {place}, storage: parquet, location: /lake/{place}/{number}}}\n" for place in places
    )
    return (
        f"- name: {_name(number)}\n  owner: owner-{number % 200}@example.com\n  team: team-{number % 40}\n"
        f"  tier: {tier}\n  columns:\n    id: bigint\n{columns}  primary_key: [id]\n"
        f"  partition: {{column: day, granularity: day}}\n  replicas:\n{replicas}"
    )


def _edge(up: int, down: int) -> str:
    flag = ", one_to_one: true" if (up + down) % ONE_TO_ONE == 0 else ""
    return f"- {{upstream: {_name(up)}, downstream: {_name(down)}{flag}}}\n"


@dataclass
class Statements:
    """How many statements were sent; of many rows that are each a statement of their own, each counts."""

    number: int = 0


@contextmanager
def _counted() -> Iterator[Statements]:
    counted = Statements()

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        counted.number += len(params) if many and not sql.startswith("INSERT") else 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield counted


def _row(label: str, most: str, work: Callable[[], str]) -> Sequence[str]:
    wall, cpu = perf_counter(), process_time()
    with _counted() as statements:
        outcome = work()
    figures = (f"{perf_counter() - wall:,.1f}", f"{process_time() - cpu:,.1f}", f"{statements.number:,}")
    print(label, *figures, outcome, flush=True)  # at once: the next may take minutes
    return (label, *figures, most)


def _command(name: str, path: Path) -> str:
    """Run it as a shell does, into a file; its last line."""
    with tempfile.TemporaryFile("w+") as output, redirect_stdout(output):
        try:
            call_command(name, str(path))
        except SystemExit as end:
            if end.code:
                raise UnableToAsk(f"assay {name}: exit {end.code}") from None
        output.seek(0)
        return output.read().rstrip().rpartition("\n")[2]


def _push(client: Client, number: int) -> str:
    """A new table, or a change of it, until its tests are written: the request, and the stage that it leads to."""
    body = {
        "owner": "ada",
        "tier": number % 6,
        "columns": {"id": "bigint", **{f"column_{at}": "string" for at in range(number + 1)}},
        "primary_key": ["id"],
        "partition": {"column": "day", "granularity": "day"},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/pushed"}],
    }
    address = "/api/v1/datasets/pushed.table"
    answer = client.put(address, json.dumps(body), content_type="application/json")
    if answer.status_code >= 400:
        raise UnableToAsk(f"{address}: {answer.status_code} {answer.content[:300]!r}")
    while tasks.reconcile():
        pass
    tests = DataTest.objects.filter(dataset__full_name="pushed.table", retired_at=None)
    return f"{tests.count()} tests, of revision {max(tests.values_list('revision__number', flat=True))}"


if __name__ == "__main__":
    main()
