"""The snapshot of a Delta table, by its log: commits of JSON lines on top of the newest checkpoint of parquet."""

import json
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem

from execution_engine.vitals.commits import MOST_COMMITS, Commit

from .snapshot import ColumnNames, LiveFile, LogPlace, Positions, Snapshot, UnableToReadSnapshot, positions_in

LOG = "_delta_log"
FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_ACTIONS = ("protocol", "metaData", "add", "remove")
_PHYSICAL, _FIELD_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_ROWS = re.compile(r'"numRecords"\s*:\s*(\d+)')
_OWN_FIGURES = {  # the rows that an operation has added, and removed; writers differ in case and underscores
    "MERGE": (("numtargetrowsinserted", "numtargetrowsupdated"), ("numtargetrowsdeleted",)),
    "UPDATE": (("numupdatedrows",), ()),
    "DELETE": ((), ("numdeletedrows",)),
}
_WHOLE = ("long", "integer", "short", "byte")  # of which statistics are exact: times are cut, and so are texts
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass(frozen=True, kw_only=True)
class Log:
    """The files of a log: commits by version, and the parts of each checkpoint that is whole; ``stamp`` identifies it.

    A table that is made anew has the versions of the old one, so that the stamp has the times of the files too.
    """

    commits: Mapping[int, str]
    checkpoints: Mapping[int, Sequence[str]]
    stamp: str

    @property
    def newest(self) -> int:
        """The newest version; raises UnableToReadSnapshot where there is none."""
        if not self.commits and not self.checkpoints:
            raise UnableToReadSnapshot("its log has no commit")
        return max([*self.commits, *self.checkpoints])


def read_log(filesystem: FileSystem, path: str) -> Log:
    """What the folder of the log holds; raises OSError."""
    commits: dict[int, str] = {}
    parts: dict[tuple[int, int], list[str]] = {}
    stamp = ""
    for info in sorted(filesystem.get_file_info(FileSelector(f"{path}/{LOG}")), key=lambda info: info.base_name):
        if match := _COMMIT.fullmatch(info.base_name):
            commits[int(match[1])] = info.path
            stamp = f"{info.base_name} {info.mtime_ns} {info.size}"
        elif match := _CHECKPOINT.fullmatch(info.base_name):
            parts.setdefault((int(match[1]), int(match[3] or 1)), []).append(info.path)
    checkpoints = {version: paths for (version, count), paths in parts.items() if len(paths) == count}
    return Log(commits=commits, checkpoints=checkpoints, stamp=stamp)


def version_at(place: LogPlace, instant: datetime) -> int:
    """The version that was the newest one at an instant; raises UnableToReadSnapshot, ValueError and OSError."""
    log = read_log(place.filesystem, place.path)
    versions = sorted(log.commits)
    later = bisect_right(versions, instant.timestamp() * 1000, key=lambda version: _committed_ms(place, log, version))
    if not later:
        raise UnableToReadSnapshot(f"its log has no commit of {instant:%Y-%m-%d %H:%M} UTC, or has it no more")
    return versions[later - 1]


def _committed_ms(place: LogPlace, log: Log, version: int) -> float:
    """When a version was committed, as its writer says, or else its file."""
    return _written_ms(place, log.commits[version], _info_of(_read_commit(place, log.commits[version])))


def _read_commit(place: LogPlace, path: str) -> list[dict[str, Any]]:
    with place.filesystem.open_input_stream(path) as commit:
        return [json.loads(line) for line in commit.read().splitlines() if line.strip()]


def _info_of(actions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _written_ms(place: LogPlace, path: str, info: Mapping[str, Any]) -> float:
    written = info.get("inCommitTimestamp") or info.get("timestamp")
    return float(written) if written else place.filesystem.get_file_info(path).mtime_ns / 1e6


def commits_of(place: LogPlace, log: Log, after: int) -> list[Commit]:
    """The versions behind one that changed rows, the oldest first; raises OSError, and ValueError for damaged ones."""
    versions = [version for version in sorted(log.commits) if version > after][-MOST_COMMITS:]
    commits = (_commit_of(place, log.commits[version]) for version in versions)
    return [commit for commit in commits if commit is not None]


def _commit_of(place: LogPlace, path: str) -> Commit | None:
    """What one version did, by its own figures where its files hold rows that it only wrote again."""
    actions = _read_commit(place, path)
    adds = [add for action in actions if (add := action.get("add")) and add.get("dataChange", True)]
    removes = [remove for action in actions if (remove := action.get("remove")) and remove.get("dataChange", True)]
    if not adds and not removes:
        return None
    info = _info_of(actions)
    operation = info.get("operation")
    figures = {name.replace("_", "").lower(): count for name, count in (info.get("operationMetrics") or {}).items()}
    if operation in _OWN_FIGURES:
        added, removed = (
            sum(int(figures.get(name, 0)) for name in names) if figures else None for names in _OWN_FIGURES[operation]
        )
    else:
        added, removed = _rows_of(adds), _rows_of(removes)
    return Commit(
        at=datetime.fromtimestamp(_written_ms(place, path, info) / 1000, UTC),
        rows_added=added,
        rows_removed=removed,
        files_added=len(adds),
        files_removed=len(removes),
        bytes_added=sum(add["size"] for add in adds),
    )


def _rows_of(files: Sequence[Mapping[str, Any]]) -> int | None:
    """The rows in files, as far as their statistics say it of all."""
    counts = [_ROWS.search(file.get("stats") or "") for file in files]
    return None if None in counts else sum(int(match[1]) for match in counts if match)


def read_snapshot(place: LogPlace, version: int | None = None) -> Snapshot:
    """The table at a version, at its newest without one; raises UnableToReadSnapshot, ArrowException and OSError."""
    log = read_log(place.filesystem, place.path)
    version = log.newest if version is None else version
    state = _state_at(place, log, version)
    _refuse_unknown(state.protocol)
    return _snapshot_of(place, state, version)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a log says of its table, whoever can read its files; keys of partitions as the log writes them."""

    description: str
    properties: Mapping[str, str]
    columns: Mapping[str, pa.DataType | None]  # None: of a type that is not read here
    keys: Mapping[str, Sequence[str]]  # of the partition columns, in their order


def describe(place: LogPlace) -> Description:
    """The newest version of a table in words; raises UnableToReadSnapshot, ArrowException and OSError."""
    log = read_log(place.filesystem, place.path)
    state = _state_at(place, log, log.newest)
    columns: dict[str, pa.DataType | None] = {}
    physical: dict[str, str] = {}
    for field_ in json.loads(state.metadata["schemaString"])["fields"]:
        name = field_["name"]
        physical[name] = field_["metadata"].get(_PHYSICAL, name)
        try:
            columns[name] = _arrow_type(field_["type"])
        except UnableToReadSnapshot:
            columns[name] = None
    values = [add.get("partitionValues") or {} for add in state.files.values()]
    keys = {
        name: sorted({str(value) for own in values if (value := own.get(physical.get(name, name)))})
        for name in state.metadata.get("partitionColumns") or ()
    }
    return Description(
        description=state.metadata.get("description") or "",
        properties=state.metadata.get("configuration") or {},
        columns=columns,
        keys=keys,
    )


def _state_at(place: LogPlace, log: Log, version: int) -> "_State":
    """All that the log says up to a version."""
    if version > log.newest:
        raise UnableToReadSnapshot(f"its log has no version {version}: the newest is {log.newest}")
    state = _State()
    start = max((at for at in log.checkpoints if at <= version), default=-1)
    for part in log.checkpoints.get(start, ()):
        state.apply(_actions_of_checkpoint(place.filesystem, part))
    for at in range(start + 1, version + 1):
        if at not in log.commits:
            raise UnableToReadSnapshot(
                f"its log has no version {at}, up to {log.newest}: name a version that is there, or write a checkpoint"
            )
        with place.filesystem.open_input_stream(log.commits[at]) as commit:
            state.apply(json.loads(line, parse_float=str) for line in commit.read().splitlines() if line.strip())
    if not state.metadata:
        raise UnableToReadSnapshot("its log has no metadata: it is damaged")
    return state


@dataclass(kw_only=True)
class _State:
    """What the actions so far come to; ``files`` by path and deletion vector."""

    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def apply(self, actions: Iterable[dict[str, Any]]) -> None:
        for action in actions:
            self.protocol = action.get("protocol") or self.protocol
            self.metadata = action.get("metaData") or self.metadata
            if add := action.get("add"):
                self.files[add["path"], _id_of(add.get("deletionVector"))] = add
            if remove := action.get("remove"):
                self.files.pop((remove["path"], _id_of(remove.get("deletionVector"))), None)


def _actions_of_checkpoint(filesystem: FileSystem, path: str) -> Iterator[dict[str, Any]]:
    with filesystem.open_input_file(path) as opened, pq.ParquetFile(opened) as parquet:
        names = set(parquet.schema_arrow.names)
        for batch in parquet.iter_batches(columns=[name for name in (*_ACTIONS[:3], "sidecar") if name in names]):
            for action in batch.to_pylist(maps_as_pydicts="strict"):
                if action.get("sidecar"):
                    raise UnableToReadSnapshot(
                        "its checkpoints have sidecars, which are not read here: set the table's property "
                        "delta.checkpointPolicy to classic, and write a checkpoint"
                    )
                yield action


def _refuse_unknown(protocol: Mapping[str, Any]) -> None:
    version = protocol.get("minReaderVersion", 0)
    unknown = sorted(set(protocol.get("readerFeatures") or ()) - FEATURES)
    if unknown or not 1 <= version <= 3:
        what = f"the feature {unknown[0]}" if unknown else f"version {version} of Delta's protocol"
        raise UnableToReadSnapshot(
            f"it needs {what}, which is not read here: register it in a Spark catalog, and write storage: table"
        )


def _snapshot_of(place: LogPlace, state: _State, version: int) -> Snapshot:
    configuration = state.metadata.get("configuration") or {}
    mode = configuration.get("delta.columnMapping.mode", "none")
    fields = json.loads(state.metadata["schemaString"])["fields"]
    if mode == "id":  # names inside of structs may be any in the files
        fields = [field for field in fields if '"struct"' not in json.dumps(field["type"])]
    physical = {field["name"]: field["name"] if mode == "none" else field["metadata"][_PHYSICAL] for field in fields}
    lower = {own: name.lower() for name, own in physical.items()}
    types = {physical[field["name"]]: field["type"] for field in fields}
    columns = ColumnNames(
        ids={field["name"].lower(): field["metadata"][_FIELD_ID] for field in fields} if mode == "id" else {},
        names={name.lower(): (own,) for name, own in physical.items()} if mode != "id" else {},
        nested={field["name"].lower(): _arrow_type(field["type"], _PHYSICAL) for field in fields}
        if mode == "name"
        else {},
    )
    files = {}
    for add in state.files.values():
        live = _live_file(place, add, lower, types)
        files[live.path] = live
    return Snapshot(
        label=f"Delta version {version}",
        schema=pa.schema([(field["name"], _arrow_type(field["type"])) for field in fields]),
        columns=columns,
        files=files,
    )


def _arrow_type(type_: Any, name: str = "") -> pa.DataType:
    """The type; fields inside of it have the names that their metadata calls ``name``, or their own."""
    match type_:
        case str() if type_ in _TYPES:
            return _TYPES[type_]
        case str() if match := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", type_):
            return pa.decimal128(int(match[1]), int(match[2]))
        case {"type": "struct", "fields": fields}:
            return pa.struct(
                [(field["metadata"].get(name, field["name"]), _arrow_type(field["type"], name)) for field in fields]
            )
        case {"type": "array", "elementType": element}:
            return pa.list_(_arrow_type(element, name))
        case {"type": "map", "keyType": key, "valueType": value}:
            return pa.map_(_arrow_type(key, name), _arrow_type(value, name))
    raise UnableToReadSnapshot(f"it has a column of the type {type_!r:.100}, which is not read here")


def _live_file(place: LogPlace, add: Mapping[str, Any], lower: Mapping[str, str], types: Mapping[str, Any]) -> LiveFile:
    stats = json.loads(add.get("stats") or "{}", parse_float=str)
    values = {
        lower[own]: _with_zone(value, types[own]) if value else None
        for own, value in (add.get("partitionValues") or {}).items()
        if own in lower
    }
    whole = {own for own in lower if types[own] in _WHOLE and stats.get("tightBounds", True)}
    plain = {own for own in lower if isinstance(types[own], str)}
    vector = add.get("deletionVector")
    return LiveFile(
        path=_path_of(place, add["path"]),
        size=add["size"],
        written_ns=add["modificationTime"] * 1_000_000,
        rows=stats.get("numRecords"),
        keys={lower[own]: value or None for own, value in (add.get("partitionValues") or {}).items() if own in lower},
        values=values,
        nulls={lower[own]: count for own, count in stats.get("nullCount", {}).items() if own in plain},
        least={lower[own]: low for own, low in stats.get("minValues", {}).items() if own in whole and type(low) is int},
        greatest={
            lower[own]: high for own, high in stats.get("maxValues", {}).items() if own in whole and type(high) is int
        },
        deletes=_id_of(vector),
        load_deleted=(lambda: _positions(place, vector)) if vector else None,
    )


def _with_zone(value: str, type_: Any) -> str:
    return f"{value}Z" if type_ == "timestamp" and not re.search(r"(Z|[+-]\d\d:\d\d)$", value) else value


def _path_of(place: LogPlace, path: str) -> str:
    """Where a path of the log lies, which is escaped: below the table's folder or, as in a clone, anywhere."""
    is_whole = re.match(r"/|[a-z][a-z0-9+.-]*:/", path)
    return place.path_of(unquote(path)) if is_whole else f"{place.path}/{unquote(path)}"


# Deletion vectors: bitmaps of the positions of deleted rows, in the log itself or in files beside the data.


def _id_of(vector: Mapping[str, Any] | None) -> str:
    return f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset') or 0}" if vector else ""


def _positions(place: LogPlace, vector: Mapping[str, Any]) -> Positions:
    kind, text = vector["storageType"], vector["pathOrInlineDv"]
    if kind == "i":
        body = _from_z85(text)
    else:
        path = _path_of(place, text) if kind == "p" else _path_of_uuid(place, text)
        with place.filesystem.open_input_file(place.path_in_log(place.prefix + path)) as opened:
            opened.seek(vector.get("offset") or 0)
            (size,) = struct.unpack(">I", opened.read(4))
            body = opened.read(size)
    positions = positions_in(body)
    if len(positions) != vector["cardinality"]:
        raise UnableToReadSnapshot(
            f"a deletion vector has {len(positions)} rows, and its log says {vector['cardinality']}"
        )
    return positions


def _path_of_uuid(place: LogPlace, text: str) -> str:
    """The file beside the data that a name of 20 letters, after a folder or none, stands for."""
    return f"{f'{place.path}/{text[:-20]}'.rstrip('/')}/deletion_vector_{UUID(bytes=_from_z85(text[-20:]))}.bin"


def _from_z85(text: str) -> bytes:
    blob = bytearray()
    for at in range(0, len(text), 5):
        number = 0
        for char in text[at : at + 5]:
            number = number * 85 + _Z85.index(char)
        blob += struct.pack(">I", number)
    return bytes(blob)
