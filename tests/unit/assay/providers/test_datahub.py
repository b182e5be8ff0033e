"""Datasets of DataHub, in the shapes that its documentation gives."""

from typing import Any

import pytest

from assay.catalog.profile import Column, LineageProfile
from assay.catalog.providers.datahub import parse
from assay.catalog.tellings import SourceTelling, UnableToReadSource


def urn(name: str, platform: str = "hive") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def entity(name: str, platform: str = "hive", **aspects: Any) -> dict[str, Any]:
    """An entity, with the values of its aspects."""
    return {"urn": urn(name, platform), **{aspect: {"value": value} for aspect, value in aspects.items()}}


TRIPS = entity(
    "prod.raw.trips",
    schemaMetadata={
        "primaryKeys": ["[version=2.0].[type=struct].[type=long].id"],
        "fields": [
            {"fieldPath": "[version=2.0].[type=struct].[type=long].id", "nativeDataType": "bigint"},
            {"fieldPath": "email", "nativeDataType": "string", "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]}},
            {"fieldPath": "place.city", "nativeDataType": "string"},
        ],
    },
    datasetProperties={"description": "Trips.", "customProperties": {"assay.tier": "1"}},
    editableDatasetProperties={"description": "All trips."},
    ownership={
        "owners": [
            {"owner": "urn:li:corpGroup:rides", "type": "DATAOWNER"},
            {"owner": "urn:li:corpuser:bob", "type": "DATA_STEWARD"},
            {"owner": "urn:li:corpuser:ann", "type": "TECHNICAL_OWNER"},
        ]
    },
    globalTags={"tags": [{"tag": "urn:li:tag:Finance Data"}]},
    upstreamLineage={"upstreams": [{"dataset": urn("prod.raw.cities"), "type": "TRANSFORMED"}, {"dataset": urn("x")}]},
)
CITIES = entity("prod.raw.cities")


def parse_entities(*entities: Any, **entry: Any) -> SourceTelling:
    return parse({"url": "https://datahub", "location": "/lake/{schema}/{table}", **entry}, list(entities))


def test_a_dataset_says_its_columns_key_owner_tags_and_properties() -> None:
    (trips,) = parse_entities(TRIPS).tables
    assert (trips.full_name, trips.description, trips.tier) == ("raw.trips", "All trips.", 1)
    assert trips.columns == (Column(name="id", type="bigint"), Column(name="email", type="string", sensitive=True))
    assert (trips.owner, trips.team, trips.primary_key) == ("ann", "rides", ("id",))
    assert trips.tags == ("finance-data",)


def test_edges_lead_from_datasets_that_are_read() -> None:
    assert parse_entities(TRIPS, CITIES).lineage == (LineageProfile(upstream="raw.cities", downstream="raw.trips"),)


def test_what_was_removed_and_views_and_other_platforms_are_left_out() -> None:
    others = [
        entity("prod.raw.old", status={"removed": True}),
        entity("prod.raw.large", subTypes={"typeNames": ["View"]}),
        entity("topic", "kafka"),
    ]
    assert [table.name for table in parse_entities(TRIPS, *others, platform="hive").tables] == ["trips"]
    assert [table.full_name for table in parse_entities(*others).tables] == ["kafka.topic"]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"schemaMetadata": {}}, "an entity has no urn"),
        ({**TRIPS, "ownership": {"owners": []}}, "the value of ownership of .* is missing"),
        ({**TRIPS, "schemaMetadata": {"value": {"fields": "none"}}}, "fields of prod.raw.trips is str"),
        ({**TRIPS, "subTypes": {"value": {"typeNames": 1}}}, "another shape than is documented"),
    ],
)
def test_garbage_and_half_answers_are_refused(broken: Any, sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        parse_entities(broken)
