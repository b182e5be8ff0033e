"""``assay up``: everything in one process for one machine."""

import secrets
import threading
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

import structlog
from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from rich.console import Console
from waitress.server import create_server

from alerting.channels import check_routes
from alerting.routes import UnableToReadRoutes
from assay import clock
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.models import SimulatedClock
from assay.queue.drain import drain
from assay.scheduler.beat import begin_rounds
from execution_engine.scans.run_scan import Lane, only
from execution_engine.services import scan_pending
from web.warm import warm_up

log = structlog.get_logger(__name__)

HIGHEST_PORT = 65_535


class Command(Base):
    """API, dashboard and all stages, drained in a thread of this process; slow scans have a thread of their own."""

    serves = True
    help = "Serve the API and the dashboard, and work every stage, in this one process; stop it with Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=_port, default=8000, help="port to listen on (default 8000)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Serve until stopped."""
        try:
            check_routes()
        except UnableToReadRoutes as wrong:
            raise UnableToRun(str(wrong)) from None
        host, port, application = options["host"], options["port"], get_wsgi_application()
        try:  # the server has its port before anything is written or said
            server: Any = create_server(
                application, host=host, port=port, threads=8, max_request_body_size=config().body_bytes
            )
        except (OSError, ValueError) as error:
            reason, mend = str(error).rstrip("."), "Stop what listens there, or choose another --port or --host."
            raise UnableToRun(f"cannot listen at {host}:{port}: {reason}. {mend}") from None
        _lead_links_here(host, server.effective_port)
        console, users = Console(stderr=True), get_user_model().objects
        console.print(f"Assay is up at http://{host}:{server.effective_port}/")
        admin = users.filter(is_superuser=True).order_by("pk").first()
        if admin is None:
            password = secrets.token_urlsafe(12)
            admin = users.create_superuser("admin", password=password)
            console.print(f"Sign in as [bold]admin[/bold] with the password [bold]{password}[/bold] (shown only now).")
        console.print(f"A new password for {admin}: assay changepassword {admin}")
        warm_up()
        if (standing := SimulatedClock.objects.first()) is None:
            begin_rounds(clock.now())
            threading.Thread(target=_repeat, args=(drain, Lane.QUICK), daemon=True).start()
            threading.Thread(target=_repeat, args=(scan_pending, Lane.SLOW), daemon=True).start()
        else:
            console.print(f"This is a replay, {standing}: it is shown as it stands, and nothing is run.")
        server.run()
        return ExitCode.HELD, {}

    def show(self, console: Console, result: Any) -> None:
        """Nothing is left to say."""


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise ArgumentTypeError(f"{text!r} is no port: write a number up to {HIGHEST_PORT}")
    return int(text)


def _lead_links_here(host: str, port: int) -> None:
    """Let links in messages lead to this server, where the operator has not said where they lead."""
    reached_at = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    file = config().address_file
    try:
        file.write_text(f"http://{reached_at}:{port}\n", encoding="utf-8")
    except OSError as error:
        raise UnableToRun(f"cannot write {file}: {error.strerror}. Make room there, or correct ASSAY_HOME.") from None
    config.cache_clear()


def _repeat(work: Callable[[], int], lane: Lane) -> None:
    """Work for ever what there is to do in one lane of scans, so that slow ones hold up nothing else."""
    while True:
        close_old_connections()
        try:
            with only(lane):
                work()
        except Exception:
            log.exception("working failed; trying again", lane=lane.value)
        time.sleep(1)
