"""``assay split``: the rows of a table that break checks in one folder, all others in another."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from secrets import token_hex
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape

from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode, FailOn
from execution_engine.verification import Status, UnableToReadRepository
from execution_engine.verification.checks_file import UnableToReadChecks
from execution_engine.verification.data import write_rows
from execution_engine.verification.suite import broken_metrics, constraints_without_rows

from .verify import CODES, add_arguments_of_checks, verify
from .verify import Command as Verify


class Command(Verify):
    """Quarantine for a pipeline's shell step: what it loads next is the folder of good rows."""

    help = "Write the rows that break checks to one folder, and all others to another; exit codes as of verify."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which table, which checks, and where the rows go."""
        add_arguments_of_checks(parser)
        parser.add_argument("--good", required=True, type=Path, metavar="DIR", help="a new folder for the good rows")
        parser.add_argument("--bad", required=True, type=Path, metavar="DIR", help="a new folder for the bad rows")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every constraint with its status, and how many rows went where; both folders are there, or neither."""
        good, bad = options["good"].absolute(), options["bad"].absolute()
        try:
            _check_folders(options["table"], good, bad)
            console = Console(stderr=True)
            is_quiet = options["json"] or not console.is_terminal
            with nullcontext() if is_quiet else console.status(f"splitting {options['table']} …"):
                verification, result, answer = verify(options)
                if result.status is Status.UNABLE:
                    wrong = next(row["message"] for row in answer["constraints"] if row["status"] == "error")
                    raise UnableToRun(f"no rows were written, as a constraint could not be judged: {wrong}")
                with _new_folders(good, bad) as folders:
                    written = write_rows(
                        verification.data,
                        verification.name,
                        verification.engine,
                        broken_metrics(result),
                        good=str(folders[0]),
                        bad=str(folders[1]),
                    )
                    if written.failures:
                        text, failure = next(iter(written.failures.items()))
                        raise UnableToRun(f"no rows were written: {text}: {failure}")
        except (UnableToReadChecks, UnableToReadRepository, ValueError) as error:
            raise UnableToRun(str(error)) from None
        answer |= {
            "good": {"folder": str(good), "rows": written.good},
            "bad": {"folder": str(bad), "rows": written.bad},
            "without_rows": constraints_without_rows(result),
        }
        return FailOn.apply(CODES[result.status], options["fail_on"]), answer

    def show(self, console: Console, result: Any) -> None:
        """The constraints as of ``verify``, and a line for each folder."""
        super().show(console, result)
        for name in ("good", "bad"):
            rows, folder = result[name]["rows"], escape(result[name]["folder"])
            console.print(f"{rows:,} {name} row{'' if rows == 1 else 's'}: {folder}", soft_wrap=True)
        for text in result["without_rows"]:
            console.print(f"{escape(text)} is broken by all rows together, so it moved none.", soft_wrap=True)


def _check_folders(table: str, good: Path, bad: Path) -> None:
    """Raise ValueError for folders that hold something, or that lie in the table or in each other."""
    for option, folder, other in (("--good", good, bad), ("--bad", bad, good)):
        real = Path(os.path.realpath(folder))
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(f"{option} {folder} is there already: name a new folder, or remove it first")
        if real.is_relative_to(os.path.realpath(table)):
            raise ValueError(f"{option} {folder} lies in the table itself: name a folder outside of {table}")
        if real.is_relative_to(os.path.realpath(other)):
            raise ValueError(f"--good {good} and --bad {bad} lie in each other: name two folders apart")


@contextmanager
def _new_folders(*folders: Path) -> Iterator[list[Path]]:
    """Hidden folders beside those, which get their names at the end, all of them or none."""
    hidden: list[Path] = []
    named: list[Path] = []
    try:
        for folder in folders:
            folder.parent.mkdir(parents=True, exist_ok=True)
            hidden.append(folder.parent / f".{folder.name}-{token_hex(8)}")
            hidden[-1].mkdir()
        yield hidden
        for place, folder in zip(hidden, folders, strict=True):
            place.rename(folder)
            named.append(folder)
    except OSError as error:
        for folder in named:
            shutil.rmtree(folder, ignore_errors=True)
        names = dict(zip(map(str, hidden), folders, strict=False))
        place = names.get(str(error.filename), error.filename or folders[0])
        raise ValueError(f"{place} cannot be written: {error.strerror or error}") from None
    finally:
        for place in hidden:
            shutil.rmtree(place, ignore_errors=True)
