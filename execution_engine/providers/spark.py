"""Spark's own catalogs, such as a Hive metastore: their tables, as Spark describes them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from assay.catalog.column_types import is_column_type
from assay.catalog.partitions import first_partition
from assay.catalog.profile import Column, ReplicaProfile
from assay.catalog.providers.entries import ALL, check_keys, datacenter, time_zone
from assay.catalog.providers.places import TableSteps, name_tables
from assay.catalog.providers.properties import PREFIX, fields_of
from assay.catalog.providers.reading import read_each
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from execution_engine.engines.column_types import quote
from execution_engine.engines.protocol import CatalogEngine, DescribedCatalog, DescribedTable
from execution_engine.storage import engine_of_storage

KEYS = {"catalog": False, "dataset": False, "views": False}
OWN = "spark_catalog"
HIDDEN = "(redacted)"  # in the value of a property that Spark takes for a secret by its name
MENDED = {f"{PREFIX}primary_key": f"write {PREFIX}unique"}
RENAMED = "say it in another source"
OF_ONE_CALL = 20  # tables: a call has a deadline


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """The tables of a catalog, Spark's own where the entry names none, or ``most``; raises UnableToReadSource."""
    check_keys(entry, KEYS)
    engine, catalog = cast(CatalogEngine, engine_of_storage("table")), str(entry.get("catalog") or "")
    listed = _whole(engine.list_tables(catalog)).names
    steps = [TableSteps(database=catalog or OWN, schema=database, table=table) for database, table in listed]
    if not steps:
        raise UnableToReadSource(f"the catalog {catalog or OWN} of Spark has no table: correct ASSAY_SPARK_CONF")
    names, notes = name_tables(entry, steps)
    selected = list(names)[:most]
    parts = [selected[at : at + OF_ONE_CALL] for at in range(0, len(selected), OF_ONE_CALL)]

    def read_part(part: Sequence[TableSteps]) -> Sequence[DescribedTable]:
        return _whole(engine.describe_tables([_location(catalog, table, quoted=True) for table in part])).tables

    described = [table for part in read_each(read_part, parts, "tables of Spark's catalog") for table in part]
    read = [
        _telling(entry, table, names[own], _location(catalog, own))
        for own, table in zip(selected, described, strict=True)
        if table.kind != "VIEW" or entry.get("views")
    ]
    return SourceTelling(
        tables=tuple(table for table, _ in read), notes=(*notes, *(note for _, own in read for note in own))
    )


def _whole(catalog: DescribedCatalog) -> DescribedCatalog:
    if catalog.failure is not None:
        raise UnableToReadSource(f"Spark cannot tell of its catalog: {catalog.failure.detail}")
    return catalog


def _location(catalog: str, steps: TableSteps, *, quoted: bool = False) -> str:
    names = [name for name in (catalog, steps.schema, steps.table) if name]
    return ".".join(quote(name) if quoted or not name.replace("_", "a").isalnum() else name for name in names)


def _telling(
    entry: Mapping[str, Any], table: DescribedTable, name: tuple[str, str], location: str
) -> tuple[TableTelling, list[str]]:
    full_name = ".".join(name)
    hidden = [key for key, value in table.properties.items() if key.startswith(PREFIX) and HIDDEN in value]
    own, notes = fields_of({key: table.properties[key] for key in table.properties if key not in hidden}, full_name)
    notes += [f"{full_name}: Spark hides {key} (spark.redaction.regex): {MENDED.get(key, RENAMED)}" for key in hidden]
    cut = {column: table.columns.get(column, "") for column in table.keys}
    replica = ReplicaProfile(datacenter=datacenter(entry), storage="table", location=location)
    fields: dict[str, Any] = {
        "owner": table.owner or None,
        "description": table.comment or table.properties.get("comment") or None,
        "columns": tuple(
            Column(name=column, type=type_ if is_column_type(type_) else "") for column, type_ in table.columns.items()
        )
        or None,
        "partition": first_partition(cut, table.keys, time_zone=time_zone(entry)),
        "replicas": (replica,),
    }
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes
