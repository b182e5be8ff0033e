"""The snapshot of an Iceberg table, by its metadata file and manifests, without a catalog."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector, FileSystem

from execution_engine.vitals.commits import Commit

from .last_used import LastUsed
from .snapshot import (
    NO_POSITIONS,
    ColumnNames,
    LiveFile,
    LogPlace,
    Positions,
    Snapshot,
    UnableToReadSnapshot,
    positions_in,
)

if TYPE_CHECKING:  # a second of imports, for who reads such a table
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import IcebergType

METADATA = re.compile(r"v?(\d+)(-.*)?(\.gz)?\.metadata\.json(\.gz)?")
MOST_ENTRIES = 20_000  # of manifests that are held: two or three kilobytes each
MANIFESTS: "LastUsed[tuple[str, int], Sequence[ManifestEntry]]" = LastUsed(MOST_ENTRIES)
SPARK = "register it in a Spark catalog, and write storage: table"


def metadata_file(filesystem: FileSystem, path: str) -> FileInfo:
    """The metadata file that a path is, or the newest of a table's folder; raises UnableToReadSnapshot and OSError."""
    if METADATA.fullmatch(path.rpartition("/")[2]):
        return filesystem.get_file_info(path)
    infos = filesystem.get_file_info(FileSelector(f"{path}/metadata"))
    numbered = [(int(match[1]), info) for info in infos if (match := METADATA.fullmatch(info.base_name))]
    highest = max((number for number, _ in numbered), default=0)
    newest = [info for number, info in numbered if number == highest]
    if len(newest) != 1:
        names = " and ".join(sorted(info.base_name for info in newest)) or "none"
        raise UnableToReadSnapshot(
            f"which of its metadata files is the newest is not clear ({names}): write the path of the current one"
        )
    return newest[0]


def read_metadata(place: LogPlace, path: str) -> "TableMetadata":
    """What a metadata file says; raises ArrowException, OSError, and ValueError for one that is damaged."""
    from pyiceberg.exceptions import ValidationError
    from pyiceberg.serializers import Compressor, FromByteStream

    try:
        with place.filesystem.open_input_file(path) as opened:
            return FromByteStream.table_metadata(opened, compression=Compressor.get_compressor(path))
    except ValidationError as error:
        raise ValueError(str(error).splitlines()[0]) from error


def snapshot_at(metadata: "TableMetadata", instant: datetime) -> int:
    """The id of the snapshot that was the current one at an instant; raises UnableToReadSnapshot."""
    committed = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= instant.timestamp() * 1000]
    if not committed:
        raise UnableToReadSnapshot(f"it has no snapshot of {instant:%Y-%m-%d %H:%M} UTC, or has it no more")
    return committed[-1].snapshot_id


def commits_of(metadata: "TableMetadata", after_ms: int) -> list[Commit]:
    """The snapshots that were current ones and changed rows, later than an instant; the oldest first."""
    current_ids = {entry.snapshot_id for entry in metadata.snapshot_log}
    snapshots = sorted(metadata.snapshots, key=lambda snapshot: snapshot.timestamp_ms)
    return [
        _commit_of(snapshot.timestamp_ms, dict(snapshot.summary.additional_properties if snapshot.summary else {}))
        for snapshot in snapshots
        if snapshot.timestamp_ms > after_ms
        and snapshot.snapshot_id in current_ids
        and not (snapshot.summary and snapshot.summary.operation.value == "replace")
    ]


def _commit_of(committed_ms: int, summary: Mapping[str, str]) -> Commit:
    """What the summary of a snapshot says; what it leaves out is 0 where it says anything of that kind."""

    def total(*names: str) -> int | None:
        return sum(int(summary.get(name, 0)) for name in names) if summary else None

    return Commit(
        at=datetime.fromtimestamp(committed_ms / 1000, UTC),
        rows_added=total("added-records"),
        rows_removed=total("deleted-records", "added-position-deletes", "added-equality-deletes"),
        files_added=total("added-data-files"),
        files_removed=total("deleted-data-files"),
        bytes_added=total("added-files-size"),
    )


def read_snapshot(place: LogPlace, metadata: "TableMetadata", snapshot_id: int | None = None) -> Snapshot:
    """The table at a snapshot, at its current one without an id.

    Raises UnableToReadSnapshot, ArrowException, OSError, and ValueError for manifests that are damaged.
    """
    snapshot = metadata.current_snapshot() if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
    if snapshot is None and snapshot_id is not None:
        raise UnableToReadSnapshot(f"it has no snapshot {snapshot_id}, or has it no more")
    schema = metadata.schema()
    is_past = snapshot_id not in (None, metadata.current_snapshot_id)
    if is_past and snapshot is not None and snapshot.schema_id is not None:
        schema = metadata.schema_by_id(snapshot.schema_id) or schema
    if defaults := [field.name for field in schema.fields if field.initial_default is not None]:
        raise UnableToReadSnapshot(f"its column {defaults[0]} has a default for older rows: {SPARK}")
    io = _file_io(place)
    manifests = snapshot.manifests(io) if snapshot else []
    entries = [entry for manifest in manifests for entry in _entries_of(place, manifest, io)]
    return Snapshot(
        label=f"Iceberg snapshot {snapshot.snapshot_id}" if snapshot else "Iceberg table without a snapshot",
        schema=pa.schema(list(_fields(schema))),
        columns=_column_names(metadata, schema),
        files={file.path: file for file in _live_files(place, metadata, schema, entries)},
    )


def arrow_schema(metadata: "TableMetadata") -> pa.Schema:
    """The current columns of a table."""
    return pa.schema(list(_fields(metadata.schema())))


def partition_bounds(place: LogPlace, metadata: "TableMetadata") -> dict[str, tuple[str, ...]]:
    """The least and the greatest keys that manifests name, of each partition field of texts or whole numbers.

    One small file is read, and none where there are no such fields. Raises OSError, and ValueError for a damaged one.
    """
    from pyiceberg.conversions import from_bytes
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import IntegerType, LongType, StringType

    spec, types = metadata.spec(), {field.field_id: field.field_type for field in metadata.schema().fields}
    cut = {
        at: (field.name, type_)
        for at, field in enumerate(spec.fields)
        if isinstance(field.transform, IdentityTransform)
        and isinstance(type_ := types.get(field.source_id), StringType | IntegerType | LongType)
    }
    snapshot = metadata.current_snapshot() if cut else None
    bounds: dict[str, set[str]] = {name: set() for name, _ in cut.values()}
    for manifest in snapshot.manifests(_file_io(place)) if snapshot else ():
        if manifest.partition_spec_id != spec.spec_id:
            continue
        for at, (name, type_) in cut.items():
            summary = (manifest.partitions or [])[at]
            texts = (summary.lower_bound, summary.upper_bound)
            bounds[name] |= {str(from_bytes(type_, bound)) for bound in texts if bound is not None}
    return {name: tuple(sorted(keys)) for name, keys in bounds.items()}


def _entries_of(place: LogPlace, manifest: "ManifestFile", io: "FileIO") -> "Sequence[ManifestEntry]":
    """The live entries of a manifest, which is never written twice; another table may have had it read."""
    place.path_in_log(manifest.manifest_path)
    key = manifest.manifest_path, manifest.manifest_length
    entries = MANIFESTS.get(key)
    if entries is None:
        entries = manifest.fetch_manifest_entry(io)
        MANIFESTS.put(key, entries, len(entries))
    return entries


def _file_io(place: LogPlace) -> "FileIO":
    """Opens what the metadata name in the file system of the table, whatever the properties of the table say."""
    from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

    class OneFileSystem(PyArrowFileIO):
        def new_input(self, location: str) -> PyArrowFile:
            return PyArrowFile(location, place.path_in_log(location), place.filesystem)

    return OneFileSystem()


def _fields(schema: "Schema") -> Iterator[pa.Field]:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    for field in schema_to_pyarrow(schema):
        yield field.with_type(_short(field.type))


def _short(type_: pa.DataType) -> pa.DataType:
    """The type with offsets of 32 bits, as most writers have it and Spark takes it."""
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_short(field.type)) for field in type_])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(type_.value_field.with_type(_short(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(*(field.with_type(_short(field.type)) for field in (type_.key_field, type_.item_field)))
    return type_


def _column_names(metadata: "TableMetadata", schema: "Schema") -> ColumnNames:
    mapping = metadata.name_mapping()
    names = {field.field_id: tuple(field.names) for field in mapping or ()}
    return ColumnNames(
        ids={field.name.lower(): field.field_id for field in schema.fields},
        names={field.name.lower(): names.get(field.field_id, ()) for field in schema.fields},
    )


def _live_files(
    place: LogPlace,
    metadata: "TableMetadata",
    schema: "Schema",
    entries: "Sequence[ManifestEntry]",
) -> Iterator[LiveFile]:
    from pyiceberg.manifest import DataFileContent, FileFormat
    from pyiceberg.table.delete_file_index import DeleteFileIndex

    index, columns = DeleteFileIndex(), _Columns.of(place, metadata, schema)
    files_of_deletes: dict[str, DataFile] = {}
    data = []
    for entry in entries:
        file = entry.data_file
        if file.content == DataFileContent.EQUALITY_DELETES:
            raise UnableToReadSnapshot(
                f"it has equality deletes, which are not read here: rewrite its data files, or {SPARK}"
            )
        if file.content == DataFileContent.POSITION_DELETES:
            files_of_deletes[file.file_path] = file
            index.add_delete_file(entry, partition_key=file.partition)
        elif file.file_format != FileFormat.PARQUET:
            raise UnableToReadSnapshot(f"it has files of {file.file_format.value}: {SPARK}")
        else:
            data.append(entry)

    @cache
    def deleted_by(path: str) -> Mapping[str, Positions]:
        return read_deletes(place, files_of_deletes[path])

    committed_ms = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in metadata.snapshots}
    newest = max(committed_ms.values(), default=0)  # of files whose snapshot is no more it is not known
    for entry in data:
        file = entry.data_file
        deletes = index.for_data_file(entry.sequence_number or 0, file, partition_key=file.partition)
        paths = sorted(delete.file_path for delete in deletes)
        yield columns.live_file(file, committed_ms.get(entry.snapshot_id or 0, newest), paths, deleted_by)


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """What is needed of a table's columns to read what a manifest says of them, by their ids."""

    place: LogPlace
    names: "Mapping[int, str]"  # in lower case, of columns that are no structs, lists or maps
    types: "Mapping[int, IcebergType]"  # also of columns that were dropped
    whole: Mapping[int, str]  # the names of those of whole numbers
    times: Mapping[int, tuple[str, int]]  # of dates and of timestamps with a zone, with the bytes of a bound
    specs: "Mapping[int, PartitionSpec]"

    @classmethod
    def of(cls, place: LogPlace, metadata: "TableMetadata", schema: "Schema") -> "_Columns":
        from pyiceberg.types import DateType, IntegerType, LongType, TimestamptzType

        names = {field.field_id: field.name.lower() for field in schema.fields if field.field_type.is_primitive}
        types = {field.field_id: field.field_type for every in metadata.schemas for field in every.fields}
        whole = {id_: name for id_, name in names.items() if isinstance(types[id_], IntegerType | LongType)}
        sizes: dict[type[IcebergType], int] = {DateType: 4, TimestamptzType: 8}
        times = {id_: (name, sizes[type(types[id_])]) for id_, name in names.items() if type(types[id_]) in sizes}
        return cls(place=place, names=names, types=types, whole=whole, times=times, specs=metadata.specs())

    def live_file(
        self,
        file: "DataFile",
        written_ms: int,
        deletes: Sequence[str],
        deleted_by: Callable[[str], Mapping[str, Positions]],
    ) -> LiveFile:
        from pyiceberg.transforms import IdentityTransform

        counts = file.null_value_counts or {}
        keys: dict[str, str | None] = {}
        values: dict[str, str | None] = {}
        for at, field in enumerate(self.specs[file.spec_id].fields):
            value, source = file.partition[at], self.types.get(field.source_id)
            if source is None:  # a field inside of a struct
                continue
            text = keys[field.name.lower()] = None if value is None else field.transform.to_human_string(source, value)
            if isinstance(field.transform, IdentityTransform) and field.source_id in self.names:
                values[self.names[field.source_id]] = text

        def load_deleted() -> Positions:
            return np.unique(np.concatenate([deleted_by(path).get(file.file_path, NO_POSITIONS) for path in deletes]))

        return LiveFile(
            path=self.place.path_of(file.file_path),
            size=file.file_size_in_bytes,
            written_ns=written_ms * 1_000_000,
            rows=file.record_count,
            keys=keys | values,
            values=values,
            nulls={name: counts[id_] for id_, name in self.names.items() if id_ in counts},
            least=self._whole_numbers(file.lower_bounds),
            greatest=self._whole_numbers(file.upper_bounds),
            times=self._times(file.lower_bounds or {}, file.upper_bounds or {}),
            deletes=" ".join(deletes),
            load_deleted=load_deleted if deletes else None,
        )

    def _whole_numbers(self, bounds: Mapping[int, bytes] | None) -> dict[str, int]:
        """The bounds of whole numbers, which are exact: texts are cut, and floats hide NaN and the sign of 0.

        A column that was widened has bounds of both lengths.
        """
        return {self.whole[id_]: _whole_number(bound) for id_, bound in (bounds or {}).items() if id_ in self.whole}

    def _times(self, lower: Mapping[int, bytes], upper: Mapping[int, bytes]) -> dict[str, tuple[int, int]]:
        """The bounds of dates and timestamps, which no writer cuts; those of another length are of another type."""
        bounds = {id_: (lower[id_], upper[id_]) for id_ in self.times if id_ in lower and id_ in upper}
        return {
            self.times[id_][0]: (_whole_number(low), _whole_number(high))
            for id_, (low, high) in bounds.items()
            if len(low) == len(high) == self.times[id_][1]
        }


def _whole_number(bound: bytes) -> int:
    return int.from_bytes(bound, "little", signed=True)


def read_deletes(place: LogPlace, file: "DataFile") -> dict[str, Positions]:
    """The positions that one file of deletes has, by the data file as it is written there."""
    from pyiceberg.manifest import FileFormat
    from pyiceberg.table.puffin import PuffinFile

    with place.filesystem.open_input_file(place.path_in_log(file.file_path)) as opened:
        if file.file_format == FileFormat.PARQUET:
            table = pq.read_table(opened, columns=["file_path", "pos"])
            paths = table.column("file_path").unique().to_pylist()
            return {
                path: np.unique(table.filter(pc.field("file_path") == path).column("pos").to_numpy()) for path in paths
            }
        if file.file_format == FileFormat.PUFFIN:  # a blob has its length and a magic number before the bitmap
            payload = opened.read()
            return {
                blob.properties["referenced-data-file"]: positions_in(
                    payload[blob.offset + 4 : blob.offset + blob.length]
                )
                for blob in PuffinFile(payload).footer.blobs
            }
    raise UnableToReadSnapshot(f"it has deletes in files of {file.file_format.value}: {SPARK}")
