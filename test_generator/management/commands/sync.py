"""``assay sync``: read the catalog and reconcile the tests."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.audit import record
from assay.catalog.services import Applied, UnableToApply
from assay.catalog.yaml_provider import UnableToReadCatalog, load
from assay.command_origin import command_origin
from assay.commands import Command as Base
from assay.commands import UnableToRun
from assay.exit_codes import ExitCode
from assay.models import Dataset, DataTest
from test_generator import tasks
from test_generator.services import UnableToWrite, sync

WHATS = ("created", "changed", "missing")


class Command(Base):
    """A full sync with a YAML catalog."""

    help = "Read the catalog from YAML, write what changed, and reconcile the tests of what changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path, help="the catalog, as docs/catalog.md says")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What was created, changed, and is gone; and how many tests are live."""
        try:
            applied = _synced(options["file"])
        except (UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
            raise UnableToRun(str(error)) from None
        while tasks.reconcile():
            pass
        return ExitCode.HELD, {
            **_told(applied),
            "datasets": Dataset.objects.filter(missing_since__isnull=True).count(),
            "data_tests": DataTest.objects.filter(retired_at__isnull=True).count(),
        }

    def show(self, console: Console, result: Any) -> None:
        """One line per kind of change."""
        for what in WHATS:
            console.print(f"{what:>8}: {', '.join(result[what]) or 'none'}")
        console.print(f"{result['datasets']} datasets with {result['data_tests']} live tests")


@transaction.atomic
def _synced(file: Path) -> Applied:
    """The catalog as it is now, and in the audit who brought it there."""
    applied = sync(load(file), source=f"yaml:{file.name}", now=clock.now())
    record(command_origin(), "catalog.synced", kind="catalog", key=file.name, before=None, after=_told(applied))
    return applied


def _told(applied: Applied) -> dict[str, list[str]]:
    return {what: list(getattr(applied, what)) for what in WHATS}
