"""A catalog of the tables that lie in a folder: what their files say of columns, keys and partitions, as YAML."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pyarrow.fs import FileSelector, FileType

from assay.catalog.partitions import partition_entry
from assay.catalog.profile import PARQUET
from assay.iceberg_catalogs import CATALOGS, split_name
from execution_engine.engines.catalogs.locate import UnableToAskCatalog, metadata_location, tables_of
from execution_engine.engines.files.footers import assertion_columns, read_columns, spark_type_of
from execution_engine.engines.files.listing import (
    HoldsTables,
    Listing,
    UnableToListFiles,
    kind_of,
    kind_of_folder,
    list_part,
    list_partitions,
    open_root,
    refusal_of,
    unable_to_list,
)
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import WHOLE, Part, Table

DOUBLED_QUOTE = b'""'
MOST_BYTES = 1 << 20  # of a CSV file that are looked at for doubled quotes
MOST_ROWS = 1_000_000  # in which a key must be unique to be taken for one


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """One table as the catalog has it, and what people should know of how it was read."""

    name: str
    dataset: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FolderCatalog:
    """The tables of a folder, and what else lies there with why it is left out."""

    tables: tuple[TableEntry, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_yaml(self, *, source: str) -> str:
        """The catalog file."""
        head = "# Written by `assay init`. Correct what it could not know: owners, tiers, keys, time zones.\n"
        parts = [head, yaml.safe_dump({"source": source}), "datasets:\n"]
        for table in self.tables:
            parts += [f"  # {note}\n" for note in table.notes]
            text = yaml.safe_dump([table.dataset], sort_keys=False, default_flow_style=None, width=110)
            parts.append(re.sub("^", "  ", text, flags=re.MULTILINE).rstrip() + "\n")
        return "".join(parts)


def read_folder(folder: str, *, owner: str, tier: int, datacenter: str, base: Path) -> FolderCatalog:
    """What the tables of a folder look like, of this machine or of a store, or of ``iceberg://CATALOG``.

    Locations of this machine are written as they are seen from ``base``. Raises UnableToListFiles, and
    UnableToAskCatalog.
    """
    fields = {"owner": owner, "tier": tier}
    if folder.startswith(CATALOGS):
        catalog = f"{CATALOGS}{split_name(folder)[0]}"
        names = [name.rpartition(".") for name in tables_of(folder)]
        of_catalog = [(own, name, f"{catalog}/{own}{dot}{name}") for own, dot, name in names]
        return _catalog_of(of_catalog, base, fields, datacenter)
    root = open_root(folder)
    try:
        infos = root.filesystem.get_file_info(FileSelector(root.path))
    except (pa.ArrowException, OSError) as error:
        raise unable_to_list(Table(name=folder, storage="parquet", location=folder), error) from error
    below = sorted((info for info in infos if info.base_name[0] not in "._"), key=lambda info: info.path)
    folders = [info for info in below if info.type is FileType.Directory]
    is_table = folders and all("=" in info.base_name if info in folders else kind_of(info.base_name) for info in below)
    namespace = "files" if is_table else _name(root.path)
    paths = [root.path] if is_table else [info.path for info in below]
    places = [(namespace, _name(path), root.place(path)) for path in paths]
    return _catalog_of(places, base, fields, datacenter)


def _catalog_of(
    places: Sequence[tuple[str, str, str]], base: Path, fields: dict[str, Any], datacenter: str
) -> FolderCatalog:
    """The tables at these places, each with its namespace and name, and those in the folders of a warehouse."""
    tables, left_out, pending = [], [], list(places)
    while pending:
        namespace, name, place = pending.pop(0)
        try:
            table = _described(place, namespace, name, base, fields, datacenter)
        except HoldsTables:  # the folders of a warehouse are namespaces
            pending += [(name, _name(below), below) for below in _folders_in(place)]
            continue
        except (UnableToListFiles, UnableToAskCatalog, pa.ArrowException, OSError) as error:
            left_out.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        if table is None:
            left_out.append(f"{name}: it has no files of parquet, ORC, CSV or JSON, and no log of Iceberg or Delta")
        else:
            tables.append(table)
    return FolderCatalog(tables=tuple(sorted(tables, key=lambda table: table.name)), left_out=tuple(left_out))


def _folders_in(place: str) -> list[str]:
    root = open_root(place)
    infos = root.filesystem.get_file_info(FileSelector(root.path))
    return [root.place(info.path) for info in infos if info.type is FileType.Directory]


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _described(
    place: str, namespace: str, name: str, base: Path, fields: dict[str, Any], datacenter: str
) -> TableEntry | None:
    """The table at a place; None where it has no files."""
    is_named = place.startswith(CATALOGS)
    storage = "iceberg" if is_named else kind_of_folder(place)
    if refusal := refusal_of(place, storage or ""):
        raise OSError(refusal)
    table = Table(name=name, storage=storage or "parquet", location=metadata_location(place) if is_named else place)
    listing = list_part(table, WHOLE)  # it also says which folder holds tables of its own
    if storage is None or not listing.files:
        return None
    doubles_quotes = False  # whether the newest file does, as spreadsheets and databases write them
    if storage == "csv":
        with listing.root.filesystem.open_input_stream(listing.newest.path) as file:
            doubles_quotes = DOUBLED_QUOTE in file.read(MOST_BYTES)
    partition, newest, notes = _partition(table, listing)
    if storage in PARQUET:
        columns = {name: type_ for name, type_ in assertion_columns(read_columns(newest)).items() if "." not in name}
    else:  # without those in the names of folders
        schema = next(batches_of(table, newest)).schema
        own = [column for column in schema if column.name not in newest.folder_columns]
        columns = {column.name: spark_type_of(column.type) or "string" for column in own}
    key = _unique_column(name, table, newest)
    if key:
        notes.append(f"{key} is unique in {'the newest partition' if partition else 'the newest file'}: is it the key?")
    is_below = "://" not in place and Path(place).is_relative_to(base)
    location = str(Path(place).relative_to(base)) if is_below else place
    replica: dict[str, Any] = {"datacenter": datacenter, "storage": storage, "location": location}
    dataset = {
        "name": ".".join(map(_word, (*namespace.split("."), name) if is_named else (namespace, name))),
        **fields,
        "columns": columns,
        **({"primary_key": [key]} if key else {}),
        **({"partition": partition} if partition else {}),
        "replicas": [replica | ({"options": {"escape": '"'}} if doubles_quotes else {})],
    }
    return TableEntry(name=str(dataset["name"]), dataset=dataset, notes=tuple(notes))


def _word(name: str) -> str:
    """A name of the catalog from that of a file or folder."""
    stem = name.split(".")[0] if kind_of(name) else name
    return re.sub(r"\W+", "_", stem).strip("_") or "data"


def _partition(table: Table, listing: Listing) -> tuple[dict[str, str] | None, Listing, list[str]]:
    """How the table is cut, the files of its newest partition or the newest file, and why it is not cut."""
    folders = listing.partition_columns
    if listing.snapshot:  # such as at_day, the day of a time
        columns = {name.lower() for name in folders}
        folders += tuple(name for name in listing.snapshot.partition_fields if name not in columns)
    note = "no folders such as day=2026-01-31 name partitions, so it is tested as a whole"
    if len(folders) > 1 and not listing.snapshot:
        note = f"{' and '.join(folders)} are folders in folders, which are no partitions here"
    elif folders:
        for column in folders:
            cut = replace(table, partition_column=column)
            keys = list_partitions(cut) or ()
            if keys and (partition := partition_entry(column, keys)):
                parts = (list_part(cut, Part(keys=(key,))) for key in sorted(keys, reverse=True))
                return partition, next(part for part in parts if part.files), []  # the newest may be empty
        note = f"partitions by {' and '.join(folders)} name no time, so it is tested as a whole"
    return None, replace(listing, files=(listing.newest,)), [note]


def _unique_column(name: str, table: Table, listing: Listing) -> str | None:
    """A column that is called as keys are, and whose values come once each; None where there is none."""
    rows = pa.Table.from_batches(list(islice(batches_of(table, listing), 1000)))
    if not 0 < rows.num_rows <= MOST_ROWS:
        return None
    own = _word(name).lower()
    first = ("id", f"{own}_id", f"{own.removesuffix('s')}_id", "uuid", "key")
    names: list[str] = rows.column_names
    likely = [name for name in names if name.lower() in first or name.lower().endswith("_id")]
    likely.sort(key=lambda name: first.index(name.lower()) if name.lower() in first else len(first))
    for column in likely:
        values = rows.column(column)
        with suppress(pa.ArrowNotImplementedError):
            if not values.null_count and len(values.unique()) == rows.num_rows:
                return column
    return None


# Two tables of a shop for a first try: orders that came every day of the last two weeks, and the customers.

DAYS = 14
ORDERS = 1000  # of a day, or so
CUSTOMERS = 200


class UnableToWriteSample(Exception):
    """The folder is somebody's."""


def write_sample(folder: Path) -> None:
    """Write the tables into an empty or new folder; raises UnableToWriteSample for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnableToWriteSample(f"{folder} is not empty: name a new folder for the sample")
    chance, today = Random(1), datetime.now(UTC).date()
    number = 0
    tables: dict[str, dict[str, list[Any]]] = {}
    for ago in range(DAYS, 0, -1):
        day = today - timedelta(days=ago)
        ids = range(number, number + ORDERS + chance.randrange(-50, 50))
        number = ids.stop
        tables[f"orders/day={day}"] = {
            "order_id": list(ids),
            "customer_id": [chance.randrange(CUSTOMERS) for _ in ids],
            "amount": [round(chance.lognormvariate(3, 0.5), 2) for _ in ids],
        }
    emails = [f"customer{at}@example.com" for at in range(CUSTOMERS)]
    tables["customers"] = {"customer_id": list(range(CUSTOMERS)), "email": emails}
    for name, columns in tables.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / name / "part-0.parquet")
