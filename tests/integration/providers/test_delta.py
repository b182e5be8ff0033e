"""Folders of Delta as a provider: what their logs say, and what is refused."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from assay.catalog.profile import Column, PartitionProfile, ReplicaProfile
from assay.catalog.tellings import TableTelling, UnableToReadSource
from assay.time.windows import Granularity
from execution_engine.providers import KINDS

read = KINDS["delta"]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Trips that are cut by a text, rides that are cut by a date, and cities as a whole."""
    rows = pa.table({"id": [1, 2], "hour": ["2026010107", "2026010108"], "land": ["it", "it"]})
    write_deltalake(
        str(tmp_path / "raw.db" / "trips"),
        rows,
        partition_by=["land", "hour"],
        description="All trips.",
    )
    commit = tmp_path / "raw.db" / "trips" / "_delta_log" / f"{0:020}.json"
    own = '"configuration":{"assay.tier":"1","assay.owner":"ann","assay.primary_key":"id"}'  # as Spark writes it
    commit.write_text(commit.read_text().replace('"configuration":{}', own))
    rides = pa.table({"id": [1], "day": [date(2026, 1, 1)]})
    write_deltalake(str(tmp_path / "raw.db" / "rides"), rides, partition_by=["day"])
    write_deltalake(str(tmp_path / "cities"), pa.table({"id": [1]}))
    return tmp_path


def tables(folder: Path, **keys: object) -> dict[str, TableTelling]:
    return {table.full_name: table for table in read({"folder": str(folder), **keys}).tables}


def test_a_table_says_what_its_log_and_its_properties_say(lake: Path) -> None:
    told = tables(lake)
    assert told.keys() == {"raw.trips", "raw.rides", f"{lake.name}.cities"}
    assert len(read({"folder": str(lake)}, 1).tables) == 1
    trips = told["raw.trips"]
    assert trips.columns == (
        Column(name="id", type="bigint"),
        Column(name="hour", type="string"),
        Column(name="land", type="string"),
    )
    assert (trips.tier, trips.owner, trips.primary_key, trips.description) == (1, "ann", ("id",), "All trips.")
    location = str(lake / "raw.db" / "trips")
    assert trips.replicas == (ReplicaProfile(datacenter="local", storage="delta", location=location),)


def test_partitions_are_known_by_their_keys_or_their_dates(lake: Path) -> None:
    told = tables(lake)
    assert told["raw.trips"].partition == PartitionProfile(
        column="hour", granularity=Granularity.HOUR, key_format="%Y%m%d%H"
    )
    assert told["raw.rides"].partition == PartitionProfile(column="day", granularity=Granularity.DAY)
    assert told[f"{lake.name}.cities"].partition is None


def test_a_log_that_is_damaged_leaves_nothing_half_read(lake: Path) -> None:
    (lake / "cities" / "_delta_log" / f"{0:020}.json").write_text("{")
    with pytest.raises(UnableToReadSource, match=r"the log of .*/cities cannot be read .* except:"):
        tables(lake)
    assert tables(lake, **{"except": "*.cities"}).keys() == {"raw.trips", "raw.rides"}


def test_a_folder_without_tables_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadSource, match="no table of Delta lies in"):
        tables(tmp_path)
    with pytest.raises(UnableToReadSource, match="cannot be listed"):
        tables(tmp_path / "none")
