"""Where the tables of a source lie, and what they are called: as its entry says, filled in for each table (pure)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, cast, get_args

from pydantic import TypeAdapter, ValidationError

from assay.catalog.locations import PREFIX, SCHEMES
from assay.catalog.profile import ReplicaProfile, Storage
from assay.catalog.tellings import TableTelling, UnableToReadSource
from assay.catalog.yaml.parts import FullName
from assay.iceberg_catalogs import CATALOGS

from .entries import datacenter, is_selected

KEYS = {"location": False, "storage": False, "dataset": False}  # of entries; True: required
DATASET = "{schema}.{table}"  # what a table is called where the entry does not say
ANOTHER_NAME = "write dataset: '{database}.{schema}.{table}' in the entry, or name it in except:"
_STEP = re.compile(r"\{(\w*)\}")
_NOT_OF_NAMES = re.compile(r"[^\w.:/@-]")
_FULL_NAME: TypeAdapter[str] = TypeAdapter(FullName)


@dataclass(frozen=True, kw_only=True)
class TableSteps:
    """The steps of a table's name in its source; those that a source does not have are empty."""

    database: str = ""
    schema: str = ""
    table: str

    def __str__(self) -> str:
        return ".".join(step for step in (self.database, self.schema, self.table) if step)


def name_tables(
    entry: Mapping[str, Any], tables: Iterable[TableSteps]
) -> tuple[dict[TableSteps, tuple[str, str]], list[str]]:
    """The namespace and name of the dataset of each table that the entry selects, by the order of their steps.

    What no name may hold, such as a space, is ``_`` there. Beside it a sentence for each table that gets no name, as
    another has it already, or as the entry has no pattern that names it.
    """
    names: dict[TableSteps, tuple[str, str]] = {}
    owners: dict[str, TableSteps] = {}  # by the names in lower case
    notes = []
    pattern = str(entry.get("dataset", DATASET))
    for steps in sorted(tables, key=str):
        name = _name_of(_filled(pattern, steps, "dataset"))
        try:
            if not is_selected(entry, _FULL_NAME.validate_python(name)):
                continue
        except ValidationError:
            notes.append(f"{steps} is left out: no dataset can be called {name}; write another dataset: in the entry")
            continue
        if (owner := owners.setdefault(name.casefold(), steps)) != steps:
            notes.append(f"{steps} is left out: {owner} is {name} already; {ANOTHER_NAME}")
            continue
        namespace, _, short = name.rpartition(".")
        names[steps] = namespace, short
    return names, notes


def _name_of(text: str) -> str:
    name = _NOT_OF_NAMES.sub("_", text)
    return name if name[:1].isascii() and name[:1].isalnum() else f"_{name.removeprefix('_')}"


def replica_of(entry: Mapping[str, Any], steps: TableSteps) -> ReplicaProfile | None:
    """Where a table lies, by the ``location`` of the entry; None where that names no place of it.

    ``location`` is one pattern, or a mapping of globs of ``database.schema`` to patterns, of which the first counts; of
    a table of Spark's catalog it may be left out.
    """
    location = entry.get("location") or (DATASET if entry.get("storage") == "table" else "")
    if isinstance(location, Mapping):
        whole = str(TableSteps(database=steps.database, table=steps.schema))
        location = next((text for glob, text in location.items() if fnmatchcase(whole, str(glob))), "")
    if not location:
        return None
    storage = entry.get("storage") or storage_of(str(location))
    if storage not in get_args(Storage):
        raise UnableToReadSource(f"storage is {storage!r}: write one of {', '.join(get_args(Storage))}")
    options = {}
    if storage == "sql":
        options = {"table": steps.table, **({"schema": steps.schema} if steps.schema else {})}
    return ReplicaProfile(
        datacenter=datacenter(entry),
        storage=cast(Storage, storage),
        location=_filled(str(location), steps, "location"),
        options=options,
    )


def leave_out_doubles(tables: Iterable[tuple[TableSteps, TableTelling]]) -> tuple[tuple[TableTelling, ...], list[str]]:
    """The tables, each once, and a sentence for each that has the name of another.

    What several parts of a source tell of one table is one telling, in which the first part that says a field counts.
    """
    places: dict[str, TableSteps] = {}
    tellings: dict[str, TableTelling] = {}
    notes = []
    for steps, table in tables:
        key = table.full_name.casefold()
        if key not in tellings:
            places[key], tellings[key] = steps, table
        elif places[key] == steps:
            tellings[key] = replace(table, **{"namespace": tellings[key].namespace, **tellings[key].values})
        else:
            notes.append(f"{steps} is left out: {places[key]} is {table.full_name} already; {ANOTHER_NAME}")
    return tuple(tellings.values()), notes


def storage_of(location: str) -> Storage:
    """What a location without a ``storage`` is: a table of a catalog of Iceberg, a database, or a folder of parquet."""
    if location.startswith(CATALOGS):
        return "iceberg"
    scheme, colon, _ = location.partition("://")
    return "sql" if location.startswith(PREFIX) or (colon and scheme not in SCHEMES) else "parquet"


def _filled(pattern: str, steps: TableSteps, key: str) -> str:
    """The pattern with the steps of a table in place of ``{database}``, ``{schema}`` and ``{table}``."""
    names = vars(steps)
    if unknown := [name for name in _STEP.findall(pattern) if name not in names]:
        raise UnableToReadSource(
            f"{key} holds {{{unknown[0]}}}: write {{database}}, {{schema}} and {{table}} alone between braces"
        )
    return _STEP.sub(lambda step: names[step[1]], pattern)
