"""``assay init``: write a catalog of the tables that lie in a folder."""

from getpass import getuser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from execution_engine.engines.catalogs.locate import UnableToAskCatalog
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_catalog import UnableToWriteSample, read_folder, write_sample


class Command(Base):
    """A catalog that people correct, and then sync."""

    help = (
        "Write a catalog of the tables in a folder: each folder or file of parquet, ORC, CSV or JSON, and each table "
        "of Iceberg or Delta. Columns, partitions in folders such as day=2026-01-31, and a likely key are read from "
        "the files."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The folder, and what its files cannot say."""
        parser.add_argument(
            "folder",
            help="the folder in which the tables lie, or its URL in an object store; or iceberg://CATALOG[/namespace]",
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
        folder = options["folder"]
        is_local = "://" not in folder
        if options["sample"] and not is_local:
            raise UnableToRun(f"{folder} is in a store: name a folder of this machine for the sample")
        try:
            if options["sample"]:
                write_sample(Path(folder))
        except UnableToWriteSample as error:
            raise UnableToRun(str(error)) from None
        if is_local and not Path(folder).is_dir():
            raise UnableToRun(f"there is no folder {folder}: name the one in which your tables lie")
        output = (options["output"] or Path(folder if is_local else ".") / "catalog.yaml").resolve()
        if output.exists():
            raise UnableToRun(f"{output} is there already: correct it, or name another file with --output")
        fields = {name: options[name] for name in ("owner", "tier", "datacenter")}
        place = str(Path(folder).resolve()) if is_local else folder.rstrip("/")
        try:
            folder_catalog = read_folder(place, **fields, base=output.parent)
        except UnableToListFiles as error:
            raise UnableToRun(error.failure.detail) from None
        except UnableToAskCatalog as error:
            raise UnableToRun(str(error)) from None
        if not folder_catalog.tables:
            raise UnableToRun(f"{folder} has no table: {'; '.join(folder_catalog.left_out) or 'it is empty'}")
        output.write_text(
            folder_catalog.to_yaml(source=output.stem if output.stem != "catalog" else place.rpartition("/")[2])
        )
        return ExitCode.HELD, {
            "output": str(output),
            "tables": [table.dataset | {"notes": table.notes} for table in folder_catalog.tables],
            "left_out": folder_catalog.left_out,
        }

    def show(self, console: Console, result: Any) -> None:
        """A line for each table, and what to do next."""
        for table in result["tables"]:
            partition = table.get("partition")
            cut = f"one partition a {partition['granularity']} by {partition['column']}" if partition else "a whole"
            key = ", ".join(table.get("primary_key", ())) or "none found"
            console.print(f"{table['name']}: {len(table['columns'])} columns, {cut}, key: {key}", highlight=False)
        for line in result["left_out"]:
            console.print(f"left out {line}", style="yellow", soft_wrap=True, highlight=False, markup=False)
        console.print(f"written: {result['output']}\nnext: assay sync {result['output']}", soft_wrap=True)
