"""Names and places of tables, as the entry of their provider says."""

from typing import Any

import pytest

from assay.catalog.profile import ReplicaProfile
from assay.catalog.providers.entries import check_keys, datacenter
from assay.catalog.providers.places import TableSteps, leave_out_doubles, name_tables, replica_of
from assay.catalog.tellings import TableTelling, UnableToReadSource

TRIPS = TableSteps(database="prod", schema="raw", table="trips")


def place(location: Any, **keys: Any) -> ReplicaProfile:
    replica = replica_of({"location": location, **keys}, TRIPS)
    assert replica is not None
    return replica


@pytest.mark.parametrize(
    ("location", "storage", "expected"),
    [
        ("iceberg://lake/{schema}.{table}", "iceberg", "iceberg://lake/raw.trips"),
        ("s3://lake/{schema}/{table}", "parquet", "s3://lake/raw/trips"),
        ("/lake/{database}/{table}", "parquet", "/lake/prod/trips"),
        ("postgresql://reader@host/{database}", "sql", "postgresql://reader@host/prod"),
        ("env:ASSAY_LOCATION_SHOP", "sql", "env:ASSAY_LOCATION_SHOP"),
    ],
)
def test_a_pattern_says_where_a_table_lies_and_how_it_is_stored(location: str, storage: str, expected: str) -> None:
    assert (place(location).storage, place(location).location) == (storage, expected)


def test_a_table_of_sparks_catalog_has_its_name_there_for_a_place() -> None:
    assert (place("", storage="table").location, place(None, storage="table").storage) == ("raw.trips", "table")


def test_a_table_of_a_database_is_named_beside_its_url() -> None:
    assert place("postgresql://reader@host/{database}").options == {"table": "trips", "schema": "raw"}


def test_the_first_pattern_counts_whose_glob_fits() -> None:
    patterns = {"prod.mart": "/mart/{table}", "prod.*": "/lake/{table}", "*": "/other/{table}"}
    assert place(patterns, storage="delta").location == "/lake/trips"
    assert replica_of({"location": {"test.*": "/lake/{table}"}}, TRIPS) is None
    assert replica_of({}, TRIPS) is None


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"location": "/lake/{tabel}"}, "location holds {tabel}"),
        ({"location": "/lake", "storage": "paper"}, "storage is 'paper': write one of"),
    ],
)
def test_a_pattern_that_is_wrong_says_what(entry: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        replica_of(entry, TRIPS)


def test_tables_are_named_by_the_pattern_and_selected_by_globs() -> None:
    names, notes = name_tables({"dataset": "{database}.{schema}.{table}"}, [TRIPS])
    assert (names, notes) == ({TRIPS: ("prod.raw", "trips")}, [])
    names, notes = name_tables({"names": ["RAW.*"], "except": "raw.t*"}, [TRIPS])
    assert (names, notes) == ({}, [])


@pytest.mark.parametrize(
    ("schema", "table", "expected"),
    [
        ("raw", "Unit Prices (old)", ("raw", "Unit_Prices__old_")),
        ("Übersicht", "Größen", ("_Übersicht", "Größen")),
        ("raw", "a.b", ("raw.a", "b")),
    ],
)
def test_a_letter_that_no_name_may_hold_is_an_underscore(schema: str, table: str, expected: tuple[str, str]) -> None:
    names, notes = name_tables({}, [TableSteps(schema=schema, table=table)])
    assert (list(names.values()), notes) == ([expected], [])


def test_a_table_is_left_out_whose_name_another_has_or_that_no_pattern_names() -> None:
    twins = [TableSteps(schema="raw", table=table) for table in ("trips", "Trips", "a.")]
    names, notes = name_tables({}, twins)
    assert names == {twins[1]: ("raw", "Trips")}
    unnamed, doubled = notes
    assert unnamed == "raw.a. is left out: no dataset can be called raw.a.; write another dataset: in the entry"
    assert doubled.startswith("raw.trips is left out: raw.Trips is raw.trips already; write dataset: ")


def test_what_two_parts_say_of_one_table_is_one_telling_and_another_table_of_its_name_is_left_out() -> None:
    other = TableSteps(database="test", schema="raw", table="trips")
    tellings = [
        (TRIPS, TableTelling(namespace="raw", name="trips", owner="ann")),
        (TRIPS, TableTelling(namespace="raw", name="trips", owner="bob", tier=1)),
        (other, TableTelling(namespace="raw", name="trips", tier=2)),
    ]
    (trips,), (note,) = leave_out_doubles(tellings)
    assert (trips.owner, trips.tier) == ("ann", 1)
    assert note.startswith("test.raw.trips is left out: prod.raw.trips is raw.trips already")


def test_the_defaults_of_an_entry_say_its_datacenter() -> None:
    assert datacenter({"defaults": {"datacenter": "ams"}}) == "ams"
    assert datacenter({}) == "local"


def test_a_key_that_a_kind_does_not_take_or_that_is_missing_is_refused() -> None:
    check_keys({"name": "lake", "kind": "dbt", "every": "1d", "target": "/t"}, {"target": True})
    with pytest.raises(UnableToReadSource, match="takes no tarket: did you mean target"):
        check_keys({"tarket": "/t"}, {"target": True})
    with pytest.raises(UnableToReadSource, match="has no target: add it in ASSAY_PROVIDERS"):
        check_keys({}, {"target": True})
