"""What several sources tell of one table merges field by field, and each field says where it comes from."""

from datetime import timedelta

import pytest

from assay.catalog.profile import Column, DatasetProfile, PartitionProfile, ReplicaProfile, SlaProfile
from assay.catalog.tellings import (
    CORRECTION,
    DEFAULT,
    OPENLINEAGE,
    SourcedTelling,
    TableTelling,
    fields_as_json,
    fields_from_json,
    merge,
    precedence,
    since_of,
    telling_of,
)
from assay.time.windows import Granularity

HOME = ReplicaProfile(datacenter="phx", storage="parquet", location="/data/trips")
TRIPS = DatasetProfile(
    namespace="raw", name="trips", owner="ann", tier=1, replicas=(HOME,), primary_key=("id",),
    columns=(Column(name="id", type="bigint"), Column(name="mail", type="string", sensitive=True)),
    partition=PartitionProfile(column="day", granularity=Granularity.DAY),
    slas=SlaProfile(freshness=timedelta(hours=4)), readers=("team:rides",), allow_empty=True,
)  # fmt: skip


def sourced_telling(source: str, **values: object) -> SourcedTelling:
    telling = TableTelling(namespace="raw", name="trips", **values)  # type: ignore[arg-type]
    return SourcedTelling(source=source, telling=telling, since=dict.fromkeys(values, "2026-11-01T00:00:00+00:00"))


def test_a_profile_merges_to_itself_through_json() -> None:
    telling = telling_of(TRIPS)
    again = fields_from_json("raw", "trips", fields_as_json(telling))
    assert merge([SourcedTelling(source="files", telling=again)]).profile == TRIPS


def test_each_field_is_that_of_the_first_source_that_says_it() -> None:
    dbt = sourced_telling("dbt", owner="ann", description="Trips by day.", tags=("rides",))
    warehouse = sourced_telling("warehouse", owner="root", tier=2, replicas=(HOME,))
    merged = merge([sourced_telling(CORRECTION, owner="bea"), dbt, warehouse])
    assert merged.profile is not None
    assert (merged.profile.owner, merged.profile.tier, merged.profile.tags) == ("bea", 2, ("rides",))
    sources = {name: source for name, (source, _) in merged.origins.items()}
    assert sources == {
        "owner": CORRECTION, "description": "dbt", "tags": "dbt", "tier": "warehouse", "replicas": "warehouse",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("owners", "expected"),
    [((None, "ann"), "#ann"), (("ann", "ann"), "#ann"), (("bea", "ann"), None), (("bea", None), "#ann")],
)
def test_channels_are_those_of_the_owner_whom_their_source_names(
    owners: tuple[str | None, str | None], expected: str | None
) -> None:
    tellings = [
        sourced_telling(CORRECTION, **({"owner": owners[0]} if owners[0] else {})),
        sourced_telling("dbt", channels={"slack": "#ann"}, **({"owner": owners[1]} if owners[1] else {})),
        sourced_telling("warehouse", owner="root", tier=2, replicas=(HOME,)),
    ]
    merged = merge(tellings)
    assert merged.profile is not None
    assert merged.profile.channels.get("slack") == expected


def test_defaults_fill_in_what_no_source_says() -> None:
    merged = merge([sourced_telling("dbt", owner="ann", replicas=(HOME,))], {"owner": "data-team", "tier": 4})
    assert merged.profile is not None
    assert (merged.profile.owner, merged.profile.tier) == ("ann", 4)
    assert merged.origins["tier"] == (DEFAULT, "")


def test_a_table_without_owner_tier_or_replica_is_no_dataset_and_says_what_it_lacks() -> None:
    merged = merge([sourced_telling("dbt", owner="", description="Trips by day.")])
    assert merged.profile is None
    assert merged.lacking == ("owner", "tier", "replicas")


def test_a_column_that_any_source_marks_stays_sensitive() -> None:
    files = telling_of(TRIPS)
    correction = sourced_telling(CORRECTION, columns=(Column(name="MAIL", type="string"),))
    merged = merge([correction, SourcedTelling(source="files", telling=files)])
    assert merged.profile is not None
    assert merged.profile.columns == (Column(name="MAIL", type="string", sensitive=True),)
    without = merge([sourced_telling(CORRECTION, columns=()), SourcedTelling(source="files", telling=files)])
    assert without.profile is not None
    assert [column.name for column in without.profile.columns] == ["mail"]


def test_a_field_keeps_the_instant_since_when_its_source_says_it_so() -> None:
    since = since_of(
        {"owner": "ann", "tier": 1}, {"owner": "ann", "tier": 2}, {"owner": "mon", "tier": "mon"}, now="tue"
    )
    assert since == {"owner": "mon", "tier": "tue"}


@pytest.mark.parametrize(
    ("before", "after"), [(CORRECTION, "files"), ("files", "dbt"), ("dbt", "hive"), ("hive", OPENLINEAGE)]
)
def test_people_go_before_files_and_files_before_providers_in_their_order(before: str, after: str) -> None:
    assert precedence(before, ["dbt", "hive"]) < precedence(after, ["dbt", "hive"])
