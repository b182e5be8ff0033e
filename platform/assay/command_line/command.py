"""The base of every command: ``--json``, exit codes, and errors that say what, where and how to mend it."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rich.console import Console

from assay.config import config
from assay.database.storage_errors import of_storage
from assay.edge.logs import only_warnings

from .database_tables import UnableToMigrate, bring_up_to_date
from .exit_codes import ExitCode

WIDTH = 120  # of tables that go to a file or a pipe

# What Django's own machinery reads of the options; no command of ours offers them.
DJANGO_DEFAULTS = {
    "settings": None,
    "pythonpath": None,
    "traceback": False,
    "no_color": False,
    "force_color": False,
    "skip_checks": True,
    "verbosity": 1,
}


class UnableToRun(Exception):
    """A command could not do what it was asked; the message says what, where and how to mend it."""


def key_values(given: Sequence[str]) -> dict[str, str]:
    """What ``--option KEY=VALUE`` says; raises UnableToRun."""
    pairs = [each.partition("=") for each in given]
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
