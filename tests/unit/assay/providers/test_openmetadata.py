"""Tables of OpenMetadata, in the shapes that its documentation gives."""

from typing import Any

import pytest

from assay.catalog.profile import Column, LineageProfile, PartitionProfile
from assay.catalog.providers.openmetadata import parse
from assay.catalog.tellings import SourceTelling, UnableToReadSource
from assay.time.windows import Granularity

TRIPS: dict[str, Any] = {
    "id": "1",
    "name": "trips",
    "fullyQualifiedName": "lake.prod.raw.trips",
    "tableType": "Regular",
    "description": "All trips.",
    "columns": [
        {"name": "id", "dataType": "BIGINT", "dataTypeDisplay": "bigint", "constraint": "PRIMARY_KEY", "tags": []},
        {"name": "email", "dataType": "VARCHAR", "tags": [{"tagFQN": "PII.Sensitive", "source": "Classification"}]},
    ],
    "owners": [{"id": "7", "type": "team", "name": "rides"}, {"id": "8", "type": "user", "name": "ann"}],
    "tags": [{"tagFQN": "Tier.Tier1"}, {"tagFQN": "Finance.Revenue"}],
    "tablePartition": {"columns": [{"columnName": "day", "intervalType": "TIME-UNIT", "interval": "DAY"}]},
    "service": {"id": "9", "type": "databaseService", "name": "lake"},
}
CITIES = {"id": "2", "name": "cities", "fullyQualifiedName": "lake.prod.raw.cities", "tableConstraints": []}
LINEAGE = {
    "lake.prod.raw.trips": {
        "entity": {"id": "1", "fullyQualifiedName": "lake.prod.raw.trips"},
        "nodes": [{"id": "2", "fullyQualifiedName": "lake.prod.raw.cities"}, {"id": "3", "fullyQualifiedName": "x.y"}],
        "upstreamEdges": [{"fromEntity": "2", "toEntity": "1"}, {"fromEntity": "3", "toEntity": "1"}],
    }
}
ENTRY = {"url": "https://catalog", "location": "iceberg://lake/{schema}.{table}"}


def parse_tables(*tables: Any, lineage: Any = None, **entry: Any) -> SourceTelling:
    return parse({**ENTRY, **entry}, list(tables), lineage or {})


def test_a_table_says_its_columns_key_owner_tier_and_partition() -> None:
    (trips,) = parse_tables(TRIPS).tables
    assert (trips.full_name, trips.description) == ("raw.trips", "All trips.")
    assert trips.columns == (Column(name="id", type="bigint"), Column(name="email", type="varchar", sensitive=True))
    assert (trips.owner, trips.team, trips.tier, trips.primary_key) == ("ann", "rides", 1, ("id",))
    assert trips.tags == ("finance.revenue",)
    assert trips.partition == PartitionProfile(column="day", granularity=Granularity.DAY)
    assert trips.replicas is not None
    assert trips.replicas[0].location == "iceberg://lake/raw.trips"


def test_a_constraint_of_the_table_goes_before_those_of_its_columns() -> None:
    constraints = [{"constraintType": "PRIMARY_KEY", "columns": ["id", "email"]}]
    assert parse_tables({**TRIPS, "tableConstraints": constraints}).tables[0].primary_key == ("id", "email")


def test_edges_lead_from_tables_that_are_read() -> None:
    edge = LineageProfile(upstream="raw.cities", downstream="raw.trips")
    assert parse_tables(TRIPS, CITIES, lineage=LINEAGE).lineage == (edge,)


def test_a_service_may_be_chosen_and_views_are_left_out() -> None:
    assert len(parse_tables(TRIPS, {**CITIES, "fullyQualifiedName": "app.prod.raw.cities"}, service="lake").tables) == 1
    assert len(parse_tables(TRIPS, {**CITIES, "tableType": "View"}).tables) == 1


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"id": "1"}, "a table has no fullyQualifiedName"),
        ([], r"tables\[0\] is list"),
        ({**TRIPS, "columns": {"id": "bigint"}}, "columns of prod.raw.trips is dict"),
        ({**TRIPS, "service": "lake"}, "another shape than is documented"),
    ],
)
def test_garbage_and_half_answers_are_refused(table: Any, sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        parse_tables(table)
