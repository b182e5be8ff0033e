"""``assay sweep``: the scheduler of the service."""

import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import structlog
from django.core.management.base import CommandParser
from django.db import DatabaseError, close_old_connections
from rich.console import Console

from assay import clock
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.queue.drain import look_for_leaps
from assay.scheduler.beat import beat, begin_rounds
from assay.scheduler.sweep import Pinger, sweep

log = structlog.get_logger(__name__)


class Command(Base):
    """Send a hint for every stage with pending rows, again and again."""

    serves = True
    help = "Tell the workers what is pending; run one or several."

    def add_arguments(self, parser: CommandParser) -> None:
        """How often, and whether once only."""
        parser.add_argument("--every", type=float, default=1.0, help="seconds between two sweeps (default 1)")
        parser.add_argument("--once", action="store_true", help="sweep once and exit")

    def prepare(self) -> None:
        """See to the tables; a database that is away is looked for again by each sweep."""
        with suppress(DatabaseError):
            super().prepare()

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Sweep until stopped; the number of hints of the last sweep."""
        if not config().broker_url:
            raise UnableToRun(
                "there is no broker to send hints to: set ASSAY_BROKER_URL, or run `assay up` without one"
            )
        interval, pinger = timedelta(seconds=options["every"]), Pinger()
        while not options["once"]:
            close_old_connections()
            try:
                _sweep(interval)
                pinger.call()
            except DatabaseError as error:  # one that is away for a while is looked for again by the next sweep
                log.warning("sweep failed", why=str(error))
            time.sleep(options["every"])
        return ExitCode.HELD, {"hints": _sweep(interval)}

    def show(self, console: Console, result: Any) -> None:
        """Say how many hints were sent."""
        console.print(f"{result['hints']} hints sent")


def _sweep(interval: timedelta) -> int:
    """One sweep and its beat; how many hints were sent."""
    begin_rounds(clock.now())
    look_for_leaps(clock.now())
    hints = sweep()
    beat(interval)
    return hints
