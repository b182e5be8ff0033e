"""The same trips as a folder and as a table of Iceberg, on this machine and in a store; and tables of many files."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem, S3FileSystem, copy_files
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record

from assay.config import config
from benchmarks.cache import home, made_once
from benchmarks.data import trips
from execution_engine.engines.protocol import Table

from .server import StoreServer

SECRET = "hush-hush-hush"
BUCKET = "lake"
FOLDER, STORE, ICEBERG, ICEBERG_STORE = "folder", "folder in a store", "Iceberg", "Iceberg in a store"


def owner_of(server: StoreServer) -> S3FileSystem:
    """Who writes to the bucket of the store; ``ASSAY_STORES`` of this process names it from now on."""
    scheme, _, place = server.endpoint.partition("://")
    owner = S3FileSystem(
        access_key="k", secret_key=SECRET, endpoint_override=place, scheme=scheme, allow_bucket_creation=True
    )
    owner.create_dir(BUCKET)
    keys = {"access_key": "env:LAKE_KEY", "secret_key": "env:LAKE_SECRET"}
    stores = [{"prefix": f"s3://{BUCKET}", "endpoint": server.endpoint, **keys}]
    os.environ.update(LAKE_KEY="k", LAKE_SECRET=SECRET, ASSAY_STORES=json.dumps(stores))
    config.cache_clear()
    return owner


def trips_everywhere(rows: int, place: Path, owner: S3FileSystem, server: StoreServer) -> Mapping[str, Table]:
    """The trips in each way, by its name; files and their row groups are alike."""
    folder = trips.trips(rows)
    copy_to_store(owner, folder, f"trips-{rows}")
    catalogs = {
        ICEBERG: _catalog(place / f"local-{rows}", str(place / f"local-{rows}")),
        ICEBERG_STORE: _catalog(place / f"store-{rows}", f"s3://{BUCKET}/iceberg-{rows}", server),
    }
    places = {FOLDER: str(folder), STORE: f"s3://{BUCKET}/trips-{rows}"}
    for name, catalog in catalogs.items():
        places[name] = _write_iceberg(catalog, folder)
    storages = {name: "iceberg" if name in catalogs else "parquet" for name in places}
    return {name: Table(name="trips", storage=storages[name], location=at) for name, at in places.items()}


def copy_to_store(owner: S3FileSystem, folder: Path, name: str) -> None:
    """The files of a folder, below a name in the bucket."""
    copy_files(str(folder), f"{BUCKET}/{name}", source_filesystem=LocalFileSystem(), destination_filesystem=owner)


def trips_in_files(rows: int, files: int) -> Path:
    """The same trips in so many files of one row group each."""

    def write(folder: Path) -> None:
        table = trips.table(0, rows)
        size = -(-rows // files)
        for at in range(files):
            pq.write_table(table.slice(at * size, size), folder / f"part-{at:05}.parquet", compression="snappy")

    return made_once(home() / "data" / f"trips-{rows}-in-{files}", write)


def iceberg_of_many_files(files: int, commits: int, place: Path) -> Table:
    """A table whose metadata names so many files, none of which is there: to open one is to fail."""
    catalog = _catalog(place, str(place))
    table = catalog.create_table("raw.many", schema=pa.schema([("id", pa.int64()), ("fare", pa.int32())]))
    for commit in range(commits):
        size = files // commits
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for at in range(commit * size, (commit + 1) * size):
                append.append_data_file(_data_file(table, at))
    return Table(name="many", storage="iceberg", location=table.location())


def wide_table(columns: int, rows: int) -> Path:
    """One file of numbers and texts in turn, a tenth of them nulls."""

    def write(folder: Path) -> None:
        random = np.random.default_rng(11)
        texts = pa.array([f"code_{at:03}" for at in range(200)])
        arrays = {}
        for at in range(columns):
            nulls = random.random(rows) < 0.1
            match at % 4:
                case 0:
                    arrays[f"whole_{at}"] = pa.array(random.integers(0, 10_000, rows), mask=nulls)
                case 1 | 2:
                    arrays[f"number_{at}"] = pa.array(random.normal(100, 15, rows), mask=nulls)
                case _:
                    arrays[f"text_{at}"] = texts.take(pa.array(random.integers(0, 200, rows), mask=nulls))
        pq.write_table(pa.table(arrays), folder / "part-0.parquet", compression="snappy")

    return made_once(home() / "data" / f"wide-{columns}-{rows}", write)


def _catalog(place: Path, warehouse: str, server: StoreServer | None = None) -> SqlCatalog:
    place.mkdir(parents=True)
    properties = {}
    if server:
        properties = {"s3.endpoint": server.endpoint, "s3.access-key-id": "k", "s3.secret-access-key": SECRET}
        properties["s3.region"] = "us-east-1"
    catalog = SqlCatalog("bench", uri=f"sqlite:///{place}/catalog.db", warehouse=warehouse, **properties)
    catalog.create_namespace("raw")
    return catalog


def _write_iceberg(catalog: SqlCatalog, folder: Path) -> str:
    """One commit for each file of the folder; the location of the table."""
    files = sorted(folder.iterdir())
    options = {"write.parquet.compression-codec": "snappy", "write.target-file-size-bytes": str(1 << 40)}
    table = catalog.create_table("raw.trips", schema=pq.read_schema(files[0]), properties=options)
    for file in files:
        table.append(pq.read_table(file))
    return table.location()


def _data_file(table: IcebergTable, at: int) -> DataFile:
    low, high = (number.to_bytes(8, "little") for number in (at * 100, at * 100 + 99))
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{table.location()}/data/none-{at:05}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=100,
        file_size_in_bytes=4_000,
        null_value_counts={1: 0, 2: at % 3},
        value_counts={1: 100, 2: 100},
        lower_bounds={1: low, 2: (3).to_bytes(4, "little")},
        upper_bounds={1: high, 2: (at % 50 + 3).to_bytes(4, "little")},
    )
    file.spec_id = 0
    return file
