"""``assay plan``: what a sync would change."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console
from rich.table import Table

from assay import clock
from assay.catalog.services import UnableToApply
from assay.catalog.yaml_provider import UnableToReadCatalog, load
from assay.commands import Command as Base
from assay.commands import UnableToRun
from assay.exit_codes import ExitCode
from assay.models import Dataset
from test_generator.services import UnableToWrite, sync
from test_generator.services.generate import changes, generate


class Command(Base):
    """A sync that is rolled back."""

    help = "Show the tests that `assay sync` would create, revise, revive and retire, and the gaps it would leave."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path, help="the catalog, as docs/catalog.md says")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The changes per dataset; nothing is kept."""
        with transaction.atomic():
            try:
                sync(load(options["file"]), source=f"yaml:{options['file'].name}", now=clock.now())
                rows = [_row(dataset) for dataset in Dataset.objects.order_by("full_name")]
            except (UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
                raise UnableToRun(str(error)) from None
            finally:
                transaction.set_rollback(True)
        return ExitCode.HELD, {"datasets": [row for row in rows if row["changes"] or row["gaps"]]}

    def show(self, console: Console, result: Any) -> None:
        """A table of the changes."""
        table = Table("dataset", "change", "test", "assertion or reason")
        for row in result["datasets"]:
            for change in row["changes"]:
                table.add_row(row["dataset"], change["change"], change["name"], change["assertion"])
            for gap in row["gaps"]:
                table.add_row(row["dataset"], "gap", gap["category"], gap["reason"])
        console.print(table if table.row_count else "Nothing would change.")


def _row(dataset: Dataset) -> dict[str, Any]:
    generation = generate(dataset)
    wanted = changes(dataset, generation, clock.now())
    named = [("create", each.name, each.assertion) for each in wanted.create]
    named += [("revise", each.wanted.name, each.wanted.assertion) for each in wanted.revise]
    named += [("revive", each.wanted.name, each.wanted.assertion) for each in wanted.revive]
    named += [("retire", each.name, "") for each in wanted.retire]
    return {
        "dataset": dataset.full_name,
        "changes": [{"change": change, "name": name, "assertion": text} for change, name, text in named],
        "gaps": [{"category": gap.category, "reason": gap.reason} for gap in generation.gaps],
    }
