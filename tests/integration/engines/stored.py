"""A folder of trips on this machine and the same in a store: a real server of S3 of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, S3FileSystem, copy_files

from assay.config import config
from tests import servers

SECRET = "hush-hush-hush"
DAYS = ("2026-11-01", "2026-11-02", "2026-11-03")
ROWS = 2_000


@contextmanager
def settings(**variables: str) -> Iterator[None]:
    """These variables, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        config.cache_clear()
        yield
    config.cache_clear()


def stores(endpoint: str, prefix: str = "s3://lake", **more: object) -> str:
    """The setting of one store with keys."""
    keys = {"access_key": "env:LAKE_KEY", "secret_key": "env:LAKE_SECRET"}
    return json.dumps([{"prefix": prefix, "endpoint": endpoint, **keys, **more}])


@contextmanager
def store(*others: dict[str, object]) -> Iterator[S3FileSystem]:
    """An empty bucket ``lake`` that the settings name beside other stores, as its owner writes to it."""
    with servers.s3() as endpoint:
        scheme, _, place = endpoint.partition("://")
        owner = S3FileSystem(
            access_key="k", secret_key=SECRET, endpoint_override=place, scheme=scheme, allow_bucket_creation=True
        )
        owner.create_dir("lake")
        every = json.dumps([*json.loads(stores(endpoint)), *others])
        with settings(ASSAY_STORES=every, LAKE_KEY="k", LAKE_SECRET=SECRET):
            yield owner


def write_trips(folder: Path) -> None:
    """Three days of trips in two files each, with nulls, texts, times and a repeated key."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    for at, day in enumerate(DAYS):
        (folder / f"day={day}").mkdir(parents=True)
        for part in range(2):
            ids = range((2 * at + part) * ROWS, (2 * at + part + 1) * ROWS)
            trips = pa.table(
                {
                    "id": pa.array([max(i, 3) for i in ids], pa.int64()),
                    "fare": [None if i % 7 == 0 else i * 0.37 for i in ids],
                    "city": [("rome", "oslo", None)[i % 3] for i in ids],
                    "at": pa.array([start + timedelta(seconds=i) for i in ids], pa.timestamp("us", "UTC")),
                }
            )
            pq.write_table(trips, folder / f"day={day}" / f"part-{part}.parquet", row_group_size=700)


def put(owner: S3FileSystem, source: Path, path: str) -> None:
    """Write what lies in a folder, or a file, to a path of the store."""
    copy_files(str(source), path, source_filesystem=LocalFileSystem(), destination_filesystem=owner)
