"""``assay init``: write a catalog of the tables that lie in a folder, or that a provider tells of."""

from getpass import getuser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay.catalog.tellings import UnableToReadSource
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.provider_entries import ProviderEntry
from execution_engine.engines.catalogs.locate import UnableToAskCatalog
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_catalog import UnableToWriteSample, read_folder, write_sample
from execution_engine.provider_catalog import entry_of, read_catalog


class Command(Base):
    """A catalog that people correct, and then sync."""

    help = (
        "Write a catalog of the tables in a folder: each folder or file of parquet, ORC, CSV or JSON, and each table "
        "of Iceberg or Delta. Columns, partitions in folders such as day=2026-01-31, and a likely key are read from "
        "the files. Of a provider of ASSAY_PROVIDERS, or one such as kind=dbt target=target, write what it tells."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The folder, and what its files cannot say."""
        parser.add_argument(
            "folder",
            nargs="+",
            help="the folder in which the tables lie, or its URL in an object store; or iceberg://CATALOG[/namespace]; "
            "or the name of a provider, or its keys: kind=iceberg catalog=lake",
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="default: catalog.yaml in the folder; of a store, in this one"
        )
        parser.add_argument("--owner", default=f"{getuser()}@localhost", help="who is told (default %(default)s)")
        parser.add_argument("--tier", type=int, choices=range(6), default=3, help="0 (critical) to 5 (default 3)")
        parser.add_argument("--datacenter", default="local", help="where the files lie (default local)")
        parser.add_argument("--sample", action="store_true", help="first write two tables of a shop into the folder")

    def prepare(self) -> None:
        """Nothing: no database is asked."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The file, the tables in it, and what was left out."""
        provider = _provider(options["folder"], options["datacenter"])
        fields = {name: options[name] for name in ("owner", "tier")}
        if provider is None:
            return ExitCode.HELD, _of_folder(options["folder"][0], options, fields)
        output = _free_output(options["output"] or Path("catalog.yaml"))
        try:
            provider_catalog = read_catalog(provider, fields)
        except UnableToReadSource as error:
            raise UnableToRun(f"{provider.name}: {error}") from None
        if not provider_catalog.sections["datasets"]:
            why = "; ".join(provider_catalog.left_out) or "it tells of none"
            raise UnableToRun(f"{provider.name} has no table that a catalog file could have: {why}")
        output.write_text(provider_catalog.to_yaml(provider))
        tables = [{**dataset, "notes": ()} for dataset in provider_catalog.sections["datasets"]]
        return ExitCode.HELD, {"output": str(output), "tables": tables, "left_out": provider_catalog.left_out}

    def show(self, console: Console, result: Any) -> None:
        """A line for each table, and what to do next."""
        for table in result["tables"]:
            partition = table.get("partition")
            cut = f"one partition a {partition['granularity']} by {partition['column']}" if partition else "a whole"
            key = ", ".join(table.get("primary_key", ())) or "none found"
            columns = len(table.get("columns", ()))
            console.print(f"{table['name']}: {columns} columns, {cut}, key: {key}", highlight=False)
        for line in result["left_out"]:
            console.print(f"left out {line}", style="yellow", soft_wrap=True, highlight=False, markup=False)
        console.print(f"written: {result['output']}\nnext: assay sync {result['output']}", soft_wrap=True)


def _provider(words: list[str], datacenter: str) -> ProviderEntry | None:
    """The provider that is named, or written as KEY=VALUE; None for a folder."""
    try:
        listed = {provider.name: provider for provider in config().provider_list}
        if any(word.startswith("kind=") for word in words):
            return entry_of(words, datacenter)
    except ValueError as error:
        raise UnableToRun(str(error)) from None
    if len(words) > 1:
        raise UnableToRun(f"{words[1]!r} is one folder too many: name one folder, or a provider as kind=… KEY=VALUE")
    return None if Path(words[0]).is_dir() else listed.get(words[0])


def _free_output(path: Path) -> Path:
    output = path.resolve()
    if output.exists():
        raise UnableToRun(f"{output} is there already: correct it, or name another file with --output")
    return output


def _of_folder(folder: str, options: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """What was written of a folder, or of a catalog of Iceberg."""
    is_local = "://" not in folder
    if options["sample"] and not is_local:
        raise UnableToRun(f"{folder} is in a store: name a folder of this machine for the sample")
    try:
        if options["sample"]:
            write_sample(Path(folder))
    except UnableToWriteSample as error:
        raise UnableToRun(str(error)) from None
    if is_local and not Path(folder).is_dir():
        raise UnableToRun(f"there is no folder {folder}: name the one in which your tables lie, or a provider")
    output = _free_output(options["output"] or Path(folder if is_local else ".") / "catalog.yaml")
    place = str(Path(folder).resolve()) if is_local else folder.rstrip("/")
    try:
        folder_catalog = read_folder(place, **fields, datacenter=options["datacenter"], base=output.parent)
    except UnableToListFiles as error:
        raise UnableToRun(error.failure.detail) from None
    except UnableToAskCatalog as error:
        raise UnableToRun(str(error)) from None
    if not folder_catalog.tables:
        raise UnableToRun(f"{folder} has no table: {'; '.join(folder_catalog.left_out) or 'it is empty'}")
    output.write_text(
        folder_catalog.to_yaml(source=output.stem if output.stem != "catalog" else place.rpartition("/")[2])
    )
    return {
        "output": str(output),
        "tables": [table.dataset | {"notes": table.notes} for table in folder_catalog.tables],
        "left_out": folder_catalog.left_out,
    }
