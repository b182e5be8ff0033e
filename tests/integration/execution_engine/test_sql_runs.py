"""Runs over tables of an application, which a real database cuts by the time of each row."""

from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import create_engine

from assay import clock
from assay.models import Dataset
from execution_engine import services, tasks
from execution_engine.models import Run, RunReason
from tests.factories import NOW, DatasetFactory, DataTestFactory

INSTANTS = pd.date_range("2026-03-01", "2026-03-10 12:00", freq="7min", tz="UTC")
BERLIN = "Europe/Berlin"


@pytest.fixture
def till(db: None, tmp_path: Path) -> str:
    """A database with the receipts of ten days, and the same with a day's key on each, from which 8 March lost some."""
    clock.simulate(NOW)
    shown = INSTANTS.tz_localize(None).strftime("%Y-%m-%d %H:%M:%S")
    days = INSTANTS.tz_convert(BERLIN).strftime("%Y-%m-%d")
    receipts = pd.DataFrame({"id": range(len(INSTANTS)), "rung_up_at": shown, "datestr": days})
    lost = (receipts["datestr"] == "2026-03-08") & (receipts["id"] % 10 == 0)
    database = create_engine(f"sqlite:///{tmp_path}/till.db")
    receipts.to_sql("receipts", database, index=False)
    receipts[~lost].to_sql("copies", database, index=False)
    database.dispose()
    return f"sqlite:///{tmp_path}/till.db"


def dataset(url: str, name: str, column: str, holds: str) -> Dataset:
    made: Dataset = DatasetFactory.create(
        namespace="till", name=name, partition_column=column, partition_holds=holds, time_zone=BERLIN,
        freshness_sla=timedelta(hours=6),
    )  # fmt: skip
    made.replicas.update(storage="sql", location=url, options={"table": name})
    return made


@pytest.fixture
def receipts(till: str) -> Dataset:
    return dataset(till, "receipts", "rung_up_at", "time")


@pytest.fixture
def copies(till: str) -> Dataset:
    return dataset(till, "copies", "datestr", "key")


def run(of: Dataset, assertion: str, key: str) -> Run:
    """One run over the partition of a key."""
    assert of.partitioning is not None
    asked = services.request_run(
        data_test=DataTestFactory.create(dataset=of, assertion=assertion),
        window=of.partitioning.window(key), reason=RunReason.MANUAL, occasion="1", now=clock.now(),
    )  # fmt: skip
    assert asked is not None
    while tasks.plan() + tasks.scan() + tasks.evaluate():
        pass
    asked.refresh_from_db()
    return asked


def rows(day: str) -> int:
    return int((INSTANTS.tz_convert(BERLIN).strftime("%Y-%m-%d") == day).sum())


def test_a_local_day_is_a_range_of_the_times_of_its_rows(receipts: Dataset) -> None:
    assert run(receipts, "row_count() > 0", "2026-03-08").value == rows("2026-03-08")


def test_an_earlier_day_is_another_range(receipts: Dataset) -> None:
    found = run(receipts, "row_count(ago=7d) > 0", "2026-03-08")
    assert (found.outcome, found.value) == ("held", rows("2026-03-01"))


def test_past_days_make_a_history(receipts: Dataset) -> None:
    for key in ("2026-03-06", "2026-03-07"):
        run(receipts, "row_count() > 0", key)
    found = run(receipts, "mean(row_count(), last=2) > 0", "2026-03-08")
    assert found.value == pytest.approx((rows("2026-03-06") + rows("2026-03-07")) / 2)


def test_rows_that_a_copy_by_days_lost_are_missing_beside_the_times_of_its_source(
    receipts: Dataset, copies: Dataset
) -> None:
    assertion = "row_count() / row_count(dataset='till.receipts') >= 0.999"
    assert run(copies, assertion, "2026-03-07").outcome == "held"
    broken = run(copies, assertion, "2026-03-08")
    assert broken.outcome == "broken"
    assert broken.operands["row_count(dataset='till.receipts')"] == rows("2026-03-08")
