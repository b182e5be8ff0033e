"""Tables of Unity Catalog, as its open server answers them."""

from typing import Any

import pytest

from assay.catalog.profile import Column, PartitionProfile, ReplicaProfile
from assay.catalog.providers.unity import parse
from assay.catalog.tellings import SourceTelling, UnableToReadSource
from assay.time.windows import Granularity

TRIPS: dict[str, Any] = {
    "name": "trips",
    "catalog_name": "unity",
    "schema_name": "raw",
    "table_type": "EXTERNAL",
    "data_source_format": "DELTA",
    "columns": [
        {"name": "day", "type_text": "date", "type_name": "DATE", "position": 1, "partition_index": 0},
        {"name": "id", "type_text": "bigint", "type_name": "LONG", "position": 0, "nullable": False},
    ],
    "storage_location": "file:///lake/raw/trips/",
    "comment": "All trips.",
    "properties": {"assay.tier": "1"},
    "owner": "ann",
    "table_id": "11b8ed8d",
}
LARGE = {**TRIPS, "name": "large", "table_type": "VIEW"}


def parse_tables(*tables: dict[str, Any], **entry: Any) -> SourceTelling:
    return parse({"url": "http://unity:8080", **entry}, list(tables))


def test_a_table_says_its_columns_owner_partition_and_place() -> None:
    (trips,) = parse_tables(TRIPS, LARGE).tables
    assert trips.full_name == "raw.trips"
    assert trips.columns == (Column(name="id", type="bigint"), Column(name="day", type="date"))
    assert (trips.owner, trips.tier, trips.description) == ("ann", 1, "All trips.")
    assert trips.partition == PartitionProfile(column="day", granularity=Granularity.DAY)
    assert trips.replicas == (ReplicaProfile(datacenter="local", storage="delta", location="/lake/raw/trips"),)


def test_an_entry_may_say_where_tables_lie() -> None:
    (trips,) = parse_tables(TRIPS, location="{database}.{schema}.{table}", storage="table").tables
    assert trips.replicas is not None
    assert (trips.replicas[0].storage, trips.replicas[0].location) == ("table", "unity.raw.trips")


def test_a_key_is_that_of_the_constraint_which_databricks_tells() -> None:
    key = {"primary_key_constraint": {"name": "pk", "child_columns": ["id", "day"]}}
    (trips,) = parse_tables({**TRIPS, "table_constraints": [key]}).tables
    assert trips.primary_key == ("id", "day")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({**TRIPS, "schema_name": None}, "a table has no schema_name"),
        ({**TRIPS, "columns": "none"}, "columns of unity.raw.trips is str"),
        ({**TRIPS, "columns": [{"type_text": "date"}]}, "a column of unity.raw.trips has no name"),
        ({**TRIPS, "properties": ["a"]}, "properties of unity.raw.trips is list"),
        ({**TRIPS, "table_constraints": 1}, "another shape than is documented"),
        (LARGE, "names no table"),
    ],
)
def test_garbage_and_half_answers_are_refused(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        parse_tables(table)
