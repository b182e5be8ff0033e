"""What the logs of Iceberg and Delta tell, held against other readers of them, and what of them is refused."""

import json
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyarrow.fs import LocalFileSystem
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from execution_engine.engines.files.iceberg import read_deletes
from execution_engine.engines.files.listing import (
    UnableToListFiles,
    list_part,
    list_partitions,
    read_fingerprint,
    read_fingerprints_by_key,
    read_snapshot,
    read_written_at,
)
from execution_engine.engines.files.snapshot import LogPlace
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import NO_FILES, WHOLE, MeasurementRequest, Part, Table
from tests.integration.engines import lakes
from tests.integration.engines.laid import lay_delta
from tests.integration.engines.trips import metric


def rows_of(table: Table) -> list[str]:
    """All rows, as texts in order."""
    batches = batches_of(table, list_part(table, WHOLE))
    return in_order([row for batch in batches for row in batch.to_pylist()])


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def catalog_in(folder: Path) -> SqlCatalog:
    return SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")


@pytest.fixture
def new_iceberg(tmp_path: Path) -> Callable[[pa.Table], tuple[IcebergTable, Table]]:
    """Writes a table with these rows."""

    def write(rows: pa.Table) -> tuple[IcebergTable, Table]:
        catalog = catalog_in(tmp_path)
        catalog.create_namespace("raw")
        table = catalog.create_table("raw.t", schema=rows.schema)
        table.append(rows)
        return table, Table(name="t", storage="iceberg", location=f"{tmp_path}/warehouse/raw/t")

    return write


def test_iceberg_has_the_rows_that_pyiceberg_reads(tmp_path: Path) -> None:
    table = lakes.write_iceberg(tmp_path / "lake")
    reference = catalog_in(tmp_path / "lake").load_table("raw.rides").scan().to_arrow()
    assert rows_of(table) == in_order(reference.to_pylist())
    assert len(rows_of(table)) == lakes.living_rows().num_rows


@pytest.mark.parametrize("mapped", [False, True])
def test_delta_has_the_rows_that_datafusion_reads(tmp_path: Path, mapped: bool) -> None:
    table = lakes.write_delta(tmp_path / "lake", mapped=mapped)
    reference = QueryBuilder().register("t", DeltaTable(table.location)).execute("select * from t")
    assert rows_of(table) == in_order(pa.table(reference).to_pylist())


def test_counts_come_from_the_log_alone(tmp_path: Path) -> None:
    for table in (lakes.write_iceberg(tmp_path / "iceberg"), lakes.write_delta(tmp_path / "delta")):
        for path in Path(table.location).rglob("*.parquet"):
            if not path.name.startswith("deletes"):
                path.unlink()
        report = report_without_spark(table, [MeasurementRequest(key="rows", spec=metric("row_count"))])
        assert report is not None
        assert report.measured["rows"].value == lakes.living_rows().num_rows


def test_nulls_and_extremes_come_from_the_log_where_no_row_is_deleted(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), lakes.old_rows())
    for path in tmp_path.glob("*.parquet"):
        path.unlink()
    table = Table(name="t", storage="delta", location=str(tmp_path))
    specs = [metric("completeness", "fare"), metric("min", "number"), metric("max", "id"), metric("mean", "fare")]
    report = report_without_spark(table, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs[:3]])
    assert report is not None
    rows = lakes.old_rows()
    assert [report.measured[spec.text].value for spec in specs[:3]] == [
        1 - rows["fare"].null_count / rows.num_rows,
        min(rows["number"].to_pylist()),
        max(filter(None, rows["id"].to_pylist())),
    ]
    assert report_without_spark(table, [MeasurementRequest(key="mean", spec=specs[3])]) is None  # its files are gone


def test_a_snapshot_of_then_is_read_if_the_options_name_it(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]], tmp_path: Path
) -> None:
    first, second = pa.table({"id": [1, 2]}), pa.table({"id": [3]})
    iceberg, table = new_iceberg(first)
    snapshot = iceberg.current_snapshot()
    assert snapshot is not None
    iceberg.append(second)
    with iceberg.update_schema() as change:
        change.rename_column("id", "number")
    write_deltalake(str(tmp_path / "delta"), first)
    write_deltalake(str(tmp_path / "delta"), second, mode="append")
    delta_table = Table(name="t", storage="delta", location=str(tmp_path / "delta"))
    assert len(rows_of(table)) == len(rows_of(delta_table)) == 3
    for lake, wanted in ((table, snapshot.snapshot_id), (delta_table, 0)):
        then = Table(name="t", storage=lake.storage, location=lake.location, options={"snapshot": str(wanted)})
        assert rows_of(then) == in_order(first.to_pylist())
        assert str(wanted) in read_snapshot(then).label


@pytest.mark.parametrize("wanted", ["77", "-1", "yesterday"])
def test_a_snapshot_that_is_not_there_is_an_error(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]], tmp_path: Path, wanted: str
) -> None:
    _, iceberg = new_iceberg(pa.table({"id": [1]}))
    write_deltalake(str(tmp_path / "delta"), pa.table({"id": [1]}))
    for storage, location in (("iceberg", iceberg.location), ("delta", str(tmp_path / "delta"))):
        table = Table(name="t", storage=storage, location=location, options={"snapshot": wanted})
        with pytest.raises(UnableToListFiles, match=r"has no (snapshot|version) 77|write a number"):
            list_part(table, WHOLE)


def test_a_partition_has_another_fingerprint_only_when_its_own_rows_change(tmp_path: Path) -> None:
    folder = tmp_path / "delta"
    table = Table(name="t", storage="delta", location=str(folder), partition_column="day")
    write_deltalake(str(folder), pa.table({"day": ["a", "b", None], "id": [1, 2, 3]}), partition_by=["day"])
    before = read_fingerprints_by_key(table, WHOLE)
    assert before is not None
    assert list_partitions(table) == ("__HIVE_DEFAULT_PARTITION__", "a", "b")
    write_deltalake(str(folder), pa.table({"day": ["b"], "id": [4]}), mode="append", partition_by=["day"])
    after = read_fingerprints_by_key(table, WHOLE)
    assert after is not None
    assert {key for key in before if before[key] != after[key]} == {"b"}
    assert read_fingerprint(table, Part(keys=("a",))) == before["a"]
    assert read_fingerprint(table, Part(keys=("z",))) == NO_FILES
    lakes_before = read_fingerprint(table, Part(keys=("a",)))
    (add,) = [action["add"] for action in lakes.log_actions(folder) if "day=a" in action.get("add", {}).get("path", "")]
    lakes.write_commit(
        folder, [{"add": add | {"deletionVector": lakes.inline_vector([0])}}, {"remove": {"path": add["path"]}}]
    )
    assert read_fingerprint(table, Part(keys=("a",))) != lakes_before


def test_a_partition_was_written_when_its_newest_file_was(tmp_path: Path) -> None:
    table = lakes.write_delta(tmp_path / "delta")
    times = [action["add"]["modificationTime"] for action in lakes.log_actions(tmp_path / "delta") if "add" in action]
    written_at = read_written_at(table, WHOLE)
    assert written_at is not None
    assert int(written_at.timestamp() * 1000) == max(times)


def damaged(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Table:
    """A table of Delta whose actions are others."""
    lakes.write_delta(folder)
    for path in folder.glob("_delta_log/*.json"):
        lines = [json.dumps(change(json.loads(line))) for line in path.open()]
        path.write_text("\n".join(lines))
    return Table(name="t", storage="delta", location=str(folder))


def with_feature(action: dict[str, Any]) -> dict[str, Any]:
    if protocol := action.get("protocol"):
        return {"protocol": protocol | {"minReaderVersion": 3, "readerFeatures": ["catalogManaged"]}}
    return action


def with_version(action: dict[str, Any]) -> dict[str, Any]:
    return {"protocol": action["protocol"] | {"minReaderVersion": 9}} if "protocol" in action else action


def with_cardinality(action: dict[str, Any]) -> dict[str, Any]:
    if vector := action.get("add", {}).get("deletionVector"):
        return {"add": action["add"] | {"deletionVector": vector | {"cardinality": vector["cardinality"] + 1}}}
    return action


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_feature, "the feature catalogManaged, which is not read here: .* storage: table"),
        (with_version, "version 9 of Delta's protocol, which is not read here: .* storage: table"),
        (with_cardinality, r"a deletion vector has \d+ rows, and its log says"),
        (lambda action: {} if "metaData" in action else action, "its log has no metadata"),
        (lambda action: {"add": 1} if "add" in action else action, "the log of .* is damaged"),
    ],
)
def test_delta_that_is_not_read_here_says_why(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    table = damaged(tmp_path / "delta", change)
    with pytest.raises(UnableToListFiles, match=message):
        list(batches_of(table, list_part(table, WHOLE)))


def test_a_log_that_lacks_a_commit_is_refused(tmp_path: Path) -> None:
    table = lakes.write_delta(tmp_path / "delta")
    (tmp_path / f"delta/_delta_log/{1:020}.json").unlink()
    with pytest.raises(UnableToListFiles, match="its log has no version 1, up to 2"):
        list_part(table, WHOLE)


def test_iceberg_with_equality_deletes_is_refused(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    iceberg, table = new_iceberg(lakes.old_rows())
    lakes.delete_rows(iceberg, content=DataFileContent.EQUALITY_DELETES)
    with pytest.raises(UnableToListFiles, match=r"it has equality deletes, .* storage: table"):
        list_part(table, WHOLE)


def test_a_folder_with_two_newest_metadata_files_is_refused_and_one_of_them_is_read(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    iceberg, table = new_iceberg(pa.table({"id": [1]}))
    current = iceberg.metadata_location.removeprefix("file://")
    shutil.copy(current, current.replace(".metadata.json", "-b.metadata.json"))
    with pytest.raises(UnableToListFiles, match="which of its metadata files is the newest is not clear"):
        list_part(table, WHOLE)
    assert len(rows_of(Table(name="t", storage="iceberg", location=current))) == 1


def test_a_metadata_file_that_another_replaced_is_read_anew(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    iceberg, table = new_iceberg(pa.table({"id": [1]}))
    old = iceberg.metadata_location.removeprefix("file://")
    table = replace(table, location=old)
    assert len(rows_of(table)) == 1
    iceberg.append(pa.table({"id": [2]}))
    shutil.copy(iceberg.metadata_location.removeprefix("file://"), old)
    assert len(rows_of(table)) == 2


def test_a_field_inside_of_a_struct_that_was_renamed_is_refused(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    rows = pa.table({"place": [{"city": "Rome", "code": "x"}], "tags": [["a", "b"]]})
    iceberg, table = new_iceberg(rows)
    assert rows_of(table) == in_order(rows.to_pylist())
    with iceberg.update_schema() as change:
        change.rename_column("place.city", "town")
    with pytest.raises(UnableToListFiles, match="the fields inside of place were changed since a file was written"):
        rows_of(table)


def test_a_table_without_rows_is_measured_without_spark(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    _, table = new_iceberg(pa.table({"id": pa.array([], pa.int64())}))
    specs = metric("row_count"), metric("mean", "id"), metric("uniqueness", "id")
    report = report_without_spark(table, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs])
    assert report is not None
    assert [report.measured[spec.text].value for spec in specs] == [0, None, None]


def test_fields_inside_of_columns_of_delta_are_found_by_the_names_that_files_have(tmp_path: Path) -> None:
    places = [{"city": "rome", "stops": [{"at": 1}, None]}, None, {"city": None, "stops": None}]
    rows = pa.table({"id": [1, 2, 3], "place": places})
    location = lay_delta([rows], rows.schema, [], tmp_path / "delta")
    assert rows_of(Table(name="t", storage="delta", location=location)) == in_order(rows.to_pylist())


def test_files_that_lie_elsewhere_than_the_log_are_refused(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]],
) -> None:
    iceberg, table = new_iceberg(pa.table({"id": [1]}))
    path = Path(iceberg.metadata_location.removeprefix("file://"))
    path.write_text(path.read_text().replace("file:///", "s3://lake/"))
    with pytest.raises(UnableToListFiles, match=r"it has files at s3://lake/.*, which is another place than that of"):
        list_part(table, WHOLE)


def test_a_bitmap_of_deleted_rows_has_the_positions_that_pyiceberg_reads(tmp_path: Path) -> None:
    positions = [1, 5, 70_000]
    body = lakes.bitmap_of(positions)
    blob = struct.pack(">I", len(body)) + body + struct.pack(">I", crc32(body))
    place = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1, "offset": 4}
    place |= {"length": len(blob), "properties": {"referenced-data-file": "file:///a.parquet"}}
    footer = json.dumps({"blobs": [place]}).encode()
    puffin = b"PFA1" + blob + b"PFA1" + footer + struct.pack("<i", len(footer)) + bytes(4) + b"PFA1"
    (tmp_path / "d.puffin").write_bytes(puffin)
    file = DataFile.from_args(file_path=f"file://{tmp_path}/d.puffin", file_format=FileFormat.PUFFIN)
    log = LogPlace(filesystem=LocalFileSystem(), path=str(tmp_path), prefix="file://")
    deleted = {path: own.tolist() for path, own in read_deletes(log, file).items()}
    vectors = deletion_vectors_from_puffin_file(PuffinFile(puffin))
    assert deleted == {vector.referenced_data_file: vector.to_vector().to_pylist() for vector in vectors}
    assert deleted == {"file:///a.parquet": positions}


def test_what_a_log_reads_of_itself_may_not_lie_out_of_the_folders_that_are_allowed(
    new_iceberg: Callable[[pa.Table], tuple[IcebergTable, Table]], tmp_path: Path
) -> None:
    iceberg, table = new_iceberg(pa.table({"id": [1]}))
    snapshot = iceberg.current_snapshot()
    assert snapshot is not None
    (tmp_path / "elsewhere").mkdir()
    outside = tmp_path / "elsewhere" / "list.avro"
    shutil.copy(snapshot.manifest_list.removeprefix("file://"), outside)
    metadata = Path(iceberg.metadata_location.removeprefix("file://"))
    metadata.write_text(metadata.read_text().replace(snapshot.manifest_list, f"file://{outside}"))
    assert list_part(table, WHOLE).files
    for guarded in (replace(table, within=(table.location,)), replace(table, never=(str(outside.parent),))):
        with pytest.raises(UnableToListFiles, match=r"its log leads to file:///.*list\.avro, out of its folder"):
            list_part(guarded, WHOLE)
    assert list_part(replace(table, within=(table.location, str(outside.parent))), WHOLE).files
    manifest = snapshot.manifests(iceberg.io)[0].manifest_path.removeprefix("file://")  # which was read above
    with pytest.raises(UnableToListFiles, match="out of its folder"):
        list_part(replace(table, never=(manifest,)), WHOLE)
