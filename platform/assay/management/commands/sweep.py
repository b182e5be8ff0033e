"""``assay sweep``: the scheduler of the service."""

import time
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay.commands import Command as Base
from assay.exit_codes import ExitCode
from assay.sweep import sweep


class Command(Base):
    """Send a hint for every stage with pending rows, again and again."""

    help = "Send hints to the workers for whatever is pending; run one or several."

    def add_arguments(self, parser: CommandParser) -> None:
        """How often, and whether once only."""
        parser.add_argument("--every", type=float, default=1.0, help="seconds between two sweeps (default 1)")
        parser.add_argument("--once", action="store_true", help="sweep once and exit")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Sweep until stopped; the number of hints of the last sweep."""
        while True:
            hints = sweep()
            if options["once"]:
                return ExitCode.HELD, {"hints": hints}
            time.sleep(options["every"])

    def show(self, console: Console, result: Any) -> None:
        """Say how many hints were sent."""
        console.print(f"{result['hints']} hints sent")
