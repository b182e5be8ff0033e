from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from assay.catalog.profile import DatasetProfile
from assay.catalog.yaml.provider import load as load_catalog
from web.demo.faults import fault_named
from web.demo.replay import CATALOG, Writing, spoilt, writings
from web.demo.world import (
    COPY,
    DAYS,
    HOME,
    LAKE_FLIGHTS,
    MART,
    RAW_FLIGHTS,
    RAW_WEATHER,
    TABLES,
    Lake,
    day,
    load_source,
)

SOURCE = load_source()
PROFILES = load_catalog(CATALOG).datasets


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with every table's folder, empty."""
    made = Lake(folder=tmp_path, source=SOURCE)
    made.create()
    return made


def land(lake: Lake, on: date) -> None:
    for writing in writings():
        if writing.day == on and writing.announced:
            writing.write(lake)


def keys(rows: pa.Table, names: tuple[str, ...]) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in rows.select(list(names)).to_pylist()}


def test_the_data_covers_every_day_and_a_day_of_23_hours_has_69_rows_of_weather() -> None:
    assert set(SOURCE["flights"]) == set(SOURCE["weather"]) == set(DAYS)
    assert (SOURCE["weather"][day("03-09")].num_rows, SOURCE["weather"][day("03-10")].num_rows) == (72, 69)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: str(profile.full_name))
def test_tables_hold_the_columns_and_keys_that_the_catalog_tells(lake: Lake, profile: DatasetProfile) -> None:
    land(lake, day("03-10"))
    rows = lake.read(profile.full_name, day("03-10"))
    types = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    assert {field.name: field.type for field in rows.schema} == {
        column.name: types[column.type] for column in profile.columns if column.name != "datestr"
    }
    assert len(keys(rows, profile.primary_key)) == rows.num_rows


def test_the_mart_has_every_flight_and_a_row_for_each_hour_without_one(lake: Lake) -> None:
    land(lake, day("03-15"))
    flights, mart = lake.read(LAKE_FLIGHTS, day("03-15")), lake.read(MART, day("03-15"))
    hours, left = keys(SOURCE["weather"][day("03-15")], ("origin", "time_hour")), keys(flights, ("origin", "time_hour"))
    assert mart.num_rows == flights.num_rows + len(hours - left)
    assert mart.column("temp").null_count == 0


def test_doubled_weather_doubles_nothing_in_the_mart(lake: Lake) -> None:
    land(lake, day("03-18"))
    weather, mart = lake.read(RAW_WEATHER, day("03-18")), lake.read(MART, day("03-18"))
    assert weather.num_rows == 72 + 10
    assert mart.num_rows == len(keys(mart, ("time_hour", "origin", "carrier", "flight")))


@pytest.mark.parametrize(
    ("name", "table", "place"),
    [("lost-in-phx", LAKE_FLIGHTS, COPY), ("lost-in-dca", RAW_WEATHER, HOME)],
)
def test_a_loss_takes_every_fifth_row(lake: Lake, name: str, table: str, place: str) -> None:
    fault = fault_named(name)
    land(lake, fault.day)
    before = lake.read(table, fault.day, place).num_rows
    spoiling = Writing(at=fault.started_at, table=table, day=fault.day, datacenter=place, fault=fault)
    spoiling.write(lake)
    assert lake.read(table, fault.day, place).num_rows == before - -(-before // 5)


@pytest.mark.parametrize("name", ["dropped-rows", "lost-again"])
def test_a_lost_slice_takes_the_flights_of_one_airline_from_one_airport(name: str) -> None:
    fault = fault_named(name)
    flights = SOURCE["flights"][fault.day].to_pandas()
    left = spoilt(SOURCE["flights"][fault.day], fault).to_pandas()
    lost = flights.merge(left, how="outer", indicator=True).query("_merge != 'both'")
    assert 0.1 < len(lost) / len(flights) < 0.15
    assert set(zip(lost["carrier"], lost["origin"], strict=True)) == {("UA", "EWR")}


def test_kilometres_change_the_distance_and_nothing_else() -> None:
    miles = SOURCE["flights"][day("03-27")]
    wrong = spoilt(miles, fault_named("kilometres"))
    assert wrong.drop_columns("distance").equals(miles.drop_columns("distance"))
    assert wrong.column("distance").to_pylist() == [round(m * 1.609344) for m in miles.column("distance").to_pylist()]


def test_delays_that_are_mixed_up_are_a_tenth_of_all_and_the_same_values() -> None:
    right = SOURCE["flights"][day("03-21")]
    wrong = spoilt(right, fault_named("mixed-up-delays"))
    assert wrong.drop_columns("arr_delay").equals(right.drop_columns("arr_delay"))
    before, after = right.column("arr_delay").to_pandas(), wrong.column("arr_delay").to_pandas()
    assert after.sort_values(ignore_index=True).equals(before.sort_values(ignore_index=True))
    moved = (before != after) & ~(before.isna() & after.isna())
    assert 0.09 < moved.mean() <= 0.1


def test_two_lakes_of_one_source_are_the_same(tmp_path: Path) -> None:
    lakes = [Lake(folder=tmp_path / name, source=load_source()) for name in ("one", "other")]
    for one in lakes:
        one.create()
        land(one, day("03-25"))
    assert all(
        lakes[0].read(table.name, day("03-25"), COPY).equals(lakes[1].read(table.name, day("03-25"), COPY))
        for table in TABLES
    )
    assert lakes[0].read(RAW_FLIGHTS, day("03-25")).num_rows == 978
