"""What a catalog provider yields: the defaults of each part, and what they are asked."""

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, get_args

import pytest

from assay.catalog import profile
from assay.catalog.profile import (
    CatalogProfile,
    Column,
    CustomProfile,
    DatasetProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
    Targets,
)
from assay.time.stored_times import Holds
from assay.time.windows import Granularity, Partitioning, UnableToPartition

TRIPS = DatasetProfile(namespace="raw", name="trips", owner="ann", tier=2, replicas=())
DAILY = PartitionProfile(column="datestr", granularity=Granularity.DAY)
HOUR = timedelta(hours=1)


def test_a_dataset_of_which_little_is_told_leaves_all_else_open() -> None:
    slas = ("freshness", "completeness", "duplicates", "consistency", "unpartitioned")
    open_ = ("partition", "sustain", "grace", "severity", "catch_up", "novelty", "retention", "unknown_policy")
    assert asdict(TRIPS) == {
        **{"namespace": "raw", "name": "trips", "owner": "ann", "tier": 2, "gate_on": "outcome"},
        **dict.fromkeys((*open_, "business_metric")),
        **dict.fromkeys(("replicas", "columns", "primary_key", "readers", "tags"), ()),
        **dict.fromkeys(("description", "team", "place"), ""),
        **{"allow_empty": False, "inferred_schema": False, "inherited_sensitive": frozenset()},
        "slas": dict.fromkeys(slas),
        "channels": {},
    }


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (Column(name="id", type="int"), {"name": "id", "type": "int", "sensitive": False}),
        (
            DAILY,
            {
                **{"column": "datestr", "granularity": Granularity.DAY, "holds": Holds.KEY, "key_format": ""},
                **{"stored_time_zone": "UTC", "time_zone": "UTC", "first": None},
            },
        ),
        (
            ReplicaProfile(datacenter="sea", storage="orc", location="/x"),
            {"datacenter": "sea", "storage": "orc", "location": "/x", "options": {}},
        ),
        (
            LineageProfile(upstream="a.b", downstream="c.d"),
            {
                **{"upstream": "a.b", "downstream": "c.d", "one_to_one": False, "sampled": False},
                **{"keys": {}, "columns": {}, "place": ""},
            },
        ),
        (
            CustomProfile(dataset="a.b", name="n", assertion="1 > 0"),
            {
                **{"dataset": "a.b", "name": "n", "assertion": "1 > 0", "category": "custom", "place": ""},
                **{"severity": None, "schedule": "partition", "sustain": None, "catch_up": None, "keep_rows": None},
            },
        ),
        (
            CatalogProfile(),
            {"datasets": (), "lineage": (), "custom": (), "templates": (), "bindings": (), "business_metrics": ()},
        ),
    ],
)
def test_each_part_has_its_defaults(part: Any, whole: dict[str, object]) -> None:
    assert asdict(part) == whole


def test_where_a_part_is_told_is_no_part_of_what_it_says() -> None:
    edge = LineageProfile(upstream="a.b", downstream="c.d")
    test = CustomProfile(dataset="a.b", name="n", assertion="1 > 0")
    assert replace(TRIPS, place="catalog.yaml:3") == TRIPS
    assert replace(edge, place="catalog.yaml:3") == edge
    assert replace(test, place="catalog.yaml:3") == test


def test_what_a_catalog_may_write_is_listed() -> None:
    assert get_args(profile.Storage) == ("parquet", "iceberg", "delta", "orc", "csv", "json", "table", "sql")
    assert get_args(profile.GateOn) == ("outcome", "incident")
    assert get_args(profile.UnknownPolicy) == ("open", "closed")


@pytest.mark.parametrize("storage", get_args(profile.Storage))
def test_all_but_a_sql_table_lies_in_the_lake(storage: profile.Storage) -> None:
    assert ReplicaProfile(datacenter="sea", storage=storage, location="x").is_in_lake is (storage != "sql")


def test_a_partition_is_cut_as_its_metadata_says() -> None:
    hourly = PartitionProfile(
        column="h", granularity=Granularity.HOUR, time_zone="Asia/Kolkata", key_format="%Y%m%d%H", stored_time_zone="x"
    )
    assert hourly.partitioning == Partitioning(
        granularity=Granularity.HOUR, time_zone="Asia/Kolkata", key_format="%Y%m%d%H"
    )
    with pytest.raises(UnableToPartition):
        _ = replace(hourly, time_zone="Mars").partitioning


def test_the_partition_key_is_a_column_even_where_it_is_a_folders_name() -> None:
    columns = (Column(name="trip_id", type="int"), Column(name="fare", type="double"))
    whole = replace(TRIPS, columns=columns, primary_key=("trip_id", "leg"))
    cut = replace(whole, partition=DAILY)
    assert (whole.full_name, whole.column_names, whole.key_columns) == (
        "raw.trips",
        frozenset({"trip_id", "fare"}),
        ("trip_id", "leg"),
    )
    assert cut.column_names == {"trip_id", "fare", "datestr"}
    assert cut.key_columns == ("trip_id", "leg", "datestr")


def test_a_dataset_is_held_to_its_tier_where_it_says_nothing() -> None:
    assert TRIPS.targets == Targets(
        freshness=6 * HOUR,
        completeness=0.995,
        duplicates=0.001,
        consistency=0.995,
        sustain=4 * HOUR,
        grace=HOUR,
        severity="hard",
        catch_up="latest",
        fail_closed=False,
        novelty=True,
    )
    assert replace(TRIPS, tier=0).targets.fail_closed
    assert [replace(TRIPS, tier=tier).targets.novelty for tier in range(6)] == [True] * 5 + [False]
    assert replace(TRIPS, tier=5, novelty=True).targets.novelty


def test_what_a_dataset_says_itself_goes_before_its_tier() -> None:
    slas: dict[str, Any] = {"freshness": 9 * HOUR, "completeness": 0.5, "duplicates": 0.25, "consistency": 0.75}
    terms: dict[str, Any] = {"sustain": 2 * HOUR, "grace": 3 * HOUR, "severity": "soft", "catch_up": "none"}
    own = replace(TRIPS, slas=SlaProfile(**slas), unknown_policy="closed", novelty=False, **terms)
    assert own.targets == Targets(fail_closed=True, novelty=False, **slas, **terms)
    assert not replace(TRIPS, tier=0, unknown_policy="open").targets.fail_closed


def test_nothing_is_something_that_a_dataset_may_say() -> None:
    none = replace(TRIPS, slas=SlaProfile(duplicates=0.0), sustain=timedelta(0), grace=timedelta(0)).targets
    assert (none.duplicates, none.sustain, none.grace) == (0.0, timedelta(0), timedelta(0))
    assert (none.freshness, none.completeness) == (6 * HOUR, 0.995)  # of the tier
