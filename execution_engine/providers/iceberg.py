"""A catalog of Iceberg that ``ASSAY_CATALOGS`` names: its tables, by their metadata files."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.catalog.partitions import partition_of
from assay.catalog.profile import Column, PartitionProfile, ReplicaProfile
from assay.catalog.providers.entries import ALL, check_keys, datacenter, time_zone
from assay.catalog.providers.places import TableSteps, name_tables
from assay.catalog.providers.properties import fields_of
from assay.catalog.providers.reading import read_each
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.iceberg_catalogs import CATALOGS
from assay.time.windows import Granularity
from execution_engine.engines.catalogs.locate import (
    UnableToAskCatalog,
    metadata_location,
    metadata_locations,
    tables_of,
)
from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.files.iceberg import arrow_schema, partition_bounds, read_metadata
from execution_engine.engines.files.listing import DAMAGES, UnableToListFiles, open_root
from execution_engine.engines.files.snapshot import LogPlace

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

KEYS = {"catalog": True, "namespace": False, "dataset": False}
CUT = {"hour": Granularity.HOUR, "day": Granularity.DAY, "month": Granularity.MONTH}  # transforms of times


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """What the catalog says of its tables, those of a ``namespace``, or ``most`` of them; raises UnableToReadSource."""
    check_keys(entry, KEYS)
    catalog = f"{CATALOGS}{entry['catalog']}"
    whole = f"{catalog}/{entry['namespace']}" if entry.get("namespace") else catalog
    try:
        steps = [_steps(str(entry["catalog"]), name) for name in tables_of(whole)]
        places = metadata_locations(catalog)
    except UnableToAskCatalog as error:
        raise UnableToReadSource(str(error)) from None
    names, notes = name_tables(entry, steps)

    def read_table(table: TableSteps) -> tuple[TableTelling, list[str]]:
        name = f"{table.schema}.{table.table}"
        try:
            metadata, of_keys = _read(places.get(name) or metadata_location(f"{catalog}/{name}"))
        except UnableToAskCatalog as error:
            raise UnableToReadSource(str(error)) from None
        except (UnableToListFiles, OSError, *DAMAGES) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UnableToReadSource(
                f"the metadata of {catalog}/{name} cannot be read ({why:.200}): mend the table, or name it in except:"
            ) from None
        return describe(metadata, of_keys, names[table], f"{catalog}/{name}", entry)

    tables = read_each(read_table, islice(names, most), f"tables of {catalog}")
    return SourceTelling(
        tables=tuple(table for table, _ in tables),
        notes=(*notes, *(note for _, of_table in tables for note in of_table)),
    )


def describe(
    metadata: "TableMetadata",
    keys: Mapping[str, Sequence[str]],
    name: tuple[str, str],
    location: str,
    entry: Mapping[str, Any],
) -> tuple[TableTelling, list[str]]:
    """What the metadata of a table say; ``keys`` are the least and the greatest of each identity partition."""
    schema, properties = metadata.schema(), metadata.properties
    replica = ReplicaProfile(datacenter=datacenter(entry), storage="iceberg", location=location)
    fields: dict[str, Any] = {
        "owner": properties.get("owner"),
        "description": properties.get("comment"),
        "columns": _columns(arrow_schema(metadata)),
        "primary_key": tuple(sorted(schema.identifier_field_names(), key=schema.column_names.index)) or None,
        "partition": _partition(metadata, keys, time_zone(entry)),
        "replicas": (replica,),
    }
    own, notes = fields_of(properties, ".".join(name))
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes


def _steps(catalog: str, name: str) -> TableSteps:
    namespace, _, table = name.rpartition(".")
    return TableSteps(database=catalog, schema=namespace, table=table)


def _read(location: str) -> tuple["TableMetadata", Mapping[str, Sequence[str]]]:
    root = open_root(location)
    place = LogPlace(filesystem=root.filesystem, path=root.path, prefix=root.prefix)
    metadata = read_metadata(place, root.path)
    return metadata, partition_bounds(place, metadata)


def _columns(schema: Iterable[pa.Field]) -> tuple[Column, ...]:
    return tuple(Column(name=field.name, type=spark_type_of(field.type) or "") for field in schema)


def _partition(metadata: "TableMetadata", keys: Mapping[str, Sequence[str]], zone: str) -> PartitionProfile | None:
    """The first partition field that cuts a table by times: a transform of them, whose days are in UTC, or keys."""
    from pyiceberg.types import DateType

    schema = metadata.schema()
    for field in metadata.spec().fields:
        transform = str(field.transform)
        if transform in CUT:
            return PartitionProfile(column=field.name, granularity=CUT[transform])
        if transform != "identity":
            continue
        if isinstance(schema.find_type(field.source_id), DateType):
            return PartitionProfile(column=field.name, granularity=Granularity.DAY, time_zone=zone)
        if partition := partition_of(field.name, keys.get(field.name, ()), time_zone=zone):
            return partition
    return None
