"""Unity Catalog, by the REST of its open server: catalogs, schemas, and the tables in them."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.catalog.column_types import is_column_type
from assay.catalog.partitions import first_partition
from assay.catalog.profile import Column, ReplicaProfile, Storage
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource

from . import places
from .documents import documented, mapping, mappings, read_pages, text_at
from .entries import ALL, bearer, check_keys, datacenter, time_zone
from .places import TableSteps, name_tables, replica_of
from .properties import fields_of

KEYS = places.KEYS | {"url": True, "token": False, "catalog": False}
API = "/api/2.1/unity-catalog"
NEXT = "next_page_token"
FORMATS: Mapping[str, Storage] = {
    "DELTA": "delta",
    "ICEBERG": "iceberg",
    "PARQUET": "parquet",
    "ORC": "orc",
    "CSV": "csv",
    "JSON": "json",
}
VIEWS = frozenset({"VIEW", "METRIC_VIEW"})  # which hold no rows


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """The tables of a server, or of one of its catalogs, or ``most`` of them; raises UnableToReadSource."""
    check_keys(entry, KEYS)
    url, headers = f"{str(entry['url']).rstrip('/')}{API}", bearer(entry)

    def listed(what: str, **parameters: str) -> list[Mapping[str, Any]]:
        return read_pages(
            f"{url}/{what}",
            headers,
            parameters,
            items=what,
            cursor="page_token",
            next_page=lambda page: page.get(NEXT),
            bare=(NEXT,),  # as Databricks answers of what is empty
            most=most,
        )

    catalogs = [str(entry["catalog"])] if entry.get("catalog") else _names(listed("catalogs"), "a catalog")
    tables: list[Mapping[str, Any]] = []
    for catalog in catalogs:
        for schema in _names(listed("schemas", catalog_name=catalog), f"a schema of {catalog}"):
            if len(tables) < most:
                tables += listed("tables", catalog_name=catalog, schema_name=schema)
    return parse(entry, tables)


@documented
def parse(entry: Mapping[str, Any], tables: object) -> SourceTelling:
    """What the tables of all answers say; raises UnableToReadSource."""
    by_steps = {_steps(table): table for table in mappings(tables, "tables") if table.get("table_type") not in VIEWS}
    if not by_steps:
        raise UnableToReadSource("it names no table: see that its token may list catalogs, schemas and tables")
    names, notes = name_tables(entry, by_steps)
    read = [_table(entry, steps, by_steps[steps], name) for steps, name in names.items()]
    return SourceTelling(
        tables=tuple(table for table, _ in read), notes=(*notes, *(note for _, own in read for note in own))
    )


def _names(items: list[Mapping[str, Any]], what: str) -> Iterator[str]:
    for item in items:
        if (name := text_at(item, "name", what)) != "information_schema":
            yield name


def _steps(table: Mapping[str, Any]) -> TableSteps:
    return TableSteps(
        database=text_at(table, "catalog_name", "a table"),
        schema=text_at(table, "schema_name", "a table"),
        table=text_at(table, "name", "a table"),
    )


def _table(
    entry: Mapping[str, Any], steps: TableSteps, table: Mapping[str, Any], name: tuple[str, str]
) -> tuple[TableTelling, list[str]]:
    columns = mappings(table.get("columns") or [], f"columns of {steps}")
    columns.sort(key=lambda column: column.get("position") or 0)
    types = {text_at(column, "name", f"a column of {steps}"): str(column.get("type_text") or "") for column in columns}
    cut = sorted(
        (column["partition_index"], column["name"]) for column in columns if column.get("partition_index") is not None
    )
    replica = replica_of(entry, steps) or _replica(entry, table)
    own, notes = fields_of(mapping(table.get("properties") or {}, f"properties of {steps}"), ".".join(name))
    fields: dict[str, Any] = {
        "owner": table.get("owner") or None,
        "description": table.get("comment") or None,
        "columns": tuple(
            Column(name=column, type=type_ if is_column_type(type_) else "") for column, type_ in types.items()
        )
        or None,
        "primary_key": _primary_key(table),
        "partition": first_partition({column: types[column] for _, column in cut}, {}, time_zone=time_zone(entry)),
        "replicas": (replica,) if replica else None,
    }
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes


def _replica(entry: Mapping[str, Any], table: Mapping[str, Any]) -> ReplicaProfile | None:
    """Where the server says that a table lies."""
    storage = FORMATS.get(str(table.get("data_source_format")).upper())
    location = str(table.get("storage_location") or "").rstrip("/")
    if not storage or not location:
        return None
    return ReplicaProfile(
        datacenter=datacenter(entry), storage=storage, location=location.removeprefix("file://") or "/"
    )


def _primary_key(table: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The columns of the key, which servers of Databricks tell."""
    for constraint in table.get("table_constraints") or ():
        if isinstance(constraint, Mapping) and (key := constraint.get("primary_key_constraint")):
            return tuple(map(str, key.get("child_columns") or ())) or None
    return None
