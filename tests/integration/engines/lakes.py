"""The same rows as a plain folder, as a table of Iceberg and as tables of Delta, with what such tables come to have.

Neither pyiceberg nor deltalake writes positions of deleted rows, or other names of columns in files: that is done here.
"""

import json
import struct
from base64 import b85encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.types import DoubleType, LongType
from pyroaring import BitMap

from execution_engine.engines.protocol import Table

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
RFC_85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
Z_85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
DELETED = "deleted"  # the value of ``person`` in rows that lakes have and no reader may see


def old_rows(size: int = 600) -> pa.Table:
    """As they were before a column was added; a fifth of them is deleted later."""
    chance = np.random.default_rng(1)
    ids = np.arange(size)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64(), mask=ids % 31 == 0),
            "fare": pa.array(chance.lognormal(2, 1, size), mask=ids % 9 == 0),
            "ratio": pa.array(np.where(ids % 50 == 7, np.nan, chance.normal(0, 1, size))),
            "person": np.where(ids % 5 == 3, DELETED, np.char.add("p", (ids % 17).astype("U"))),
            "number": pa.array(chance.integers(-40, 40, size), pa.int32()),
            "price": pa.array(chance.integers(0, 9999, size), pa.int32()).cast(pa.decimal128(12, 2)),
            "day": pa.array(np.asarray(DAYS)[ids % 3]).cast(pa.date32()),
            "at": pa.array(ids * 7_000_003, pa.timestamp("us", tz="UTC"), mask=ids % 13 == 0),
            "seen": pa.array(ids * 11_000_003, pa.timestamp("us")),
            "ok": pa.array(ids % 2 == 0, mask=ids % 11 == 0),
        }
    )


def new_rows(size: int = 400) -> pa.Table:
    """As they are since."""
    rows = old_rows(size)
    tips = pa.array(np.arange(size) / 8, mask=np.arange(size) % 4 == 0)
    return rows.set_column(0, "id", pa.array(np.arange(size) + 10_000)).append_column("tip", tips)


def living_rows() -> pa.Table:
    """The rows that count."""
    rows = pa.concat_tables([old_rows(), new_rows()], promote_options="default")
    return rows.filter(is_living(rows))


def is_living(rows: pa.Table) -> pa.Array:
    return pa.array([person != DELETED for person in rows["person"].to_pylist()])


def write_plain(folder: Path, rows: pa.Table | None = None) -> Table:
    """A folder of two files."""
    folder.mkdir(parents=True)
    rows = living_rows() if rows is None else rows
    pq.write_table(rows.slice(0, 300), folder / "part-0.parquet")
    pq.write_table(rows.slice(300), folder / "part-1.parquet")
    return Table(name="rides", storage="parquet", location=str(folder), partition_column="day")


# Iceberg: a column renamed, one added, another order, a partition that was not there, and files of positions.


class _RowDelete(_FastAppendFiles):
    """A commit that adds a manifest of deletes."""

    def __init__(self, manifests: list[ManifestFile], **options: Any) -> None:
        super().__init__(**options)
        self._manifests_of_deletes = manifests

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        return [*manifests, *self._manifests_of_deletes]


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def write_iceberg(folder: Path) -> Table:
    """A table in the warehouse of a catalog, which is not needed to read it."""
    folder.mkdir(parents=True)
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("raw")
    before = old_rows().rename_columns({"person": "who"})
    table = catalog.create_table("raw.rides", schema=before.schema)
    table.append(before)
    with table.update_schema() as change:
        change.rename_column("who", "person")
        change.add_column("tip", DoubleType())
        change.move_first("day")
        change.update_column("number", LongType())
    with table.update_spec() as spec:
        spec.add_identity("day")
    after = new_rows()
    table.append(after.set_column(4, "number", after["number"].cast(pa.int64())))
    delete_rows(catalog.load_table("raw.rides"))
    return Table(name="rides", storage="iceberg", location=f"{folder}/warehouse/raw/rides", partition_column="day")


def deleted_in(rows: pa.Table) -> list[int]:
    """The positions of the rows that no reader may see."""
    people = rows["who" if "who" in rows.column_names else "person"].to_pylist()
    return [at for at, name in enumerate(people) if name == DELETED]


def delete_rows(
    table: IcebergTable,
    *,
    content: DataFileContent = DataFileContent.POSITION_DELETES,
    find: Callable[[pa.Table], list[int]] = deleted_in,
) -> None:
    """Write the positions of deleted rows into files of deletes, one for each data file that has some."""
    manifests: list[ManifestFile] = []
    with table.transaction() as transaction:
        producer = _RowDelete(manifests, operation=Operation.APPEND, transaction=transaction, io=table.io)
        for number, task in enumerate(table.scan().plan_files()):
            data = task.file
            with table.io.new_input(data.file_path).open() as opened:
                gone = find(pq.ParquetFile(opened).read())
            place = f"{table.location()}/data/deletes-{number}.parquet"
            with table.io.new_output(place).create() as created:
                pq.write_table(pa.table({"file_path": [data.file_path] * len(gone), "pos": gone}), created)
            spec = table.specs()[data.spec_id]
            file = DataFile.from_args(
                content=content,
                file_path=place,
                file_format=FileFormat.PARQUET,
                partition=data.partition,
                record_count=len(gone),
                file_size_in_bytes=len(table.io.new_input(place)),
                equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
            )
            file.spec_id = data.spec_id
            manifests.append(_write_manifest(table, spec, file, producer.snapshot_id, number))
        producer.commit()


def _write_manifest(
    table: IcebergTable, spec: PartitionSpec, file: DataFile, snapshot_id: int, number: int
) -> ManifestFile:
    output = table.io.new_output(f"{table.location()}/metadata/deletes-{number}.avro")
    with _DeleteManifest(spec, table.schema(), output, snapshot_id, "deflate") as writer:
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED,
            snapshot_id=snapshot_id,
            sequence_number=None,
            file_sequence_number=None,
            data_file=file,
        )
        writer.add(entry)
    return writer.to_manifest_file()


# Delta: deletion vectors in the log and in a file, a column added, names of columns that are others in files.


def write_delta(folder: Path, *, mapped: bool = False, checkpoint: bool = False) -> Table:
    """A table with partitions; ``mapped``: files have other names; ``checkpoint``: of all but the last commit."""
    location = str(folder)
    write_deltalake(location, old_rows(), partition_by=["day"])
    write_deltalake(location, new_rows(), mode="append", schema_mode="merge")
    if checkpoint:
        DeltaTable(location).create_checkpoint()
    commit_deletes(folder)
    if mapped:
        rename_in_files(folder)
    return Table(name="rides", storage="delta", location=location, partition_column="day")


def log_actions(folder: Path) -> list[dict[str, Any]]:
    """All actions of the commits, in their order."""
    return [json.loads(line) for path in sorted(folder.glob("_delta_log/*.json")) for line in path.open()]


def commit_deletes(folder: Path) -> None:
    """Delete rows by vectors: the first in a file, the others in the log."""
    names = ["deletionVectors", "timestampNtz"]
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    write_commit(folder, [{"protocol": features}, *vectors_of(folder, deleted_in)])


def vectors_of(folder: Path, find: Callable[[pa.Table], list[int]]) -> list[dict[str, Any]]:
    """The actions that delete rows of all files, each file once in the log."""
    actions: list[dict[str, Any]] = []
    for number, add in enumerate(action["add"] for action in log_actions(folder) if "add" in action):
        gone = find(pq.ParquetFile(folder / unquote(add["path"])).read())
        vector = write_vector(folder, gone) if number == 0 else inline_vector(gone)
        actions.append({"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}})
        actions.append({"add": add | {"deletionVector": vector}})
    return actions


def write_commit(folder: Path, actions: Sequence[dict[str, Any]]) -> None:
    """The next version."""
    version = max(int(path.stem) for path in folder.glob("_delta_log/*.json")) + 1
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (folder / f"_delta_log/{version:020}.json").write_text(text)


def bitmap_of(positions: Sequence[int]) -> bytes:
    """As deletion vectors keep it."""
    return struct.pack("<IQI", 1681511377, 1, 0) + BitMap(positions).serialize()


def inline_vector(positions: Sequence[int]) -> dict[str, Any]:
    body = bitmap_of(positions)
    return {
        "storageType": "i",
        "pathOrInlineDv": to_z85(body),
        "sizeInBytes": len(body),
        "cardinality": len(positions),
    }


def write_vector(folder: Path, positions: Sequence[int]) -> dict[str, Any]:
    body, uuid = bitmap_of(positions), UUID(int=2**100 + 7)
    blob = b"\1" + struct.pack(">I", len(body)) + body + struct.pack(">I", crc32(body))
    (folder / f"deletion_vector_{uuid}.bin").write_bytes(blob)
    return {
        "storageType": "u",
        "pathOrInlineDv": to_z85(uuid.bytes),
        "offset": 1,
        "sizeInBytes": len(body),
        "cardinality": len(positions),
    }


def to_z85(body: bytes) -> str:
    """Python's base 85 in other characters; the body's length is a multiple of four."""
    padded = body + bytes(-len(body) % 4)
    return b85encode(padded).translate(bytes.maketrans(RFC_85, Z_85)).decode()


def rename_in_files(folder: Path) -> None:
    """Rewrite files and log, so that each column has a name of its own in the files."""
    for path in folder.rglob("*.parquet"):
        if "_delta_log" not in str(path):
            rows = pq.read_table(path, partitioning=None)
            pq.write_table(rows.rename_columns([f"col-{name}" for name in rows.column_names]), path)
    for path in sorted(folder.glob("_delta_log/*.json")):
        actions = [_mapped(json.loads(line), folder) for line in path.open()]
        path.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def _mapped(action: dict[str, Any], folder: Path) -> dict[str, Any]:
    if metadata := action.get("metaData"):
        schema = json.loads(metadata["schemaString"])
        for number, field in enumerate(schema["fields"], 1):
            own = {"delta.columnMapping.physicalName": f"col-{field['name']}", "delta.columnMapping.id": number}
            field["metadata"] |= own
        configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "10"}
        return {"metaData": metadata | {"schemaString": json.dumps(schema), "configuration": configuration}}
    if protocol := action.get("protocol"):
        names = [*protocol.get("readerFeatures", []), "columnMapping"]
        features = {"readerFeatures": names, "writerFeatures": names, "minReaderVersion": 3, "minWriterVersion": 7}
        return {"protocol": protocol | features}
    if add := action.get("add"):
        stats = json.loads(add["stats"])
        for kind in ("minValues", "maxValues", "nullCount"):
            stats[kind] = {f"col-{name}": value for name, value in stats[kind].items()}
        values = {f"col-{name}": value for name, value in add["partitionValues"].items()}
        size = (folder / add["path"]).stat().st_size
        return {"add": add | {"stats": json.dumps(stats), "partitionValues": values, "size": size}}
    return action
