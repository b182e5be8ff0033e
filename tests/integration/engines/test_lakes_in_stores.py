"""Tables of Iceberg and Delta in an object store are read as those of a disk are, and without Java."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow.fs import S3FileSystem
from pyiceberg.catalog.sql import SqlCatalog

from assay.config import config
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from tests.integration.engines import lakes
from tests.integration.engines.stored import SECRET, put, store
from tests.integration.engines.trips import metric

KERNELS = (metric("row_count"), metric("mean", "fare"), metric("distinct_count", "number"))
SPARK = (metric("row_count", where="hash(person) > 0"),)


@pytest.fixture(scope="module")
def owner() -> Iterator[S3FileSystem]:
    with store() as owner:
        yield owner


@pytest.fixture(scope="module")
def engine(owner: S3FileSystem) -> Iterator[ChildEngine]:
    """Spark in a child, whose tasks open the store by what stands in their environment."""
    assert owner
    engine = ChildEngine(ChildOptions())
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def table_in_store(owner: S3FileSystem, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    folder = tmp_path_factory.mktemp("lakes")
    lakes.write_delta(folder / "delta")
    put(owner, folder / "delta", "lake/delta")
    properties = {"s3.endpoint": config().object_stores[0].endpoint, "s3.access-key-id": "k"}
    properties |= {"s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse="s3://lake/warehouse", **properties)
    catalog.create_namespace("raw")
    iceberg = catalog.create_table("raw.rides", schema=lakes.old_rows().schema)
    iceberg.append(lakes.old_rows().filter(lakes.is_living(lakes.old_rows())))
    return {
        "delta": Table(name="rides", storage="delta", location="s3://lake/delta"),
        "iceberg": Table(name="rides", storage="iceberg", location="s3://lake/warehouse/raw/rides"),
    }


@pytest.mark.whole  # a child of its own, as its tasks need the keys of the store
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
def test_a_table_in_a_store_gives_what_its_rows_give(
    engine: ChildEngine, table_in_store: dict[str, Table], tmp_path: Path, lake: str
) -> None:
    rows = lakes.living_rows() if lake == "delta" else lakes.old_rows().filter(lakes.is_living(lakes.old_rows()))
    plain = lakes.write_plain(tmp_path / "plain", rows)
    for specs in (KERNELS, SPARK):
        requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]
        reports = [engine.scan(table, WHOLE, requests) for table in (table_in_store[lake], plain)]
        results, expected = ({key: of.value or of.failure for key, of in report.measured.items()} for report in reports)
        assert results == pytest.approx(expected)
    report = report_without_spark(table_in_store[lake], [MeasurementRequest(key="k", spec=spec) for spec in KERNELS])
    assert report is not None
    assert report.spark_jobs == 0


def test_a_table_that_is_not_in_its_store_is_named(table_in_store: dict[str, Table]) -> None:
    for storage in table_in_store:
        table = Table(name="rides", storage=storage, location="s3://lake/nowhere")
        with pytest.raises(UnableToListFiles, match="s3://lake/nowhere"):
            list_part(table, WHOLE)
