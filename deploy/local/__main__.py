"""``python -m deploy.local``: the service of compose.yaml on this machine, without Docker; Ctrl-C ends it.

With ``--once``, a fortnight of the demo is lived through by all processes, and what came of it is shown.
"""

import argparse
import itertools
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from .fleet import Fleet, fleet
from .left import end_left
from .parts import Size
from .programs import UnableToStart, call
from .status import table, welcome

HOME = ".assay/service"
LOOK_EVERY = 1.0  # seconds
CATALOG_EVERY = 5  # looks at the processes, after which the catalog is asked for new datacenters
DEMO_DATACENTERS = ("dca", "phx")


def main() -> int:
    """The exit code: 0 after an orderly end, 3 where it could not be done."""
    asked, console = _arguments(), Console()
    signal.signal(signal.SIGTERM, _interrupt)
    home = Path(os.environ.get("ASSAY_HOME") or HOME)
    size = Size(workers=asked.workers, datacenters=tuple(filter(None, asked.datacenters.split(","))))
    try:
        return _live_once(home, size, console) if asked.once else _serve(home, size, asked, console)
    except UnableToStart as reason:
        console.print(f"service: {reason}", style="red", markup=False)
        return 3


def _serve(home: Path, size: Size, asked: argparse.Namespace, console: Console) -> int:
    with fleet(home=home, size=size, web_port=asked.port, say=_step_printer(console)) as service:
        _create_first_user(service, console)
        if asked.catalog:
            console.print(service.assay("sync", str(asked.catalog.resolve())), markup=False)
        if not asked.datacenters:
            service.serve_catalog()
        welcome(console, service)
        _watch(service, console, follows_catalog=not asked.datacenters)
    console.print("All processes have ended.")
    return 0


def _step_printer(console: Console) -> Callable[[str], None]:
    """Says what a start is doing, and how many seconds after its begin."""
    started = time.monotonic()
    return lambda text: console.print(f"{time.monotonic() - started:4.0f} s  {text}", highlight=False, markup=False)


def _watch(service: Fleet, console: Console, *, follows_catalog: bool) -> None:
    """Tell of every process that was started again, and serve new datacenters, until Ctrl-C or SIGTERM."""
    told = 0
    try:
        for look in itertools.count(1):
            time.sleep(LOOK_EVERY)
            if follows_catalog and look % CATALOG_EVERY == 0:
                _serve_catalog(service, console)
            restarts = sum(process.restarts for process in service.processes.values())
            if restarts > told:
                console.print(table(service.processes.values()))
                told = restarts
    except KeyboardInterrupt:
        console.print("Ending …")


def _serve_catalog(service: Fleet, console: Console) -> None:
    """Start workers for datacenters that are new in the catalog; a database that is away is asked again later."""
    with suppress(UnableToStart):
        for place in service.serve_catalog():
            console.print(f"Workers of datacenter {place} have started, as the catalog names it.", highlight=False)


def _live_once(home: Path, size: Size, console: Console) -> int:
    """The demo in a folder of its own, begun anew each time."""
    place = home / "once"
    end_left(place / "service")
    shutil.rmtree(place, ignore_errors=True)
    quick = {"ASSAY_SPARK_MASTER": "local[1]"}
    with fleet(
        home=place, size=replace(size, datacenters=DEMO_DATACENTERS, sweep_every=0.2), environment=quick
    ) as service:
        console.print(table(service.processes.values()))
        return call([sys.executable, "-m", "deploy.local.replay", str(place)], service.environment)


def _create_first_user(service: Fleet, console: Console) -> None:
    """An administrator, where nobody may log in yet."""
    if int(service.database.execute("select count(*) from assay.auth_user")):
        return
    password = secrets.token_urlsafe(12)
    service.assay("createsuperuser", "--noinput", "--username=admin", "--email=", DJANGO_SUPERUSER_PASSWORD=password)
    console.print(f"Sign in as admin with the password {password} (shown only now).", highlight=False)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _arguments() -> argparse.Namespace:
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
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
