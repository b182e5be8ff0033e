"""A catalog of Iceberg as a provider: what its tables say, in a database and behind REST, and what is refused."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from assay.catalog.profile import Column, PartitionProfile, ReplicaProfile
from assay.catalog.tellings import TableTelling, UnableToReadSource
from assay.time.windows import Granularity
from execution_engine.engines.catalogs import locate
from execution_engine.providers import KINDS
from tests.integration.engines.rest_catalog import RestCatalog, rest_catalog
from tests.integration.engines.stored import settings

TRIPS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "at", TimestamptzType()),
    identifier_field_ids=[1],
)
DAYS = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", StringType()))
read = KINDS["iceberg"]


@pytest.fixture
def lake(tmp_path: Path) -> SqlCatalog:
    """Trips that a transform cuts into days, and payments that are cut by the text of their day."""
    catalog = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("raw")
    spec = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name="at_day"))
    own = {"owner": "ann", "comment": "All trips.", "assay.tier": "1", "assay.freshness": "4h"}
    catalog.create_table("raw.trips", TRIPS, partition_spec=spec, properties=own)
    spec = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="day"))
    payments = catalog.create_table("raw.payments", DAYS, partition_spec=spec)
    payments.append(pa.table({"id": [1, 2], "day": ["20260101", "20260102"]}))
    return catalog


@pytest.fixture
def rest(lake: SqlCatalog) -> Iterator[RestCatalog]:
    with rest_catalog(lake, view="raw.late") as server:
        yield server


@pytest.fixture(autouse=True)
def named(lake: SqlCatalog, rest: RestCatalog) -> Iterator[None]:
    entries = [
        {"name": "db", "type": "sql", "uri": lake.properties["uri"], "catalog": "prod"},
        {"name": "rest", "type": "rest", "uri": f"http://127.0.0.1:{rest.server_port}", "credential": "env:LAKE_KEY"},
        {"name": "away", "type": "rest", "uri": "http://127.0.0.1:9"},
    ]
    with settings(ASSAY_CATALOGS=json.dumps(entries), LAKE_KEY="reader:secret"):
        yield
    locate._away.clear()


def tables(catalog: str, **keys: object) -> dict[str, TableTelling]:
    return {table.full_name: table for table in read({"catalog": catalog, **keys}).tables}


def test_a_table_says_its_columns_key_partition_owner_and_properties() -> None:
    trips = tables("db")["raw.trips"]
    assert trips.columns == (Column(name="id", type="bigint"), Column(name="at", type="timestamp"))
    assert (trips.primary_key, trips.owner, trips.tier) == (("id",), "ann", 1)
    assert trips.description == "All trips."
    assert trips.partition == PartitionProfile(column="at_day", granularity=Granularity.DAY)
    assert trips.replicas == (ReplicaProfile(datacenter="local", storage="iceberg", location="iceberg://db/raw.trips"),)


def test_a_partition_of_texts_is_known_by_the_keys_that_are_there() -> None:
    payments = tables("db", defaults={"time_zone": "Europe/Berlin"})["raw.payments"]
    assert payments.partition == PartitionProfile(
        column="day", granularity=Granularity.DAY, key_format="%Y%m%d", time_zone="Europe/Berlin"
    )


def test_a_catalog_behind_rest_says_the_same() -> None:
    by_rest, by_rows = tables("rest"), tables("db")
    assert by_rest.keys() == by_rows.keys()
    assert len(read({"catalog": "rest"}, 1).tables) == 1
    for name, table in by_rest.items():
        assert {**table.values, "replicas": ()} == {**by_rows[name].values, "replicas": ()}


def test_tables_are_those_of_a_namespace_that_are_not_excepted(lake: SqlCatalog) -> None:
    lake.create_namespace("mart")
    lake.create_table("mart.trips", DAYS)
    assert tables("db", namespace="mart").keys() == {"mart.trips"}
    assert tables("db", **{"except": "*.trips"}).keys() == {"raw.payments"}
    assert tables("db", dataset="{database}.{schema}.{table}", names=["db.mart.*"]).keys() == {"db.mart.trips"}


def test_a_table_that_cannot_be_read_leaves_nothing_half_read(lake: SqlCatalog) -> None:
    Path(lake.load_table("raw.trips").metadata_location.removeprefix("file://")).write_text("{")
    with pytest.raises(UnableToReadSource, match=r"metadata of iceberg://db/raw.trips cannot be read .* except:"):
        tables("db")
    assert tables("db", **{"except": ["raw.trips"]}).keys() == {"raw.payments"}


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"catalog": "away"}, "the catalog away at http://127.0.0.1:9 does not answer"),
        ({"catalog": "none"}, "no catalog of ASSAY_CATALOGS is called none"),
        ({}, "its entry has no catalog"),
        ({"catalog": "db", "namspace": "raw"}, "takes no namspace: did you mean namespace"),
    ],
)
def test_a_catalog_that_does_not_answer_is_refused(entry: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        read(entry)


def test_a_thousand_tables_are_read_in_seconds(lake: SqlCatalog) -> None:
    with sqlite3.connect(lake.properties["uri"].removeprefix("sqlite:///")) as rows:
        rows.executemany(
            "insert into iceberg_tables select catalog_name, table_namespace, ?, metadata_location, "
            "previous_metadata_location, iceberg_type from iceberg_tables where table_name = 'payments'",
            [(f"payments{number}",) for number in range(1000)],
        )
    start = monotonic()
    assert len(tables("db")) == 1002
    assert monotonic() - start < 20
