"""The commits of tables as they are looked at: what is kept, when the next look is, and what a table is told of."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import clock
from assay.models import Dataset
from execution_engine import tasks
from execution_engine.heartbeats import next_look, out_of_bounds, watch_commits
from execution_engine.models import Heartbeat, TableCommit
from execution_engine.storage import using
from tests.factories import DAY, HOUR, NOW, DatasetFactory
from tests.fakes import FakeEngine

pytestmark = pytest.mark.django_db
SIX = NOW.replace(hour=6, minute=0)


def load(folder: Path, at: datetime, count: int = 1000) -> None:
    """One file that was written then."""
    file = folder / f"{at:%Y-%m-%dT%H%M}.parquet"
    pq.write_table(pa.table({"id": range(count)}), file)
    os.utime(file, (at.timestamp(), at.timestamp()))


def look_at(instant: datetime) -> Heartbeat:
    """The heartbeat of the one table as it is then."""
    clock.simulate(instant)
    with using(FakeEngine()):
        tasks.look_at_commits()
    return Heartbeat.objects.get()


@pytest.fixture
def trips(tmp_path: Path) -> Dataset:
    """A table that is loaded at six each day, a thousand rows give or take fifty, for forty days up to today."""
    dataset = DatasetFactory.create(partition_column="", granularity="")
    dataset.replicas.update(location=str(tmp_path))
    for day in range(40):
        load(tmp_path, SIX - day * DAY + timedelta(minutes=day * 7 % 10), 950 + day * 37 % 100)
    watch_commits([dataset], SIX)
    return dataset


def test_the_first_look_reads_all_the_past_and_knows_when_the_next_commit_is_late(trips: Dataset) -> None:
    heartbeat = look_at(SIX + 2 * HOUR)
    assert TableCommit.objects.count() == 40
    assert SIX + DAY < (heartbeat.late_at or SIX) < SIX + DAY + 3 * HOUR
    assert (heartbeat.volume["unit"], heartbeat.volume["per"], heartbeat.is_unusual) == ("rows", "commit", False)
    assert heartbeat.next_look_at == SIX + 8 * HOUR


def test_folders_that_name_times_say_how_a_table_without_partitions_would_be_cut(tmp_path: Path) -> None:
    dataset = DatasetFactory.create(partition_column="", granularity="")
    dataset.replicas.update(location=str(tmp_path))
    for day in range(3):
        (folder := tmp_path / f"day={SIX - day * DAY:%Y%m%d}").mkdir()
        load(folder, SIX - day * DAY)
    watch_commits([dataset], SIX)
    partition = {"column": "day", "granularity": "day", "first": "20260308", "key_format": "%Y%m%d"}
    assert look_at(SIX + HOUR).folders == {"partition": partition, "count": 3, "last": "20260310"}
    Dataset.objects.update(partition_column="day", granularity="day", key_format="%Y%m%d")
    assert look_at(SIX + 8 * HOUR).folders == {}


def test_a_silent_table_is_out_of_bounds_until_it_commits(trips: Dataset, tmp_path: Path) -> None:
    look_at(SIX + 2 * HOUR)
    noon = SIX + DAY + 6 * HOUR
    look_at(noon)
    assert Heartbeat.objects.filter(out_of_bounds(noon)).exists()
    load(tmp_path, noon)
    look_at(noon + 6 * HOUR)
    assert not Heartbeat.objects.filter(out_of_bounds(noon + 6 * HOUR)).exists()
    assert TableCommit.objects.count() == 41


def test_half_a_load_is_unusual(trips: Dataset, tmp_path: Path) -> None:
    load(tmp_path, SIX + DAY, 450)
    heartbeat = look_at(SIX + DAY + HOUR)
    assert (heartbeat.is_unusual, heartbeat.volume["value"]) == (True, 450)


def test_a_table_that_moves_begins_anew(trips: Dataset, tmp_path: Path) -> None:
    look_at(SIX + 2 * HOUR)
    (tmp_path / "new").mkdir()
    load(tmp_path / "new", SIX + 2 * HOUR)
    trips.replicas.update(location=str(tmp_path / "new"))
    heartbeat = look_at(SIX + DAY)
    assert TableCommit.objects.count() == 1
    assert (heartbeat.late_at, heartbeat.arrival_note[:20]) == (None, "1 commits are known:")


def test_a_table_that_cannot_be_read_keeps_its_signs_and_says_why(trips: Dataset, tmp_path: Path) -> None:
    before = look_at(SIX + 2 * HOUR)
    tmp_path.rename(tmp_path.with_name("gone"))
    heartbeat = look_at(SIX + DAY)
    assert "cannot be listed" in heartbeat.fault
    assert (heartbeat.late_at, TableCommit.objects.count()) == (before.late_at, 40)


def test_a_dataset_that_is_gone_is_looked_at_no_more_and_again_when_it_is_back(trips: Dataset) -> None:
    look_at(SIX + 2 * HOUR)
    trips.missing_since = SIX
    trips.save()
    assert look_at(SIX + DAY).next_look_at is None
    trips.missing_since = None
    watch_commits([trips], SIX + DAY)
    assert Heartbeat.objects.get().next_look_at == SIX + DAY


@pytest.mark.parametrize(
    ("gap", "late_in", "look_in"),
    [(DAY, None, 6 * HOUR), (HOUR, None, HOUR / 4), (DAY, 2 * HOUR, 2 * HOUR), (DAY, -HOUR, 6 * HOUR)],
)
def test_looks_follow_how_often_a_table_commits(gap: timedelta, late_in: timedelta | None, look_in: timedelta) -> None:
    late_at = None if late_in is None else NOW + late_in
    assert next_look(now=NOW, gap=gap, late_at=late_at) == NOW + look_in


def test_tables_of_which_little_is_known_are_looked_at_each_hour_and_those_without_commits_rarely() -> None:
    assert next_look(now=NOW, gap=None, late_at=None, is_learning=True) == NOW + HOUR
    assert next_look(now=NOW, gap=None, late_at=None) == NOW + 6 * HOUR
