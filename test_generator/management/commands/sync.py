"""``assay sync``: read the catalog and reconcile the tests."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay import clock
from assay.catalog.services import UnableToApply
from assay.catalog.yaml_provider import UnableToReadCatalog, load
from assay.commands import Command as Base
from assay.commands import UnableToRun
from assay.exit_codes import ExitCode
from assay.models import Dataset, DataTest
from test_generator import tasks
from test_generator.services import UnableToWrite, sync


class Command(Base):
    """A full sync with a YAML catalog."""

    help = "Read the catalog from YAML, write what changed, and reconcile the tests of what changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path, help="the catalog, as docs/catalog.md says")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What was created, changed, and is gone; and how many tests are live."""
        try:
            applied = sync(load(options["file"]), source=f"yaml:{options['file'].name}", now=clock.now())
        except (UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
            raise UnableToRun(str(error)) from None
        while tasks.reconcile():
            pass
        return ExitCode.HELD, {
            "created": list(applied.created),
            "changed": list(applied.changed),
            "missing": list(applied.missing),
            "datasets": Dataset.objects.filter(missing_since__isnull=True).count(),
            "data_tests": DataTest.objects.filter(retired_at__isnull=True).count(),
        }

    def show(self, console: Console, result: Any) -> None:
        """One line per kind of change."""
        for what in ("created", "changed", "missing"):
            console.print(f"{what:>8}: {', '.join(result[what]) or 'none'}")
        console.print(f"{result['datasets']} datasets with {result['data_tests']} live tests")
