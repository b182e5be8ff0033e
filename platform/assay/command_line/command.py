"""The base of every command: ``--json``, exit codes, and errors that say what, where and how to mend it."""

import fcntl
import getpass
import json
import socket
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NoReturn, TypeVar

from django.apps import apps
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from rich.console import Console
from rich.markup import escape

from assay.accounts import RequestOrigin
from assay.config import config
from assay.database.storage_errors import of_storage
from assay.edge.logs import only_warnings
from assay.time.durations import UnableToReadDuration, doubled, format_duration, parse_duration, taken
from assay.time.windows import EndOfRange, parse_end

from .exit_codes import ExitCode

# Types of options: instants and lengths of time, as argparse reads them.

BARE_DATE = "ISO 8601; a bare date is midnight in the dataset's time zone, or in UTC where many are asked about"


def instant(text: str) -> datetime:
    """An instant in ISO 8601; without a time zone it is in UTC."""
    try:
        time = datetime.fromisoformat(text)
        return taken(time if time.tzinfo else time.replace(tzinfo=UTC))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def end_of_range(text: str) -> EndOfRange:
    """An instant, or a bare date, which is midnight in the zone of the dataset that is asked about."""
    try:
        return parse_end(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; write it as 2026-03-09 or 2026-03-09T00:00:00Z") from None


def length(text: str) -> timedelta:
    """A length of time, such as ``4h``."""
    try:
        return parse_duration(text)
    except UnableToReadDuration as error:
        raise ArgumentTypeError(str(error)) from None


# Who runs a command, for the audit.


def command_origin() -> RequestOrigin:
    """The account of the machine that runs it."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        account = "nobody"
    return RequestOrigin(actor=f"{account}@{socket.gethostname()}", via="command")


# A wait of a command: ask again and again, more and more rarely, where somebody may watch.

T = TypeVar("T")

FIRST, MOST = timedelta(seconds=5), timedelta(seconds=60)  # between two questions


def next_pause(attempt: int, *, left: timedelta, poll: timedelta | None = None) -> timedelta:
    """How long to wait after so many questions: 5 s, 10 s, … 60 s, or ``poll`` each time; no longer than what is left.

    ``attempt`` counts from 1.
    """
    return min(poll or doubled(FIRST, attempt - 1, most=MOST), left)


def wait_for(
    ask: Callable[[], T],
    *,
    is_settled: Callable[[T], bool],
    describe: Callable[[T], str],
    longest: timedelta,
    poll: timedelta | None = None,
) -> T:
    """The first answer that is settled, or the last one within ``longest`` of real time.

    ``describe`` says for people what is waited for. A terminal shows it in one line that lives; a log gets a line for
    each change.
    """
    end, last = time.monotonic() + longest.total_seconds(), ""
    is_live = sys.stderr.isatty()
    with Console(stderr=True, emoji=False).status("waiting") if is_live else nullcontext() as status:
        for number in count(1):
            answer = ask()
            left = timedelta(seconds=end - time.monotonic())
            if is_settled(answer) or left <= timedelta(0):
                break
            text = describe(answer)
            seconds = format_duration(timedelta(seconds=max(1, round(left.total_seconds()))))
            if status is not None:
                status.update(f"{escape(text)} ({seconds} left)")
            elif text != last:
                print(f"assay: waiting, at most {seconds}: {text}", file=sys.stderr, flush=True)
            last = text
            time.sleep(next_pause(number, left=left, poll=poll).total_seconds())
    return answer


# Whether the database has the tables of this version; the embedded one is brought there by the command that asks.


class UnableToMigrate(Exception):
    """The tables are of another version, and they are not ours to change."""


def missing_migrations() -> int:
    """How many migrations the database still lacks."""
    homes = {app.label: Path(app.path) / "migrations" for app in apps.get_app_configs()}
    shipped = {(label, module.name) for label, home in homes.items() for module in iter_modules([str(home)])}
    if shipped <= set(MigrationRecorder(connection).applied_migrations()):
        return 0  # found by their names: to import all of them takes longer than most commands
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def bring_up_to_date() -> None:
    """Migrate the embedded database where it lacks anything; raises UnableToMigrate for that of a server.

    A server's database is shared, and the account that runs the service may not change its tables.
    """
    if not (missing := missing_migrations()):
        return
    if connection.vendor != "sqlite":
        raise UnableToMigrate(
            f"the database lacks {missing} migrations: run `assay migrate` as the owner of its tables"
        )
    with Path(f"{connection.settings_dict['NAME']}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two commands on a new home the second waits, and finds nothing missing
        if missing_migrations():
            call_command("migrate", verbosity=0)


WIDTH = 120  # of tables that go to a file or a pipe

# What Django's own machinery reads of the options; no command of ours offers them.
DJANGO_DEFAULTS = {"skip_checks": True, "verbosity": 1, "settings": None, "pythonpath": None}
DJANGO_DEFAULTS |= dict.fromkeys(("traceback", "no_color", "force_color"), False)


class UnableToRun(Exception):
    """A command could not do what it was asked; the message says what, where and how to mend it."""


def key_values(options: Sequence[str]) -> dict[str, str]:
    """What ``--option KEY=VALUE`` says; raises UnableToRun."""
    pairs = [option.partition("=") for option in options]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UnableToRun(f"--option {wrong[0]!r} gives no value: write it as {wrong[0]}=VALUE")
    return {name: value for name, _, value in pairs}


class Printer(Console):
    """A console that leaves it to ``cli`` to say that nobody reads on: rich would exit with 1, as failed."""

    def on_broken_pipe(self) -> NoReturn:
        """Called by rich while it handles the error, which goes on from here."""
        raise


class PlainParser(CommandParser):
    """Argument errors exit with ``UNABLE``."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit."""
        self.print_usage(sys.stderr)
        self.exit(ExitCode.UNABLE, f"{self.prog}: {message}\n")


class Command(BaseCommand):
    """A command whose ``answer`` returns its exit code and a JSON-able result, and whose ``show`` prints it."""

    requires_system_checks = ()
    serves = False  # whether it goes on until it is stopped: then its log is what it has to say

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> PlainParser:
        """A parser with ``--json`` and this house's exit codes."""
        parser = PlainParser(prog=f"assay {subcommand}", description=self.help or None)
        parser.set_defaults(**DJANGO_DEFAULTS)
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        self.add_arguments(parser)
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        """Answer, print, and exit with the answer's code; the log is shown where the environment names its level."""
        is_asked_for = "log_level" in config().model_fields_set
        try:
            with nullcontext() if self.serves or is_asked_for else only_warnings():
                self.prepare()
                code, result = self.answer(**options)
        except (CommandError, UnableToMigrate, UnableToRun) as error:
            self._refuse(str(error))
        except (DatabaseError, OSError) as error:
            self._refuse(of_storage(error))
        if options["json"]:
            self.stdout.write(json.dumps(result, indent=2, default=str))
        else:
            self.show(Printer(width=None if sys.stdout.isatty() else WIDTH, emoji=False), result)
        sys.exit(code)

    def _refuse(self, sentence: str) -> NoReturn:
        self.stderr.write(f"assay: {sentence}")
        sys.exit(ExitCode.UNABLE)

    def prepare(self) -> None:
        """See to it that the database has its tables."""
        bring_up_to_date()

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Do the work; the exit code and the result that ``--json`` prints."""
        raise NotImplementedError

    def show(self, console: Console, result: Any) -> None:
        """Print the result for people."""
        raise NotImplementedError
