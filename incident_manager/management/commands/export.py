"""``assay export``: rows of a range as a file."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay import clock
from assay.command_line.command import BARE_DATE, UnableToRun, end_of_range
from assay.command_line.command import Command as Base
from assay.command_line.exit_codes import ExitCode
from assay.time.windows import Window, place_end
from incident_manager.exports import MEDIA_TYPES, TABLES, export
from incident_manager.management.named import named_dataset


class Command(Base):
    """Write a file while the rows are read, however many there are."""

    help = "Write runs, measurements or incidents of a range of time to a file, as CSV or Parquet."

    def add_arguments(self, parser: CommandParser) -> None:
        """What, of when, and where to."""
        parser.add_argument("table", choices=list(TABLES), help="which rows")
        parser.add_argument("--from", dest="start", type=end_of_range, required=True, help=f"the start, {BARE_DATE}")
        parser.add_argument("--to", dest="end", type=end_of_range, required=True, help="where the range ends")
        parser.add_argument("--dataset", help="a full name, such as raw.trips (default: all)")
        parser.add_argument("--output", required=True, help="a file that ends with .csv or .parquet, or - for CSV here")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """How many bytes were written, and where."""
        output, dataset = options["output"], named_dataset(options["dataset"]) if options["dataset"] else None
        start, end = (place_end(options[name], dataset.time_zone if dataset else "UTC") for name in ("start", "end"))
        if start >= end:
            raise UnableToRun("--to must be after --from")
        span = Window(start=start, end=end)
        form = "csv" if output == "-" else Path(output).suffix.removeprefix(".").lower()
        if form not in MEDIA_TYPES:
            raise UnableToRun(f"{output!r} ends with neither .csv nor .parquet; name a file that does")
        parts = export(options["table"], form, span=span, dataset=dataset, hidden=(), now=clock.now())
        try:
            with nullcontext(sys.stdout.buffer) if output == "-" else Path(output).open("wb") as file:
                written = sum(file.write(part) for part in parts)
        except OSError as error:
            raise UnableToRun(f"cannot write {output}: {error.strerror}") from None
        return ExitCode.HELD, {"table": options["table"], "output": output, "bytes": written}

    def show(self, console: Console, result: Any) -> None:
        """One line; none where the file itself is printed."""
        if result["output"] != "-":
            console.print(f"{result['output']}: {result['bytes']:,} bytes of {result['table']}", soft_wrap=True)
