"""Any rows as a table of Iceberg or Delta that has lived: rows were deleted, columns renamed, added and dropped.

Each file of a plain folder is one commit. Among its rows lie others that no reader may see: they are written with a
mark, deleted by their positions, and the mark is a column that is dropped in the end.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, WriterProperties, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from execution_engine.engines.files.listing import Listing

from .lakes import delete_rows, log_actions, vectors_of, write_commit

GONE, HALF = "assay_gone", "assay_half"  # whether a row is deleted, and whether its file is of the first partitioning
INNER = "in-"  # what names inside of columns begin with in files of Delta
GROUP = 50  # rows of a row group
FEATURES = ["columnMapping", "deletionVectors", "timestampNtz"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": FEATURES}


def storable_rows(listing: Listing, *, lake: str) -> list[pa.Table]:
    """The rows of each file, in types that the lake has, with the columns of the newest that the file has."""
    rows = [_read(listing, file.path) for file in listing.files]
    newest = rows[listing.files.index(listing.newest)].schema
    types = {field.name.lower(): pa.field(field.name, storable(field.type, lake)) for field in newest}
    return [_cast(part, types, lake) for part in rows]


def _read(listing: Listing, path: str) -> pa.Table:
    """A file with the columns that its folders name."""
    rows = pq.ParquetFile(path).read()
    (file,) = (file for file in listing.files if file.path == path)
    for name, value in listing.folder_values(file).items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


def _cast(rows: pa.Table, types: Mapping[str, pa.Field], lake: str) -> pa.Table:
    own = [field for field in rows.schema if field.name.lower() in types]
    fields = [types[field.name.lower()].with_type(storable(field.type, lake)) for field in own]
    named = rows.select([field.name for field in own]).rename_columns([field.name for field in fields])
    return named.cast(pa.schema(fields), safe=False)  # nanoseconds are cut to microseconds


def storable(type_: pa.DataType, lake: str) -> pa.DataType:
    """The narrowest type of the lake that holds all values of this type, but for nanoseconds."""
    types = pa.types
    if types.is_dictionary(type_):
        return storable(type_.value_type, lake)
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, storable(field.type, lake)) for field in type_])
    if types.is_list(type_) or types.is_large_list(type_):
        return pa.list_(storable(type_.value_type, lake))
    if types.is_map(type_):
        return pa.map_(storable(type_.key_type, lake), storable(type_.item_type, lake))
    if types.is_timestamp(type_):
        return pa.timestamp("us", "UTC" if type_.tz else None)
    if types.is_int8(type_) or types.is_int16(type_):
        return type_ if lake == "delta" else pa.int32()
    other = {
        pa.uint8(): pa.int32(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.large_string(): pa.string(),
        pa.large_binary(): pa.binary(),
        pa.null(): pa.int32(),
    }
    return other.get(type_, type_)


def with_ghosts(rows: pa.Table, keys: Sequence[str], seed: int) -> pa.Table:
    """The rows in their order, and among them ghosts of the same partitions, whose other values are extreme."""
    chance = np.random.default_rng(seed)
    models = chance.integers(0, rows.num_rows, rows.num_rows // 3 + 2)
    ghosts = rows.take(models)
    for at, field in enumerate(rows.schema):
        if field.name not in keys and (value := _extreme(field.type)) is not None:
            ghosts = ghosts.set_column(at, field, pa.array([value] * len(models), field.type))
    both = pa.concat_tables([rows, ghosts])
    places = np.concatenate([np.arange(rows.num_rows) + 0.5, chance.uniform(0, rows.num_rows, len(models))])
    return both.append_column(GONE, pa.array(np.arange(len(both)) >= rows.num_rows)).take(np.argsort(places))


def _extreme(type_: pa.DataType) -> object:
    if pa.types.is_integer(type_):
        return 2 ** (type_.bit_width - 1) - 7
    if pa.types.is_floating(type_):
        return -1e37
    return "zz ghost" if pa.types.is_string(type_) else None


def gone_in(rows: pa.Table) -> list[int]:
    """The positions of the ghosts."""
    return [at for at, is_gone in enumerate(rows[GONE].to_pylist()) if is_gone]


def _shares(rows: Sequence[pa.Table]) -> list[pa.Table]:
    """Two commits at least, of rows that there are."""
    full = [part for part in rows if part.num_rows]
    if len(full) != 1:
        return full
    half = -(-full[0].num_rows // 2)
    return [part for part in (full[0].slice(0, half), full[0].slice(half)) if part.num_rows]


def lay_iceberg(
    rows: Sequence[pa.Table],
    newest: pa.Schema,
    keys: Sequence[str],
    warehouse: str,
    folder: Path,
    store: Mapping[str, str],
) -> str:
    """The location of a table whose first column had another name, with three partitionings, deletes and a lost column.

    ``folder`` holds the catalog, which nobody needs to read the table; ``store``: how to open the warehouse.
    """
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=warehouse, **store)
    catalog.create_namespace("raw")
    shares = _shares(rows)
    first = next((name for name in newest.names if name not in keys and "." not in name), None)
    before = (shares or [newest.empty_table()])[0].schema
    was = first if first in before.names else None
    names = [f"{name} before" if name == was else name for name in before.names]
    old = pa.schema([field.with_name(name) for name, field in zip(names, before, strict=True)])
    marked = old.append(pa.field(GONE, pa.bool_())).append(pa.field(HALF, pa.int32()))
    table = catalog.create_table("raw.rows", schema=marked, properties={"write.parquet.row-group-limit": str(GROUP)})
    with table.update_spec() as spec:
        for key in keys:
            spec.add_identity(key)
    for at, share in enumerate(shares):
        if at == 1:
            _evolve(table, was, newest)
        ghosts = with_ghosts(share, keys, at)
        ghosts = ghosts.append_column(HALF, pa.array([at] * len(ghosts), pa.int32()))
        table.append(ghosts.rename_columns([*names, GONE, HALF]) if at == 0 else ghosts)
    if len(shares) < 2:
        _evolve(table, was, newest)
    with table.update_spec() as spec:
        spec.remove_field(HALF)
    if shares:
        delete_rows(catalog.load_table("raw.rows"), find=gone_in)
    with catalog.load_table("raw.rows").update_schema() as change:
        change.delete_column(GONE).delete_column(HALF)
    return str(table.location())


def _evolve(table: Any, was: str | None, newest: pa.Schema) -> None:
    """Another name, new columns, wider ones, another order, another partitioning."""
    if was is not None:
        with table.update_schema() as change:
            change.rename_column(f"{was} before", was)
    with table.update_schema() as change:
        change.union_by_name(newest)
    with table.update_schema() as change:
        for name in reversed(newest.names):
            change.move_first((name,))
    with table.update_spec() as spec:
        spec.add_identity(HALF)


def lay_delta(rows: Sequence[pa.Table], newest: pa.Schema, keys: Sequence[str], folder: Path) -> str:
    """The location of a table whose columns have other names in files, with deletion vectors and a lost column."""
    own = {name: f"col-{at}" for at, name in enumerate(newest.names)}
    for at, share in enumerate(_shares(rows) or [newest.empty_table()]):
        ghosts = with_ghosts(share, keys, at) if share.num_rows else share.append_column(GONE, pa.array([], pa.bool_()))
        fields = [newest.field(name) for name in share.schema.names]
        ghosts = ghosts.cast(pa.schema([*fields, pa.field(GONE, pa.bool_())]))  # Delta widens no type
        write_deltalake(
            str(folder),
            _with_own_names(ghosts, own),
            partition_by=[own[key] for key in keys] or None,
            mode="append",
            schema_mode="merge",
            writer_properties=WriterProperties(max_row_group_size=GROUP),
        )
    DeltaTable(str(folder)).create_checkpoint()
    (metadata,) = [action["metaData"] for action in log_actions(folder) if "metaData" in action][-1:]
    mapped = metadata | {
        "schemaString": json.dumps({"type": "struct", "fields": _mapped(newest, own)}),
        "partitionColumns": list(keys),
        "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(len(own))},
    }
    write_commit(folder, [{"protocol": PROTOCOL}, {"metaData": mapped}, *vectors_of(folder, gone_in)])
    return str(folder)


def _with_own_names(rows: pa.Table, own: Mapping[str, str]) -> pa.Table:
    """Under the names that columns, and fields inside of them, have in files."""
    columns = [column.combine_chunks().view(_with_inner(column.type)) for column in rows.columns]
    return pa.table(columns, names=[own.get(name, name) for name in rows.column_names])


def _with_inner(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f"{INNER}{field.name}", _with_inner(field.type)) for field in type_])
    return pa.list_(_with_inner(type_.value_type)) if pa.types.is_list(type_) else type_


def _mapped(newest: pa.Schema, own: Mapping[str, str]) -> list[dict[str, Any]]:
    """The columns as Delta's schema has them, each with its own name in files, and so fields inside of them."""
    fields: list[dict[str, Any]] = json.loads(Schema.from_arrow(newest).to_json())["fields"]
    for number, field in enumerate(fields, 1):
        field["metadata"] = _mapping(own[field["name"]], number)
        _map_inner(field["type"])
    return fields


def _map_inner(type_: Any) -> None:
    match type_:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                field["metadata"] = _mapping(f"{INNER}{field['name']}", 1000)
                _map_inner(field["type"])
        case {"type": "array", "elementType": element}:
            _map_inner(element)


def _mapping(name: str, number: int) -> dict[str, Any]:
    return {"delta.columnMapping.physicalName": name, "delta.columnMapping.id": number}
