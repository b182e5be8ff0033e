"""``python -m deploy.local``: the service of compose.yaml on this machine, without Docker; Ctrl-C ends it.

With ``--once``, a fortnight of the demo is lived through by all processes, and what came of it is shown.
"""

import argparse
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .fleet import Fleet, FleetSize, fleet
from .process import Process, end_left
from .programs import ROOT, UnableToStart

HOME = ".assay/service"
LOOK_EVERY = 1.0  # seconds
CATALOG_EVERY = 5  # looks at the processes, after which the catalog is asked for new datacenters
DEMO_DATACENTERS = ("dca", "phx")


def main() -> int:
    """The exit code: 0 after an orderly end, 3 where it could not be done."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    parser.add_argument("--once", action="store_true", help="live through a fortnight of the demo, and end")
    parser.add_argument("--catalog", type=Path, help="sync this catalog first")
    parser.add_argument("--port", type=int, default=8000, help="of the dashboard and the API (default 8000)")
    parser.add_argument("--workers", type=int, default=1, help="of the stages (default 1)")
    parser.add_argument(
        "--datacenters",
        default="",
        help="have workers beside their data, such as sea,phx (default: all of the catalog)",
    )
    arguments, console = parser.parse_args(), Console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    home = Path(os.environ.get("ASSAY_HOME") or HOME)
    size = FleetSize(workers=arguments.workers, datacenters=tuple(filter(None, arguments.datacenters.split(","))))
    try:
        return _live_once(home, size, console) if arguments.once else _serve(home, size, arguments, console)
    except UnableToStart as reason:
        console.print(f"service: {reason}", style="red", markup=False)
        return 3


def _serve(home: Path, size: FleetSize, arguments: argparse.Namespace, console: Console) -> int:
    started = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - started:4.0f} s  {text}", highlight=False, markup=False)

    with fleet(home=home, size=size, web_port=arguments.port, say=say) as service:
        if not int(service.database.execute("select count(*) from assay.auth_user")):  # nobody may log in yet
            password = secrets.token_urlsafe(12)
            service.assay(
                "createsuperuser", "--noinput", "--username=admin", "--email=", DJANGO_SUPERUSER_PASSWORD=password
            )
            console.print(f"Sign in as admin with the password {password} (shown only now).", highlight=False)
        if arguments.catalog:
            console.print(service.assay("sync", str(arguments.catalog.resolve())), markup=False)
        if not arguments.datacenters:
            service.serve_catalog()
        console.print(table(service.processes.values()))
        console.print(f"Dashboard and API: {service.web_url}")
        console.print("For commands such as `assay doctor` in another shell:", highlight=False)
        console.print(f"  export ASSAY_HOME={service.home} ASSAY_SECRETS_DIR={service.secrets}", soft_wrap=True)
        try:
            _watch(service, console, follows_catalog=not arguments.datacenters)
        except KeyboardInterrupt:
            console.print("Ending …")
    console.print("All processes have ended.")
    return 0


def _watch(service: Fleet, console: Console, *, follows_catalog: bool) -> None:
    """Tell of every process that was started again, and serve new datacenters, for ever."""
    last_restarts = 0
    for look in itertools.count(1):
        time.sleep(LOOK_EVERY)
        if follows_catalog and look % CATALOG_EVERY == 0:
            with suppress(UnableToStart):  # a database that is away is asked again later
                for place in service.serve_catalog():
                    text = f"Workers of datacenter {place} have started, as the catalog names it."
                    console.print(text, highlight=False)
        restarts = sum(process.restarts for process in service.processes.values())
        if restarts > last_restarts:
            console.print(table(service.processes.values()))
            last_restarts = restarts


def _live_once(home: Path, size: FleetSize, console: Console) -> int:
    """The demo in a folder of its own, begun anew each time."""
    place = home / "once"
    end_left(place / "service")
    shutil.rmtree(place, ignore_errors=True)
    size = replace(size, datacenters=DEMO_DATACENTERS, sweep_every=0.2)
    with fleet(home=place, size=size, environment={"ASSAY_SPARK_MASTER": "local[1]"}) as service:
        console.print(table(service.processes.values()))
        command = [sys.executable, "-m", "deploy.local.replay", str(place)]
        return subprocess.run(command, env=service.environment, cwd=ROOT).returncode


def table(processes: Iterable[Process]) -> Table:
    """Every process with its id, what it does, how often it was started again, and its log."""
    rows = Table("process", "pid", "state", "restarts", "log")
    for process in processes:
        rows.add_row(process.name, str(process.pid), process.state.value, str(process.restarts), str(process.log))
    return rows


if __name__ == "__main__":
    sys.exit(main())
