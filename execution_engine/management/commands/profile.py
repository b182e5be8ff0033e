"""``assay profile``: what a table or file looks like, column by column, without server or rules."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay.command_line.command import Command as Base
from assay.command_line.exit_codes import ExitCode
from execution_engine.file_windows import place_named, profile_of_place
from execution_engine.metrics.expressions import is_hidden
from execution_engine.profiles import report
from execution_engine.profiles.report import HEAD, line_of, odd, page_of
from execution_engine.verification.data import PATH_HELP, names_files


class Command(Base):
    """A first look at data."""

    help = "Describe each column of a table or file: missing and different values, numbers, texts, and what looks odd."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to read, and how the answer is written."""
        parser.add_argument("table", help=f"{PATH_HELP}; or a dataset of the catalog")
        parser.add_argument("--window", help="of a dataset: a partition key, or START/END in ISO 8601 (default: all)")
        parser.add_argument("--option", "-o", action="append", default=[], metavar="KEY=VALUE", help="how CSV is read")
        parser.add_argument("--html", type=Path, metavar="FILE", help="write one page with small plots")

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The profile; of columns that the catalog calls sensitive only counts."""
        name = options["table"]
        if not names_files(name):
            super().prepare()
        place = place_named(name, options["window"], options["option"])
        profile = profile_of_place(place, quiet=options["json"])
        # of hidden columns nothing but counts of rows and nulls is told
        visible_profile = profile.without_values(name for name in profile.columns if is_hidden(name, place.hidden))
        result = {"table": place.table.name, **report.described(visible_profile)}
        if options["html"]:
            options["html"].write_text(page_of(place.table.name, result))
            result["page"] = str(options["html"])
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """A line for each column, then what looks odd."""
        printed = Printed(*HEAD, title=result["table"])
        for column in result["columns"]:
            printed.add_row(*map(escape, line_of(column)))
        console.print(printed)
        keys = [column["name"] for column in result["columns"] if column["may_be_key"]]
        console.print(f"{result['rows']:,} rows; may be keys: {escape(', '.join(keys)) or 'none'}", soft_wrap=True)
        for line in odd(result):
            console.print(escape(line), soft_wrap=True)
        if "page" in result:
            console.print(f"wrote {escape(result['page'])}")
