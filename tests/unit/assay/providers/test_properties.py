"""Properties ``assay.…`` of tables."""

from datetime import timedelta
from typing import Any

import pytest

from assay.catalog.profile import PartitionProfile
from assay.catalog.providers.properties import fields_of, tag_of
from assay.time.windows import Granularity


def test_properties_are_fields_whose_texts_are_read() -> None:
    properties = {
        "assay.tier": "1",
        "assay.owner": "ann",
        "assay.freshness": "4h",
        "assay.completeness": "99.9 %",
        "assay.primary_key": "id, day",
        "assay.allow_empty": "true",
        "owner": "root",
    }
    assert fields_of(properties, "raw.trips") == (
        {
            "tier": 1,
            "owner": "ann",
            "freshness": timedelta(hours=4),
            "completeness": pytest.approx(0.999),
            "primary_key": ("id", "day"),
            "allow_empty": True,
        },
        [],
    )


@pytest.mark.parametrize(
    "properties",
    [
        {"assay.partition.column": "day", "assay.partition.granularity": "day"},
        {"assay": {"partition": {"column": "day", "granularity": "day"}}},
        {
            "assay.partition.column": "at",
            "assay.partition.granularity": "day",
            "assay": {"partition": {"column": "day"}},
        },
    ],
)
def test_a_partition_may_be_written_flat_or_nested(properties: dict[str, Any]) -> None:
    fields, notes = fields_of(properties, "raw.trips")
    assert (fields, notes) == ({"partition": PartitionProfile(column="day", granularity=Granularity.DAY)}, [])


def test_channels_may_be_written_flat_or_nested() -> None:
    for properties in ({"assay.channels.slack": "#trips"}, {"assay": {"channels": {"slack": "#trips"}}}):
        assert fields_of(properties, "raw.trips") == ({"channels": {"slack": "#trips"}}, [])


@pytest.mark.parametrize(
    ("properties", "note"),
    [
        ({"assay.channels.fax": "#trips"}, "raw.trips: assay.channels.fax.[key] is 'fax': Input should be 'email', "),
        ({"assay.tier": "nine"}, "raw.trips: assay.tier is 'nine': "),
        ({"assay.tier": 9}, "raw.trips: assay.tier is 9: "),
        ({"assay.freshness": "soon"}, "raw.trips: assay.freshness is 'soon': "),
        ({"assay.partition.column": "day"}, "raw.trips: assay.partition.granularity is "),
        ({"assay.colour": "red"}, "raw.trips: assay.colour is no property here; there are "),
        ({"assay": {"partition": "day"}}, "raw.trips: assay.partition is 'day': "),
    ],
)
def test_a_property_that_says_nothing_usable_is_left_out_and_said(properties: dict[str, Any], note: str) -> None:
    fields, notes = fields_of({**properties, "assay.owner": "ann"}, "raw.trips")
    assert fields == {"owner": "ann"}
    assert notes[0].startswith(note)


def test_tags_of_others_become_tags_that_assay_writes() -> None:
    assert [tag_of(text) for text in ("Finance Data", "_x", "PII.Sensitive", "é")] == [
        "finance-data",
        "x",
        "pii.sensitive",
        "",
    ]
