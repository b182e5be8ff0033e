"""Index templates of Elasticsearch, as its API answers them."""

from typing import Any

import pytest

from assay.catalog.profile import Column, PartitionProfile
from assay.catalog.providers.elasticsearch import parse
from assay.catalog.tellings import TableTelling, UnableToReadSource
from assay.time.windows import Granularity

TEMPLATES: dict[str, Any] = {
    "index_templates": [
        {
            "name": "trips",
            "index_template": {
                "index_patterns": ["trips-*"],
                "template": {
                    "settings": {"index": {"number_of_shards": "1"}},
                    "mappings": {
                        "_meta": {"owner": "ann", "assay": {"tier": 1}},
                        "properties": {
                            "id": {"type": "long"},
                            "at": {"type": "date", "format": "epoch_millis"},
                            "city": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
                            "place": {"properties": {"lat": {"type": "double"}, "lon": {"type": "double"}}},
                            "town": {"type": "alias", "path": "city"},
                        },
                    },
                },
                "composed_of": ["shop"],
                "priority": 100,
                "_meta": {"description": "All trips."},
            },
        },
        {
            "name": "visits",
            "index_template": {"index_patterns": ["visits-*"], "composed_of": [], "data_stream": {"hidden": False}},
        },
        {"name": ".monitoring", "index_template": {"index_patterns": [".monitoring-*"], "composed_of": []}},
        {"name": "logs", "index_template": {"index_patterns": ["logs-*-*"], "_meta": {"managed": True}}},
    ]
}
COMPONENTS = {
    "component_templates": [
        {
            "name": "shop",
            "component_template": {
                "template": {"mappings": {"properties": {"id": {"type": "keyword"}, "fare": {"type": "scaled_float"}}}},
                "_meta": {"assay.freshness": "4h"},
            },
        }
    ]
}
INDICES = {"indices": [{"name": f"trips-2026.01.0{day}", "attributes": ["open"]} for day in (1, 2)], "aliases": []}
ENTRY = {"name": "search", "url": "https://search", "dataset": "search.{table}", "location": "/lake/{table}"}


def tables(indices: Any = INDICES, components: Any = COMPONENTS) -> dict[str, TableTelling]:
    return {table.name: table for table in parse(ENTRY, TEMPLATES, components, indices).tables}


def test_a_template_says_its_columns_with_those_of_its_components() -> None:
    assert tables()["trips"].columns == (
        Column(name="id", type="bigint"),
        Column(name="fare", type="double"),
        Column(name="at", type="timestamp"),
        Column(name="city", type="string"),
        Column(name="place", type="struct<`lat`:double,`lon`:double>"),
    )


def test_what_people_wrote_beside_a_template_says_its_owner_and_more() -> None:
    trips = tables()["trips"]
    assert (trips.owner, trips.tier, trips.description) == ("ann", 1, "All trips.")
    assert trips.values["freshness"].total_seconds() == 4 * 3600


def test_dated_indices_are_partitions_by_the_one_time_of_their_rows() -> None:
    days = PartitionProfile(column="at", granularity=Granularity.DAY, key_format="%Y.%m.%d")
    assert tables()["trips"].partition == days
    assert tables(indices={"indices": [{"name": "trips-000001"}]})["trips"].partition is None
    assert tables(indices=None)["trips"].partition is None


def test_templates_of_elasticsearch_itself_are_no_tables() -> None:
    assert tables().keys() == {"trips", "visits"}
    assert tables()["visits"].columns == (Column(name="@timestamp", type="timestamp"),)


@pytest.mark.parametrize(
    ("templates", "sentence"),
    [
        ({"error": {"type": "security_exception"}, "status": 403}, "index_templates is missing"),
        ({"index_templates": [{"name": "trips"}]}, "index_template trips is missing"),
        ({"index_templates": []}, "names no index template"),
        (
            {"index_templates": [{"name": "t", "index_template": {"template": ["a"]}}]},
            "another shape",
        ),
        ({"index_templates": [{"name": "t", "index_template": {"template": {"mappings": [1]}}}]}, "is list"),
    ],
)
def test_garbage_and_half_answers_are_refused(templates: Any, sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        parse(ENTRY, templates)
