"""``assay suggest``: tests that a table's own past leads to, each tried on windows that it was not fitted on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_windows import (
    FileWindow,
    add_window_arguments,
    dataset_named,
    rows_of_dataset,
    windows_of_dataset,
    windows_of_files,
)
from execution_engine.profiles.gather import gathered_profile
from execution_engine.verification.data import names_files
from test_generator.suggestions.inclusions import Key, keys_of
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

USUAL_WINDOWS = 30
MOST_ROWS = 2_000_000  # in which keys and what columns tell of each other are looked for
MOST_REFERENCES = 50  # datasets without partitions
MOST_BYTES = 1 << 26  # of files of each


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
        parser.add_argument("--write", type=Path, metavar="FILE", help="write those that always held, as YAML")

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every suggestion with the share of windows that it held on."""
        name = options["table"]
        try:
            if names_files(name):
                dataset, past, keys = None, windows_of_files(options), []
                if options["references"]:
                    raise UnableToRun("--references is of datasets: a file has no catalog beside it")
            else:
                super().prepare()
                dataset = dataset_named(name)
                past = windows_of_dataset(dataset, USUAL_WINDOWS, options)
                keys = _keys(dataset, options["references"])
            windows = [_window(window) for window in past if window.rows.num_rows]
        except UnableToListFiles as error:
            raise UnableToRun(str(error.failure.detail)) from None
        if not windows:
            raise UnableToRun(f"{name} has no rows to suggest anything from")
        found = suggestions(windows, keys)
        result = {
            "table": name,
            "windows": [window.key for window in windows],
            "suggestions": [_shown(one, dataset) for one in found],
        }
        if options["write"]:
            always = [one for one in found if one.held == one.tried and one.tried]
            options["write"].write_text(_yaml(always, dataset))
            result["written"] = len(always)
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """A line for each, those that did not always hold marked."""
        printed = Printed("held", "assertion", "as", title=f"{result['table']}, {len(result['windows'])} windows")
        for one in result["suggestions"]:
            share = "untried" if one["held_share"] is None else f"{one['held']} of {one['tried']}"
            mark = "" if one["held_share"] in (1, None) else "[yellow]"
            printed.add_row(f"{mark}{share}", escape(one["assertion"]), escape(f"{one['why']} ({one['cost']})"))
        console.print(printed)
        if "written" in result:
            console.print(f"wrote {result['written']} that held on every window that tried them")


def _keys(dataset: Dataset, named: list[str] | None) -> list[Key]:
    """Those of the datasets that are named, or of the first small ones without partitions that can be read."""
    if named is not None:
        others = [dataset_named(name) for name in named]
    else:
        unpartitioned = Dataset.objects.filter(partition_column="").exclude(id=dataset.id)
        others = list(unpartitioned.prefetch_related("replicas").order_by("namespace", "name")[:MOST_REFERENCES])
    keys = []
    for other in others:
        try:
            rows = rows_of_dataset(other, MOST_BYTES)
        except (UnableToRun, UnableToListFiles):
            if named is not None:
                raise
            continue
        if rows is None and named is not None:
            raise UnableToRun(f"{other.full_name} has no files, or more than {MOST_BYTES >> 20} MB of them")
        keys += [] if rows is None else keys_of(other.full_name, rows)
    return keys


def _window(window: FileWindow) -> SuggestedWindow:
    kept = window.rows if window.rows.num_rows <= MOST_ROWS // USUAL_WINDOWS else None
    return SuggestedWindow(key=window.key, profile=gathered_profile([window.rows], window.start), rows=kept)


def _shown(one: Suggestion, dataset: Dataset | None) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "columns": list(one.columns),
        "assertion": one.assertion,
        "why": one.why,
        "fitted": one.fitted,
        "held": one.held,
        "tried": one.tried,
        "held_share": one.held_share,
        "cost": one.cost,
        "python": f"Check().holds({one.assertion!r})",
        "yaml": _yaml([one], dataset),
    }


def _yaml(some: Sequence[Suggestion], dataset: Dataset | None) -> str:
    """A catalog file's tests, or, of a file, what ``assay verify --checks`` reads."""
    if dataset is None:
        return yaml.safe_dump({"checks": [one.assertion for one in some]}, sort_keys=False, width=110)
    tests = [
        {"dataset": dataset.full_name, "name": one.name, "assertion": one.assertion, "severity": "soft"} for one in some
    ]
    return yaml.safe_dump({"tests": tests}, sort_keys=False, width=110)
