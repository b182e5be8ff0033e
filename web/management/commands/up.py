"""``assay up``: everything in one process for one machine."""

import secrets
import threading
import time
from typing import Any

import structlog
import waitress
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from rich.console import Console

from assay import clock
from assay.commands import Command as Base
from assay.config import config
from assay.drain import drain
from assay.exit_codes import ExitCode
from assay.models import SimulatedClock
from assay.pruning import begin_pruning

log = structlog.get_logger(__name__)


class Command(Base):
    """API, dashboard and all stages, drained in a thread of this process."""

    help = "Serve the API and the dashboard, and work every stage, in this one process; stop it with Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default 8000)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Serve until stopped."""
        call_command("migrate", verbosity=0)
        console = Console(stderr=True)
        _welcome(console, options["host"], options["port"])
        if (standing := SimulatedClock.objects.first()) is None:
            begin_pruning(clock.now())
            threading.Thread(target=_drain_for_ever, daemon=True).start()
        else:
            console.print(f"This is a replay, {standing}: it is shown as it stands, and nothing is run.")
        how: dict[str, Any] = {"threads": 8, "max_request_body_size": config().body_bytes, "_quiet": True}
        waitress.serve(get_wsgi_application(), host=options["host"], port=options["port"], **how)
        return ExitCode.HELD, {}

    def show(self, console: Console, result: Any) -> None:
        """Nothing is left to say."""


def _welcome(console: Console, host: str, port: int) -> None:
    """Say where to go, and with which password the first time."""
    user_model = get_user_model()
    console.print(f"Assay is up at http://{host}:{port}/")
    if not user_model.objects.filter(is_superuser=True).exists():
        password = secrets.token_urlsafe(12)
        user_model.objects.create_superuser("admin", password=password)
        console.print(f"Sign in as [bold]admin[/bold] with the password [bold]{password}[/bold] (shown only now).")


def _drain_for_ever() -> None:
    while True:
        close_old_connections()
        try:
            drain()
        except Exception:
            log.exception("draining failed; trying again")
        time.sleep(1)
