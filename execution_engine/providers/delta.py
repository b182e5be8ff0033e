"""The tables of Delta that lie in a folder of this machine or of a store, or in folders below it, by their logs."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pyarrow.fs import FileSelector, FileType

from assay.catalog.partitions import first_partition
from assay.catalog.profile import Column, ReplicaProfile
from assay.catalog.providers.entries import ALL, check_keys, datacenter, time_zone
from assay.catalog.providers.places import TableSteps, name_tables
from assay.catalog.providers.properties import fields_of
from assay.catalog.providers.reading import read_each
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from execution_engine.engines.files.delta import LOG, Description, describe
from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.files.listing import DAMAGES, Root, UnableToListFiles, open_root
from execution_engine.engines.files.snapshot import LogPlace, UnableToReadSnapshot

KEYS = {"folder": True, "dataset": False}
DEEPEST = 4  # folders below the one that is named


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """What the logs below ``folder`` say, or ``most`` of them; raises UnableToReadSource where one cannot be read."""
    check_keys(entry, KEYS)
    folder = str(entry["folder"]).rstrip("/")
    try:
        root = open_root(folder)
        places = {_steps(root, path): path for path in _tables_below(root, root.path, DEEPEST)}
    except (UnableToListFiles, OSError, *DAMAGES) as error:
        raise UnableToReadSource(f"the folder {folder} cannot be listed: {_why(error)}") from None
    if not places:
        raise UnableToReadSource(f"no table of Delta lies in {folder}, or up to {DEEPEST} folders below it")
    names, notes = name_tables(entry, places)

    def read_table(steps: TableSteps) -> tuple[TableTelling, list[str]]:
        place = LogPlace(filesystem=root.filesystem, path=places[steps], prefix=root.prefix)
        location = root.place(places[steps])
        try:
            return _telling(describe(place), names[steps], location, entry)
        except (UnableToReadSnapshot, OSError, *DAMAGES) as error:
            raise UnableToReadSource(
                f"the log of {location} cannot be read ({_why(error)}): mend the table, or name it in except:"
            ) from None

    tables = read_each(read_table, islice(names, most), f"tables of {folder}")
    return SourceTelling(
        tables=tuple(table for table, _ in tables),
        notes=(*notes, *(note for _, of_table in tables for note in of_table)),
    )


def _telling(
    table: Description, name: tuple[str, str], location: str, entry: Mapping[str, Any]
) -> tuple[TableTelling, list[str]]:
    types = {column: (type_ is not None and spark_type_of(type_)) or "" for column, type_ in table.columns.items()}
    cut = {column: types.get(column, "") for column in table.keys}
    replica = ReplicaProfile(datacenter=datacenter(entry), storage="delta", location=location)
    own, notes = fields_of(table.properties, ".".join(name))
    fields: dict[str, Any] = {
        "description": table.description or None,
        "columns": tuple(Column(name=column, type=type_) for column, type_ in types.items()),
        "partition": first_partition(cut, table.keys, time_zone=time_zone(entry)),
        "replicas": (replica,),
    }
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes


def _tables_below(root: Root, path: str, depth: int) -> Iterator[str]:
    """The folders that hold a log; folders of partitions, and hidden ones, are not looked into."""
    infos = root.filesystem.get_file_info(FileSelector(path))
    folders = sorted(info.path for info in infos if info.type is FileType.Directory)
    if f"{path}/{LOG}" in folders:
        yield path
        return
    for folder in folders if depth else ():
        name = folder.rpartition("/")[2]
        if name[:1] not in "._" and "=" not in name:
            yield from _tables_below(root, folder, depth - 1)


def _steps(root: Root, path: str) -> TableSteps:
    """The name of a table: that of its folder, below those of the folders between, or of the whole."""
    *between, table = path[len(root.path) :].strip("/").split("/")
    whole = root.path.rpartition("/")[2]
    return TableSteps(database=whole, schema=".".join(between).removesuffix(".db") or whole, table=table or whole)


def _why(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{lines[0] if lines else type(error).__name__:.200}"
