"""``assay suggest``: tests that a table's own past leads to, each tried on windows that it was not fitted on."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table as Printed

from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import by_name, home, sensitive_columns
from assay.catalog.storages import FILES
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from execution_engine import storage
from execution_engine.engines.arrow.batches import batches_of
from execution_engine.engines.files.listing import UnableToListFiles, list_part, list_partitions
from execution_engine.engines.protocol import WHOLE, Part, Table
from execution_engine.profiles.gather import gathered_profile
from execution_engine.verification.data import name_of, names_files, table_of
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

USUAL_WINDOWS = 30
MOST_ROWS = 2_000_000  # in which keys of several columns are looked for
PARTS = 10  # of a file without partitions, in the order of its rows


class Command(Base):
    """What to test of a table that nobody wrote a rule for."""

    help = "Suggest tests from a table's past: fitted on the first 80 % of its windows, tried on the rest."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which table, which windows, and where the suggestions go."""
        parser.add_argument("table", help="a dataset of the catalog; or a path or URL of parquet, ORC, CSV or JSON")
        parser.add_argument("--from", dest="start", type=datetime.fromisoformat, help="of a dataset, in ISO 8601")
        parser.add_argument("--to", dest="end", type=datetime.fromisoformat, help="of a dataset (default: now)")
        parser.add_argument("--by", default="", metavar="COLUMN,…", help="of a file: the columns that make a window")
        parser.add_argument("--write", type=Path, metavar="FILE", help="write those that always held, as YAML")

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every suggestion with the share of windows that it held on."""
        name = options["table"]
        try:
            if names_files(name):
                dataset = None
                windows = list(_of_files(name, options["by"], quiet=options["json"]))
            else:
                super().prepare()
                dataset = _dataset(name)
                windows = list(_of_dataset(dataset, options))
        except UnableToListFiles as error:
            raise UnableToRun(str(error.failure.detail)) from None
        if not windows:
            raise UnableToRun(f"{name} has no rows to suggest anything from")
        found = suggestions(windows)
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


def _dataset(name: str) -> Dataset:
    if (found := by_name(name)) is None:
        raise UnableToRun(f"there is no file and no dataset {name!r}; `assay sync` reads the catalog")
    return found


def _of_dataset(dataset: Dataset, options: dict[str, Any]) -> Iterator[SuggestedWindow]:
    """The last partitions of a dataset, the oldest first, without its sensitive columns."""
    partitioning, now = dataset.partitioning, clock.now()
    if partitioning is None:
        raise UnableToRun(f"{dataset.full_name} has no partitions, and so no past to suggest anything from")
    try:
        table = storage.table_of(dataset, home(dataset))
    except UnableToUseLocation as error:
        raise UnableToRun(str(error)) from None
    if table.storage not in FILES:
        raise UnableToRun(f"{dataset.full_name} is kept as {table.storage}: only files are profiled so far")
    end = min(_instant(options["end"]) or now, now)
    start = _instant(options["start"])
    last = partitioning.previous(partitioning.at(end), USUAL_WINDOWS) if start is None else ()
    windows = partitioning.between(start, end) if start else last
    engine = storage.engine_of_storage(table.storage)
    hidden = {name.casefold() for name in sensitive_columns(dataset)} | {str(dataset.partition_column).casefold()}
    for window in _tracked(windows, quiet=options["json"]):
        rows = _read(table, storage.part_of(dataset, window, engine, table))
        if rows is not None and rows.num_rows:
            kept = rows.select([name for name in rows.column_names if name.casefold() not in hidden])
            yield _window(partitioning.key(window), kept, start=window.start.timestamp())


def _of_files(name: str, by: str, *, quiet: bool) -> Iterator[SuggestedWindow]:
    """The partitions that folders name; else the rows with the same values in ``by``, or tenths of all rows."""
    table = table_of(name, name_of(name))
    keys = list_partitions(_partitioned(table)) if not by else None
    if keys:
        for key in _tracked(keys, quiet=quiet):
            rows = _read(_partitioned(table), Part(keys=(key,)))
            if rows is not None:
                yield _window(key, rows.drop_columns([_partitioned(table).partition_column or ""]))
        return
    rows = _read(table, WHOLE)
    if rows is None or not rows.num_rows:
        return
    for key, part in _by_columns(rows, by.split(",")) if by else _tenths(rows):
        yield _window(key, part)


def _partitioned(table: Table) -> Table:
    """The table by the first column that its folders name."""
    columns = list_part(table, WHOLE).folder_columns
    return Table(**{**table.__dict__, "partition_column": columns[0] if columns else None})


def _read(table: Table, part: Part) -> pa.Table | None:
    listing = list_part(table, part)
    batches = list(batches_of(table, listing)) if listing.files else []
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def _by_columns(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    if missing := [name for name in names if name not in rows.column_names]:
        raise UnableToRun(f"--by names {missing[0]}, which is no column: {', '.join(rows.column_names)}")
    groups = rows.group_by(list(names)).aggregate([]).sort_by([(name, "ascending") for name in names])
    for group in groups.to_pylist():
        part = rows
        for name in names:
            column = part.column(name)
            part = part.filter(pc.is_null(column) if group[name] is None else pc.equal(column, group[name]))
        yield "/".join(str(group[name]) for name in names), part.drop_columns(list(names))


def _tenths(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    size = max(1, -(-rows.num_rows // PARTS))
    for number, start in enumerate(range(0, rows.num_rows, size), 1):
        yield f"part {number}", rows.slice(start, size)


def _window(key: str, rows: pa.Table, start: float | None = None) -> SuggestedWindow:
    kept = rows if rows.num_rows <= MOST_ROWS // USUAL_WINDOWS else None
    return SuggestedWindow(key=key, profile=gathered_profile([rows], start), rows=kept)


def _tracked(some: Sequence[Any], *, quiet: bool) -> Iterator[Any]:
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield from some
    else:
        yield from track(some, "reading windows", console=console, transient=True)


def _instant(given: datetime | None) -> datetime | None:
    return given.replace(tzinfo=UTC) if given is not None and given.tzinfo is None else given


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
