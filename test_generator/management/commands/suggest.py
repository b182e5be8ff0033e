"""``assay suggest``: tests that a table's own past leads to, each tried on windows that it was not fitted on."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay import clock
from assay.accounts import record
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_windows import add_window_arguments, dataset_named, windows_of_dataset, windows_of_files
from execution_engine.verification.data import names_files
from test_generator.offers import (
    USUAL_WINDOWS,
    PastSuggestions,
    asserted_of,
    decided_of,
    note,
    other_keys,
    suggested_window,
)
from test_generator.suggestions.suggest import as_json, as_yaml, still_offered, suggestions


class Command(Base):
    """What to test of a table that nobody wrote a rule for."""

    help = "Suggest tests from a table's past: fitted on the first 80 % of its windows, tried on the rest."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which table, which windows, and where the suggestions go."""
        add_window_arguments(parser)
        parser.add_argument(
            "--references",
            action="append",
            metavar="DATASET",
            help="whose keys columns may refer to; may be repeated (default: small datasets without partitions)",
        )
        parser.add_argument("--keep", action="store_true", help="of a dataset: offer them on its page and in the API")
        parser.add_argument("--write", type=Path, metavar="FILE", help="write those that always held, as YAML")

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every suggestion with the share of windows that it held on, but for those that somebody has decided of."""
        name = options["table"]
        dataset = None
        if not names_files(name):
            super().prepare()
            dataset = dataset_named(name)
        if dataset is None and options["keep"]:
            raise UnableToRun("--keep is of a dataset of the catalog: of files, --write FILE writes checks")
        if dataset is None and options["references"]:
            raise UnableToRun("--references is of datasets: a file has no catalog beside it")
        try:
            keys = other_keys(dataset, options["references"]) if dataset else []
            past = windows_of_dataset(dataset, USUAL_WINDOWS, options) if dataset else windows_of_files(options)
            windows = [suggested_window(window) for window in past if window.rows.num_rows]
        except UnableToListFiles as error:
            raise UnableToRun(str(error.failure.detail)) from None
        if not windows:
            raise UnableToRun(f"{name} has no rows to suggest anything from")
        every = suggestions(windows, keys, has_past=dataset is not None)
        offered = still_offered(every, decided_of(dataset), asserted_of(dataset)) if dataset else every
        catalogued = dataset.full_name if dataset else None
        result = {
            "table": name,
            "windows": [window.key for window in windows],
            "suggestions": [as_json(suggestion, catalogued) for suggestion in offered],
            "left_out": len(every) - len(offered),
        }
        if options["write"]:
            always = [suggestion for suggestion in offered if suggestion.is_sound]
            options["write"].write_text(as_yaml(always, catalogued))
            result["written"] = len(always)
        if dataset and options["keep"]:
            reading = PastSuggestions(keys=tuple(window.key for window in windows), suggestions=tuple(offered))
            origin = command_origin()
            with transaction.atomic():
                count = note(dataset, reading, author=origin.actor, now=clock.now())
                record(origin, "suggestion.keep", kind="dataset", key=dataset, before=None, after={"kept": count})
            result["kept"] = count
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """A line for each, those that did not always hold marked."""
        printed = Printed("held", "assertion", "as", title=f"{result['table']}, {len(result['windows'])} windows")
        for row in result["suggestions"]:
            share = "untried" if row["held_share"] is None else f"{row['held']} of {row['tried']}"
            mark = "" if row["held_share"] in (1, None) else "[yellow]"
            printed.add_row(f"{mark}{share}", escape(row["assertion"]), escape(f"{row['why']} ({row['cost']})"))
        console.print(printed)
        if result["left_out"]:
            console.print(f"left out {result['left_out']} that are tests already, or that somebody rejected")
        if "written" in result:
            console.print(f"wrote {result['written']} that held on every window that tried them")
        if "kept" in result:
            console.print(f"kept {result['kept']} for the dataset's page, to be accepted or rejected there")
