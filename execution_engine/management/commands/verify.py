"""``assay verify``: check a table against a file of checks, without server or database."""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, key_values
from assay.command_line.exit_codes import ExitCode, FailOn
from execution_engine.read_by import from_json
from execution_engine.storage import engine_of_storage
from execution_engine.verification import (
    FileRepository,
    ResultKey,
    Status,
    UnableToReadRepository,
    Verification,
    VerificationResult,
    VerificationSuite,
)
from execution_engine.verification.checks_file import UnableToReadChecks, read_checks
from execution_engine.verification.data import PATH_HELP, name_of, names_database, table_of
from execution_engine.verification.suite import columns_and_rows

CODES = {
    Status.SUCCESS: ExitCode.HELD,
    Status.WARNING: ExitCode.WARNED,
    Status.UNABLE: ExitCode.UNABLE,
    Status.ERROR: ExitCode.FAILED,
}
COLORS = {"success": "green", "failure": "red", "error": "magenta", "learning": "blue"}
MOST_SHOWN = 60  # characters of a value in the table of rows


class Command(Base):
    """Unit tests of data, as a pipeline's shell step runs them."""

    help = "Check a table against a file of checks: exit 0 held, 1 failed, 2 warnings only, 3 could not be done."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which table, which checks, and what to show."""
        add_arguments_of_checks(parser)
        parser.add_argument("--failing-rows", type=int, default=0, metavar="N", help="show up to N rows that fail")
        parser.add_argument("--repository", type=Path, metavar="FILE", help="keep the metrics in this file of JSON")
        parser.add_argument("--date", default="", help="what the metrics are kept under (needed with --repository)")

    def prepare(self) -> None:
        """Nothing: it needs no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every constraint with its status, and rows that fail where they were asked for."""
        try:
            console = Console(stderr=True)
            is_quiet = options["json"] or not console.is_terminal
            with nullcontext() if is_quiet else console.status(f"measuring {options['table']} …"):
                verification, result, answer = verify(options)
                if options["failing_rows"] > 0 and result.failed:
                    sample = verification.failing_rows(result, options["failing_rows"])
                    failures = {name: str(failure) for name, failure in sample.failures.items()}
                    columns, rows = list(sample.columns), columns_and_rows(sample)
                    answer["failing_rows"] = {"columns": columns, "rows": rows, "failures": failures}
        except (UnableToReadChecks, UnableToReadRepository, ValueError) as error:
            raise UnableToRun(str(error)) from None
        return FailOn.apply(CODES[result.status], options["fail_on"]), answer

    def show(self, console: Console, result: Any) -> None:
        """A table of the constraints, a line that counts them, and the rows that fail."""
        printed = Printed("constraint", "level", "status", "what was seen", title=result["table"])
        for row in result["constraints"]:
            color = COLORS[row["status"]]
            seen = "\n".join(part for part in (row["message"], row["hint"]) if part)
            printed.add_row(
                escape(row["constraint"]), row["level"], f"[{color}]{row['status']}[/{color}]", escape(seen)
            )
        console.print(printed)
        statuses = [row["status"] for row in result["constraints"]]
        counts = ", ".join(f"{statuses.count(status)} {status}" for status in COLORS if status in statuses)
        cost = f"{result['spark_jobs']} Spark jobs, {result['seconds']:.1f} s"
        read = "; ".join([escape(str(from_json(result["read_by"]))), *result["snapshots"].values()])
        console.print(f"[bold]{result['status']}[/bold]: {counts}; {cost}; {read}", soft_wrap=True)
        if "failing_rows" in result:
            sample = result["failing_rows"]
            rows = Printed(*map(escape, sample["columns"]), "breaks", title=f"{len(sample['rows'])} rows that fail")
            for row in sample["rows"]:
                cells = ["" if value is None else escape(str(value)[:MOST_SHOWN]) for value in row["row"].values()]
                rows.add_row(*cells, escape("\n".join(row["breaks"])))
            console.print(rows)


def add_arguments_of_checks(parser: CommandParser) -> None:
    """Which table, which checks, and from which result on to exit above 0."""
    parser.add_argument(
        "table",
        help=f"{PATH_HELP}; the URL of a database, or env:NAME for one; or a table of Spark's catalog",
    )
    parser.add_argument("--checks", required=True, type=Path, metavar="FILE", help="the checks, in YAML")
    parser.add_argument("--name", default="", help="what the checks call the table (default: its last part)")
    parser.add_argument(
        *("--option", "-o"),
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how CSV or JSON is read, such as delimiter=';'; of a database table=NAME, schema=NAME; may be repeated",
    )
    parser.add_argument(
        "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which result on to exit above 0"
    )


def verify(options: Mapping[str, Any]) -> tuple[Verification, VerificationResult, dict[str, Any]]:
    """The verification that the options of a command ask for, what came of it, and that as JSON with its lines.

    Raises UnableToReadChecks, UnableToReadRepository and ValueError.
    """
    checks = read_checks(options["checks"])
    of_table = key_values(options["option"])
    name = options["name"] or (of_table.get("table") if names_database(options["table"]) else None)
    table = table_of(options["table"], name or name_of(options["table"]), of_table)
    suite = VerificationSuite(engine=engine_of_storage(table.storage))
    verification = suite.on(table).add_check(*checks.checks)
    for name, where in checks.tables.items():
        verification = verification.with_table(name, where)
    if options.get("repository") is not None:
        try:
            at = datetime.fromisoformat(options["date"])
        except ValueError:
            raise UnableToRun(
                f"--date {options['date']!r} is no date: write it as 2026-03-10, for the day of the data"
            ) from None
        key = ResultKey.of(at, table=table.name)
        verification = verification.use_repository(FileRepository(options["repository"]), key)
    result = verification.run()
    answer = result.to_dict()
    for row, line in zip(answer["constraints"], checks.lines, strict=True):
        row["place"] = f"{options['checks']}:{line}"
        if row["status"] == "error":
            row["message"] = f"{row['place']}: {row['message']}"
    return verification, result, answer
