"""Who read the values of scans, as the editor and Prometheus tell it: over real files, read by Spark."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client

from assay import clock
from assay.config import config
from assay.models import Dataset
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Scan
from execution_engine.read_by import NO_VALUES, FallbackKind
from tests.factories import NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine
from tests.integration.execution_engine.conftest import Loop
from tests.integration.web.test_metrics import read
from web import probes

MONDAY = day("2026-03-09")
MIXED = ("row_count() > 0", "max(fare) > 0", "uniqueness(id) > 0", "approx_quantile(fare, 0.5) > 0")
NOTHING_LEFT = {(kind.value,): 0.0 for kind in FallbackKind}


@pytest.fixture
def stages(db: None) -> Loop:
    clock.simulate(NOW)
    probes.DATASET_COUNTS.at = float("-inf")
    return Loop(lake=FakeEngine())


@pytest.fixture
def spark(stages: Loop, spark_engine: SparkEngine) -> Iterator[Loop]:
    with storage.using(spark_engine):
        yield stages


def trips(folder: Path, name: str = "trips") -> Dataset:
    dataset = DatasetFactory.create(name=name)
    dataset.replicas.update(location=str(folder / name))
    part = folder / name / "datestr=2026-03-09"
    part.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3], "fare": [1.0, 2.0, 4.0]}), part / "part-0.parquet")
    return dataset


def measure(stages: Loop, dataset: Dataset, *assertions: str) -> None:
    for text in assertions:
        stages.request(DataTestFactory.create(dataset=dataset, assertion=text), MONDAY)
    stages.drain()


def said(pages: Client, dataset: Dataset) -> str:
    """What the editor says of the last scan, without its tags."""
    answer = pages.post(f"/datasets/{dataset.full_name}/tests/new/check", {"assertion": "row_count() > 0"})
    return unescape(answer.content.decode())


@pytest.mark.usefixtures("kernels_always_pay")
def test_a_scan_of_which_kernels_read_a_part_is_told_as_such(spark: Loop, pages: Client, tmp_path: Path) -> None:
    dataset = trips(tmp_path)
    measure(spark, dataset, *MIXED)
    page = said(pages, dataset)
    assert "Values read in that scan: 1 by footers, 2 by kernels, 1 by Spark." in page
    assert '<li>1: <span lang="en">kll is Spark\'s to gather</span></li>' in page
    assert read("assay_values_read_total") == {("footers",): 1, ("kernels",): 2, ("spark",): 1}
    assert read("assay_values_left_to_spark_total") == NOTHING_LEFT | {("unknown",): 1}


@pytest.mark.usefixtures("kernels_always_pay")
def test_totals_are_of_all_scans_and_stay_when_these_are_removed(spark: Loop, tmp_path: Path) -> None:
    assert read("assay_values_read_total") == {("footers",): 0, ("kernels",): 0, ("spark",): 0}
    for name in ("trips", "fares", "rides"):
        measure(spark, trips(tmp_path, name), "max(fare) > 0", "approx_quantile(fare, 0.5) > 0")
    Scan.objects.all().delete()
    assert read("assay_values_read_total") == {("footers",): 0, ("kernels",): 3, ("spark",): 3}
    assert read("assay_values_left_to_spark_total") == NOTHING_LEFT | {("unknown",): 3}


def test_where_kernels_read_all_no_reason_is_told(spark: Loop, pages: Client, tmp_path: Path) -> None:
    dataset = trips(tmp_path)
    measure(spark, dataset, "max(fare) > 0")
    page = said(pages, dataset)
    assert ("0 by footers, 1 by kernels, 0 by Spark." in page, "left to Spark" in page) == (True, False)


def test_a_scan_of_which_nothing_was_noted_is_shown_without_it(spark: Loop, pages: Client, tmp_path: Path) -> None:
    dataset = trips(tmp_path)
    measure(spark, dataset, "max(fare) > 0")
    for read_by in ({}, NO_VALUES.to_json()):
        Scan.objects.update(read_by=read_by)
        page = said(pages, dataset)
        assert ("the last scan of this table took" in page, "Values read" in page) == (True, False)


def test_with_the_kernels_switched_off_the_reason_says_so(
    stages: Loop, pages: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config(), "spark_native", False)
    dataset = trips(tmp_path)
    try:
        measure(stages, dataset, "row_count() > 0", "max(fare) > 0")
    finally:
        storage.engine_of_storage("parquet").close()
    page = said(pages, dataset)
    assert "1 by footers, 0 by kernels, 1 by Spark. Why some were left to Spark:" in page
    assert '<li>1: <span lang="en">ASSAY_SPARK_NATIVE is false</span></li>' in page
    assert read("assay_values_left_to_spark_total") == NOTHING_LEFT | {("off",): 1}
