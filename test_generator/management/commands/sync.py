"""``assay sync``: read the catalog and reconcile the tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.accounts import record
from assay.catalog.services import Applied, UnableToApply
from assay.catalog.tellings import SourceTelling, UnableToReadSource
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset, DataTest, Source
from assay.provider_entries import ProviderEntry
from execution_engine.providers import read_provider
from execution_engine.selectors import idle_datacenters
from test_generator import tasks
from test_generator.models import RuleTemplate
from test_generator.services import UnableToWrite, note_read, provider_named, remove_source, sync_files, sync_telling
from test_generator.sync import idle_bindings
from test_generator.templates.services import as_json, counts_of, template_summaries

SHOWN = 20  # names of a kind of change, and lines on what is left out
WHATS = ("created", "changed", "missing")


class Command(Base):
    """A full sync with a YAML catalog, or a provider."""

    help = "Read the catalog from YAML, or a provider; write what changed, and reconcile the tests of that."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file or folder, or the source to take away."""
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("path", nargs="?", type=Path, help="the catalog: a file, or a folder of *.yaml files")
        what.add_argument("--provider", metavar="NAME", help="read a provider of ASSAY_PROVIDERS now")
        what.add_argument("--remove-source", metavar="NAME", help="take a source away with all that it tells")
        parser.add_argument(
            "--source", default="", metavar="NAME", help="the name of the source (default: by its path)"
        )
        parser.add_argument(
            "--allow-removal", action="store_true", help="let more than a tenth of the source's datasets go at once"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What was created, changed, and is gone; how many tests are live, and how many each template makes."""
        try:
            name, applied, left_out = _synced(options)
        except (UnableToReadSource, UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
            raise UnableToRun(str(error)) from None
        while tasks.reconcile():
            pass
        return ExitCode.HELD, {
            "source": name,
            **{what: list(getattr(applied, what)) for what in WHATS},
            "left_out": list(left_out),
            "datasets": Dataset.objects.filter(missing_since__isnull=True).count(),
            "data_tests": DataTest.objects.filter(retired_at__isnull=True).count(),
            "templates": [
                as_json(template) for template in template_summaries(RuleTemplate.objects.filter(source=name))
            ],
            "idle_bindings": [str(binding) for binding in idle_bindings(name)],
            "idle_datacenters": idle_datacenters(),
        }

    def show(self, console: Console, result: Any) -> None:
        """One line per kind of change."""
        for what in WHATS:
            names, more = result[what][:SHOWN], len(result[what]) - SHOWN
            tail = f" and {more} more, which --json names" if more > 0 else ""
            console.print(f"{what:>8}: {', '.join(names) or 'none'}{tail}")
        print_left_out(console, result["left_out"])
        for template in result["templates"]:
            console.print(f"template {template['name']}: {counts_of(template)}", highlight=False, markup=False)
        for binding in result["idle_bindings"]:
            line = f"binding {binding}: there is no live test of that name, so it changes nothing"
            console.print(line, style="yellow", soft_wrap=True, highlight=False, markup=False)
        if places := result["idle_datacenters"]:
            needed = "nothing is tested there until a worker runs beside that data, with -Q assay.DATACENTER"
            line = f"no worker has taken anything yet in {', '.join(places)}: {needed} (`make service` starts them)"
            console.print(line, style="yellow", soft_wrap=True, highlight=False, markup=False)
        datasets, tests = result["datasets"], result["data_tests"]
        console.print(f"{datasets} dataset{'s' * (datasets != 1)} with {tests} live test{'s' * (tests != 1)}")


def print_left_out(console: Console, lines: Sequence[str]) -> None:
    """What a provider tells that cannot be used, a line each, as long as a screen holds them."""
    for line in lines[:SHOWN]:
        console.print(f"left out: {line}", style="yellow", soft_wrap=True, highlight=False, markup=False)
    if (more := len(lines) - SHOWN) > 0:
        console.print(f"left out: {more} more, which --json names", style="yellow", highlight=False)


def _synced(options: dict[str, Any]) -> tuple[str, Applied, tuple[str, ...]]:
    """The source as it is now, what changed and what of it is left out."""
    provider = provider_named(options["provider"], options["source"]) if options["provider"] else None
    telling = read_provider(provider) if provider else None  # outside of a transaction, as it may take minutes
    with transaction.atomic():
        return _written(options, provider, telling)


def _written(
    options: dict[str, Any], provider: ProviderEntry | None, telling: SourceTelling | None
) -> tuple[str, Applied, tuple[str, ...]]:
    """The same, and in the audit who brought it there."""
    now, name, left_out = clock.now(), options["remove_source"], tuple[str, ...]()
    if provider and telling:
        removal = options["allow_removal"]
        applied, left_out = sync_telling(telling, provider, allow_removal=removal, now=now)
        note_read(provider.name, left_out, now)
        name, action = provider.name, "catalog.synced"
    elif name:
        names = {*Source.objects.values_list("name", flat=True), *Dataset.objects.values_list("source", flat=True)}
        if name not in names:
            raise UnableToRun(f"there is no source {name!r}; known are {', '.join(sorted(names)) or 'none'}")
        applied, action = remove_source(name, now=now), "catalog.removed"
    else:
        removal = options["allow_removal"]
        source, applied = sync_files(options["path"], name=options["source"], allow_removal=removal, now=now)
        name, action = source.name, "catalog.synced"
    details = {"path": str(options["path"])} if options["path"] else {}
    after = {what: list(getattr(applied, what)) for what in (*WHATS, "templates", "bindings")}
    record(command_origin(), action, kind="catalog", key=name, before=None, after=after, details=details)
    return name, applied, left_out
